// SPDX-License-Identifier: MIT
// sizes.tsx - sizes of blocks: calls and bytes in powers of two, the allocator's slack, and reallocations.

import { useMemo } from "preact/hooks";
import type { ViewProps } from "../../look";
import { isEstimated } from "../../model/overview/facts";
import { counted, formatBytes, formatCount, formatExact, formatPercent } from "../../model/figures/format";
import {
  bucketRange,
  bytesBySize,
  extremesOf,
  sizeLabel,
  sizeQuantile,
  sizeScale,
  sizingOf,
  SIZE_BUCKETS,
  SIZE_LIMIT,
  SIZING_MOST,
  sumHistogram,
  sumOf,
  sumResizing,
  type Extremes,
  type Resizing,
  type SizeBytes,
  type Sizing,
} from "../../model/tables/histograms";
import { Columns, Facts, FiguresTable, OfWholeRun, useWholeRun, type Column, type WholeRun } from "./histogram";

interface Model {
  calls: Float64Array;
  bytes: SizeBytes;
  partCalls: Float64Array | null;
  partBytes: SizeBytes | null;
  extremes: Extremes | null;
  resizing: Resizing;
  sizing: Sizing | null;
}

function makeModel(run: WholeRun): Model {
  const { profile } = run.dataset;
  const allocated = run.dataset.values("allocated");
  return {
    calls: sumHistogram(profile.sites.sizes, run.chosen, SIZE_BUCKETS),
    bytes: bytesBySize(profile, run.chosen, allocated),
    partCalls: run.picked && sumHistogram(profile.sites.sizes, run.picked, SIZE_BUCKETS),
    partBytes: run.picked && bytesBySize(profile, run.picked, allocated),
    extremes: extremesOf(profile.sites, run.chosen),
    resizing: sumResizing(profile.sites, run.chosen),
    sizing: sizingOf(profile),
  };
}

/** "16 B", "1 KiB", "2 MiB": where a bucket begins, as short as possible. */
function tick(bucket: number): string {
  return formatBytes(sizeScale()[bucket]).replace(".0 ", " ");
}

function makeColumns(counts: Float64Array, part: Float64Array | null): Column[] {
  const range = bucketRange(counts);
  if (!range) return [];
  const columns: Column[] = [];
  for (let i = range.first; i <= range.last; i++)
    columns.push({ tick: tick(i), label: sizeLabel(i), value: counts[i], part: part ? part[i] : 0 });
  return columns;
}

function largestText(largest: number): string {
  return largest >= SIZE_LIMIT ? `${formatBytes(largest)} or more` : formatBytes(largest);
}

function quantileFact({ dataset, chosen }: WholeRun, name: string, fraction: number): [string, string] {
  const { sites, header } = dataset.profile;
  const { bytes, exact } = sizeQuantile(sites, chosen, fraction);
  return [exact && !isEstimated(header) ? name : `${name}, about`, formatBytes(bytes)];
}

function sizeFacts(run: WholeRun, model: Model): [string, string][] {
  const { extremes } = model;
  const { alloc_objects, alloc_space } = run.totals;
  const facts: [string, string][] = [];
  if (extremes) facts.push(["Smallest", formatBytes(extremes.smallest)]);
  facts.push(quantileFact(run, "p50", 0.5));
  if (alloc_objects.value > 0) facts.push(["Mean", formatBytes(alloc_space.value / alloc_objects.value)]);
  facts.push(quantileFact(run, "p99", 0.99));
  if (extremes) facts.push(["Largest", largestText(extremes.largest)]);
  return facts;
}

function Resized({ resizing }: { resizing: Resizing }) {
  const { calls, inPlace, movedBytes, exitBlocks, exitBytes } = resizing;
  if (!(calls > 0) && !(exitBlocks > 0)) return null;
  const facts: [string, string][] = [];
  if (calls > 0)
    facts.push(
      ["Reallocations", formatCount(calls)],
      ["Left in place", `${formatCount(inPlace)} (${formatPercent(inPlace / calls)})`],
      ["Bytes copied", formatBytes(movedBytes)],
    );
  if (exitBlocks > 0) facts.push(["Freed at exit", `${formatBytes(exitBytes)} in ${counted(formatCount(exitBlocks), "block")}`]);
  return (
    <section class="resized">
      <h3>Resized, and freed at exit</h3>
      <Facts facts={facts} />
    </section>
  );
}

