// SPDX-License-Identifier: MIT
// functions.tsx - the table of functions: what each allocated itself, and with its callees.

import { useMemo } from "preact/hooks";
import type { Estimates } from "../../data/header";
import type { Look, ViewProps } from "../../look";
import { functionTest, makeFunctionRows, roleWord, type FunctionRows } from "../../model/tables/functions";
import { knownMetrics, metricInfo, metricTitle, type Metric } from "../../model/figures/metric";
import { rankTexts } from "../../model/tables/sorting";
import { FunctionName } from "./cells";
import { figureColumn, largestOf, locationColumn, shareColumn, textColumn, withBar } from "./columns";
import { makeLazy, usePainted, type Lazy } from "./lazy";
import { Actions } from "./stack";
import { Table, type Column } from "./table";

interface Given {
  look: Look;
  rows: FunctionRows;
  self: Lazy<Estimates>;
  total: Lazy<Estimates>;
}

function titleOf(look: Look, metric: Metric): string {
  return metricTitle(look.profile.header, metric, look.dataset.kind === "interval");
}

/* --- columns --- */

function nameColumn({ look, rows }: Given): Column {
  const { profile } = look;
  return {
    id: "function",
    title: "Function",
    width: 0,
    numeric: false,
    usual: true,
    keys: () => rankTexts(rows.count, (row) => profile.functionName(rows.index[row])),
    cell: (row) => <FunctionName profile={profile} index={rows.index[row]} />,
    plain: (row) => profile.text(profile.functions.full[rows.index[row]]),
  };
}

/** Total and self of the metric; their bars have the same scale. */
function chosenColumns({ look, rows, self, total }: Given): Column[] {
  const { metric } = look.state;
  const info = metricInfo(metric);
  const most = largestOf(rows.total(metric));
  const selfOf = { id: "self", title: "Self", help: `${titleOf(look, metric)}: the function alone`, usual: true };
  const totalOf = { id: "total", title: "Total", help: `${titleOf(look, metric)}: with its callees`, usual: true };
  const selfValues = () => rows.self(metric);
  const totalValues = () => rows.total(metric);
  return [
    withBar(figureColumn(look, totalOf, info, totalValues, total), totalValues(), most),
    ...shareColumn(look, { id: "total-share", title: "Total %", help: "of all", usual: true }, totalValues),
    withBar(figureColumn(look, selfOf, info, selfValues, self), selfValues(), most),
    ...shareColumn(look, { id: "self-share", title: "Self %", help: "of all", usual: true }, selfValues),
  ];
}

function otherColumns({ look, rows, total }: Given): Column[] {
  const known = knownMetrics(look.profile.header, look.dataset.kind === "interval");
  const others = known.filter((info) => info.metric !== look.state.metric);
  return others.map((info) => {
    const help = `${info.help}, with its callees`;
    const of = { id: info.metric, title: titleOf(look, info.metric), help, usual: false };
    return figureColumn(look, of, info, () => rows.total(info.metric), total);
  });
}

function textColumns({ look, rows }: Given): Column[] {
  const { profile } = look;
  const { functions } = profile;
  const file = { id: "file", title: "File", help: "where it is defined", usual: true };
  const module = { id: "module", title: "Module", help: "program or library", usual: true };
  const role = { id: "role", title: "Whose", help: "your own code, a library's, or the allocator's", usual: false };
  return [
    locationColumn(file, 170, rows.count, (row) => profile.text(functions.file[rows.index[row]])),
    textColumn(module, 120, rows.count, (row) => profile.moduleName(functions.module[rows.index[row]])),
    textColumn(role, 80, rows.count, (row) => roleWord(functions.role[rows.index[row]])),
  ];
}

function makeColumns(given: Given): Column[] {
  return [nameColumn(given), ...chosenColumns(given), ...otherColumns(given), ...textColumns(given)];
}

/* --- the view --- */

function Detail({ look, index }: { look: Look; index: number }) {
  return (
    <div class="function-detail">
      <p class="full-name">{look.profile.text(look.profile.functions.full[index])}</p>
      <Actions look={look} index={index} />
    </div>
  );
}

function FunctionsTable({ look }: ViewProps) {
  const { dataset, included, profile, totals } = look;
  const { frames, metric } = look.state;
  const rows = useMemo(() => makeFunctionRows(dataset, included, frames), [dataset, included, frames]);
  const self = useMemo(() => makeLazy(rows.selfEstimates), [rows]);
  const total = useMemo(() => makeLazy(rows.totalEstimates), [rows]);
  const columns = useMemo(() => makeColumns({ look, rows, self, total }), [rows, metric, totals]);
  const matches = (test: (text: string) => boolean) => {
    const passes = functionTest(profile, test);
    return (row: number) => passes(rows.index[row]);
  };
  return (
    <Table
      look={look}
      id="functions-table"
      label="Functions"
      rows={rows}
      count={rows.count}
      columns={columns}
      lines={1}
      usualSort="-total"
      matches={matches}
      rowKey={(row) => profile.functionKey(rows.index[row])}
      functionOf={(row) => rows.index[row]}
      detail={(row) => <Detail look={look} index={rows.index[row]} />}
      lazy={[self, total]}
      empty="Nothing was recorded."
    />
  );
}

export function Functions({ look }: ViewProps) {
  return usePainted(look.dataset.count) ? <FunctionsTable look={look} /> : <p class="dim">Computing…</p>;
}
