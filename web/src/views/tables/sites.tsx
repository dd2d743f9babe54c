// SPDX-License-Identifier: MIT
// sites.tsx - the table of sites: all lines of a report, with all that is known about each.

import { useMemo } from "preact/hooks";
import type { Estimates } from "../../data/header";
import type { Look, ViewProps } from "../../look";
import { formatBytes, formatCount, formatPercent } from "../../model/figures/format";
import { functionTest } from "../../model/tables/functions";
import { knownMetrics, metricInfo, metricTitle, type Metric, type MetricInfo } from "../../model/figures/metric";
import {
  makeSiteRows,
  meanSizes,
  namesOf,
  siteFacts,
  temporaryShares,
  type SiteFact,
  type SiteRows,
} from "../../model/tables/sites";
import { rankTexts, rememberTests } from "../../model/tables/sorting";
import { placeOrigin, printCallers } from "../../model/tables/stacks";
import { plainSite, SiteName, type SiteText } from "./cells";
import { figureColumn, largestOf, locationColumn, numberColumn, shareColumn, textColumn, withBar } from "./columns";
import { makeLazy, usePainted, type Lazy } from "./lazy";
import { SiteDetail } from "./site_detail";
import { Table, type Column } from "./table";

interface Given {
  look: Look;
  rows: SiteRows;
  estimates: Lazy<Estimates>;
}

/* --- the site of a row --- */

function placeOf(rows: SiteRows, row: number): number {
  return rows.folding.place[rows.folded[row]];
}

function functionOf(rows: SiteRows, row: number): number {
  return rows.dataset.profile.places.function[placeOf(rows, row)];
}

/** The name of the library function that it called; "" for none. */
function viaOf(rows: SiteRows, row: number): string {
  return rows.dataset.profile.text(rows.folding.via[rows.folded[row]]);
}

/** The names of the callers, the nearest first. */
function callersOf(rows: SiteRows, row: number): string {
  return printCallers(rows.dataset.profile, rows.folding.path(rows.folded[row]));
}

/** A key that is the same in every reading of a profile. */
function rowKey(rows: SiteRows, row: number): string {
  const { profile } = rows.dataset;
  const { places } = profile;
  const frame = (place: number) => `${profile.functionKey(places.function[place])}:${places.line[place]}`;
  return `${rows.folding.path(rows.folded[row]).map(frame).join(" ")} ${viaOf(rows, row)}`;
}

/* --- columns --- */

function textOf(rows: SiteRows, row: number): SiteText {
  return {
    index: functionOf(rows, row),
    via: viaOf(rows, row),
    where: placeOrigin(rows.dataset.profile, placeOf(rows, row)),
    callers: callersOf(rows, row),
  };
}

function nameColumn({ look, rows }: Given, beside: Column[]): Column {
  const { profile } = look;
  return {
    id: "site",
    title: "Site",
    help: "your function that allocated, and the library function it called",
    width: 0,
    numeric: false,
    usual: true,
    keys: () => rankTexts(rows.count, (row) => profile.functionName(functionOf(rows, row))),
    cell: (row) => <SiteName profile={profile} site={textOf(rows, row)} />,
    plain: (row) => plainSite(profile, { index: functionOf(rows, row), via: viaOf(rows, row) }),
    beside,
  };
}

const USUAL: readonly Metric[] = ["live", "allocated", "calls"];

function metricColumn({ look, rows, estimates }: Given, info: MetricInfo): Column {
  const chosen = info.metric === look.state.metric;
  const title = metricTitle(look.profile.header, info.metric, look.dataset.kind === "interval");
  const of = { id: info.metric, title, help: info.help, usual: chosen || USUAL.includes(info.metric) };
  const values = () => rows.values(info.metric);
  const column = figureColumn(look, of, info, values, estimates);
  return chosen ? withBar(column, values(), largestOf(values())) : column;
}

interface FactColumn {
  fact: SiteFact;
  title: string;
  help: string;
  print: (value: number) => string;
}

const FACTS: readonly FactColumn[] = [
  { fact: "smallest", title: "Smallest", help: "the smallest size requested", print: formatBytes },
  { fact: "largest", title: "Largest", help: "the largest size requested", print: formatBytes },
  { fact: "reallocs", title: "Reallocs", help: "calls that changed the size of a block", print: formatCount },
  { fact: "moved", title: "Copied", help: "bytes that reallocs copied to another place", print: formatBytes },
  { fact: "exit", title: "At exit", help: "bytes that were freed by exit handlers", print: formatBytes },
  { fact: "samples", title: "Samples", help: "how many samples the figures are estimated from", print: formatCount },
];