/** Rows for the sizes that the rule covers. */
function slackRows(model: Model): { bucket: number; added: number; bytes: number }[] {
  const rows: { bucket: number; added: number; bytes: number }[] = [];
  const from = sizeScale();
  for (let bucket = 0; bucket < SIZE_BUCKETS; bucket++)
    if (model.calls[bucket] > 0 && from[bucket] < SIZING_MOST)
      rows.push({ bucket, added: model.bytes.added[bucket], bytes: model.bytes.bytes[bucket] });
  return rows;
}

function Slack({ model }: { model: Model }) {
  if (!model.sizing)
    return (
      <section class="slack">
        <h3>Allocator overhead</h3>
        <p class="dim">
          Plimsoll does not know how this program's allocator rounds sizes, so its overhead is unknown.
        </p>
      </section>
    );
  const rows = slackRows(model);
  const added = sumOf(rows.map((row) => row.added));
  const bytes = sumOf(rows.map((row) => row.bytes));
  if (!(bytes > 0)) return null;
  return (
    <section class="slack" data-added={added}>
      <h3>Allocator overhead (estimate)</h3>
      <p>
        The rule of {model.sizing.name}: {model.sizing.rule}. Over all allocations of up to {formatBytes(SIZING_MOST)}
        {" "}that is about <strong>{formatBytes(added)}</strong> on top of {formatBytes(bytes)} requested,{" "}
        <strong>{formatPercent(added / (added + bytes))}</strong> of the memory that they occupy.
      </p>
      <div class="spread-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">size</th>
              <th scope="col">calls</th>
              <th scope="col">requested, about</th>
              <th scope="col">added, about</th>
              <th scope="col">of occupied memory</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.bucket}>
                <th scope="row">{sizeLabel(row.bucket)}</th>
                <td>{formatCount(model.calls[row.bucket])}</td>
                <td>{formatBytes(row.bytes)}</td>
                <td>{formatBytes(row.added)}</td>
                <td>{formatPercent(row.added / (row.added + row.bytes))}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="dim">
        Within each power of two, sizes between a site's smallest and largest are assumed to be equally likely.
      </p>
    </section>
  );
}

function tableRows(model: Model, columns: Column[], first: number): string[][] {
  const all = sumOf(model.calls);
  const allBytes = sumOf(model.bytes.bytes);
  return columns.map((column, index) => [
    column.label,
    formatCount(column.value),
    formatPercent(column.value / all),
    formatBytes(model.bytes.bytes[first + index]),
    formatPercent(model.bytes.bytes[first + index] / allBytes),
    `${formatBytes(model.bytes.least[first + index])} to ${formatBytes(model.bytes.most[first + index])}`,
  ]);
}

export function Sizes({ look }: ViewProps) {
  const run = useWholeRun(look);
  const model = useMemo(() => makeModel(run), [run.dataset, run.chosen, run.picked]);
  const range = bucketRange(model.calls);
  if (!range) return <p class="dim">No allocation was recorded, so sizes are unknown.</p>;
  const { exact } = look.profile.header.sampling;
  const calls = makeColumns(model.calls, model.partCalls);
  const bytes = calls.map((column, index) => ({
    ...column,
    value: model.bytes.bytes[range.first + index],
    part: model.partBytes ? model.partBytes.bytes[range.first + index] : 0,
  }));
  const [allCalls, allBytes] = [sumOf(model.calls), sumOf(model.bytes.bytes)];
  const of = run.pickedName === null ? null : `through ${run.pickedName}`;
  const behind = (text: string) => (of === null ? "" : `; ${text} ${of}`);
  return (
    <div class="sizes">
      <OfWholeRun look={look} what="Sizes" />
      <Facts facts={sizeFacts(run, model)} />
      <div class="histograms">
        <Columns
          id="sizes-chart"
          title={exact ? "Calls by size" : "Calls by size, estimated"}
          columns={calls}
          format={formatCount}
          partTitle={of}
          describe={(column) =>
            `${column.label}: ${exact ? formatExact(column.value) : formatCount(column.value)} calls, ` +
            `${formatPercent(column.value / allCalls)}${behind(formatCount(column.part))}`
          }
        />
        <Columns
          id="sizes-bytes-chart"
          title="Bytes by size, estimated"
          columns={bytes}
          format={formatBytes}
          partTitle={of}
          describe={(column) =>
            `${column.label}: about ${formatBytes(column.value)}, ` +
            `${formatPercent(column.value / allBytes)}${behind(formatBytes(column.part))}`
          }
        />
      </div>
      <FiguresTable
        title="As a table"
        head={["size", "calls", "of calls", "bytes, about", "of bytes", "bytes, limits"]}
        rows={tableRows(model, calls, range.first)}
      />
      <Slack model={model} />
      <Resized resizing={model.resizing} />
    </div>
  );
}