const TEMPORARY = {
  id: "temporary-share",
  title: "Temp. %",
  help: "the share of its calls that were freed by their thread before its next one",
  usual: true,
};

/** Figures that are known only for whole runs. */
function factColumns({ look, rows }: Given): Column[] {
  if (look.dataset.kind === "interval") return [];
  const facts = FACTS.filter(({ fact }) => fact !== "samples" || !look.profile.header.sampling.exact);
  return [
    numberColumn(TEMPORARY, () => temporaryShares(rows), formatPercent),
    ...facts.map(({ fact, title, help, print }) =>
      numberColumn({ id: fact, title, help, usual: false }, () => siteFacts(rows, fact), print),
    ),
  ];
}

/** Sorted by the name of the heaviest: collecting all names of all rows would take too long. */
function namesColumn({ look, rows }: Given, id: "tag" | "thread", title: string): Column {
  const { threads, tags } = look.profile.header;
  const { metric } = look.state;
  const first = (row: number) => {
    const index = look.dataset[id][rows.heaviest(metric)[row]];
    return (id === "thread" ? threads[index]?.name : tags[index]?.path) ?? "";
  };
  const all = (row: number) => namesOf(rows, row, metric, id).map((name) => name || "(none)").join(", ");
  const of = { id, title, help: `${title.toLowerCase()}, the heaviest first`, usual: false };
  return { ...textColumn(of, 130, rows.count, all), keys: () => rankTexts(rows.count, first) };
}

function makeColumns(given: Given): Column[] {
  const { look, rows } = given;
  const { profile, dataset, state } = look;
  const known = knownMetrics(profile.header, dataset.kind === "interval");
  const others = known.filter((info) => info.metric !== state.metric);
  const share = { id: "share", title: "Share", help: `of all: ${metricInfo(state.metric).help}`, usual: true };
  const mean = { id: "mean", title: "Mean size", help: "bytes of an allocation, on average", usual: true };
  const where = locationColumn(
    { id: "where", title: "Where", help: "file and line", usual: false },
    170,
    rows.count,
    (row) => placeOrigin(profile, placeOf(rows, row)),
  );
  const callers = textColumn(
    { id: "callers", title: "Called by", help: "the nearest callers", usual: false },
    320,
    rows.count,
    (row) => callersOf(rows, row),
  );
  const module = { id: "module", title: "Module", help: "program or library", usual: false };
  const moduleName = (row: number) => profile.moduleName(profile.functions.module[functionOf(rows, row)]);
  return [
    nameColumn(given, [where, callers]),
    metricColumn(given, metricInfo(state.metric)),
    ...shareColumn(look, share, () => rows.values(state.metric)),
    ...others.map((info) => metricColumn(given, info)),
    numberColumn(mean, () => meanSizes(rows), formatBytes),
    ...factColumns(given),
    namesColumn(given, "tag", "Tags"),
    namesColumn(given, "thread", "Threads"),
    where,
    textColumn(module, 120, rows.count, moduleName),
    callers,
  ];
}

/* --- the view --- */

function SitesTable({ look }: ViewProps) {
  const { dataset, included, profile, state, totals } = look;
  const rows = useMemo(() => makeSiteRows(dataset, included), [dataset, included]);
  const estimates = useMemo(() => makeLazy(rows.estimates), [rows]);
  const columns = useMemo(() => makeColumns({ look, rows, estimates }), [rows, state.metric, totals]);
  const matches = (test: (text: string) => boolean) => {
    const passes = functionTest(profile, test);
    const { via } = rows.folding;
    const called = rememberTests(profile.text, test);
    return (row: number) => {
      const library = via[rows.folded[row]];
      return passes(functionOf(rows, row)) || (library > 0 && called(library));
    };
  };
  const detail = (row: number) => (
    <SiteDetail key={row} look={look} rows={rows} row={row} index={functionOf(rows, row)} />
  );
  const nothing = dataset.kind === "interval" ? "No allocation or free in this interval." : "Nothing was recorded.";
  return (
    <Table
      look={look}
      id="sites-table"
      label="Sites"
      rows={rows}
      count={rows.count}
      columns={columns}
      lines={2}
      usualSort={`-${state.metric}`}
      matches={matches}
      rowKey={(row) => rowKey(rows, row)}
      functionOf={(row) => functionOf(rows, row)}
      detail={detail}
      lazy={[estimates]}
      empty={nothing}
    />
  );
}

export function Sites({ look }: ViewProps) {
  return usePainted(look.dataset.count) ? <SitesTable look={look} /> : <p class="dim">Computing…</p>;
}
