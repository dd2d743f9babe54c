// SPDX-License-Identifier: MIT
// lifetimes.tsx - lifetimes of freed blocks, the share of temporary allocations, and when live blocks were made.

import { useMemo } from "preact/hooks";
import type { Header } from "../../data/header";
import type { Look, ViewProps } from "../../look";
import {
  counted,
  formatCount,
  formatEstimate,
  formatExact,
  formatPercent,
  formatSeconds,
  formatSpan,
} from "../../model/figures/format";
import {
  ageScale,
  AGE_BUCKETS,
  bucketRange,
  lifeLabel,
  lifeScale,
  LIFE_BUCKETS,
  quantile,
  sumHistogram,
  sumOf,
} from "../../model/tables/histograms";
import { Columns, Facts, FiguresTable, OfWholeRun, useWholeRun, type Column, type WholeRun } from "./histogram";

interface Model {
  lives: Float64Array;
  ages: Float64Array;
  partLives: Float64Array | null;
  partAges: Float64Array | null;
}

function makeModel(run: WholeRun): Model {
  const { lives, ages } = run.dataset.profile.sites;
  return {
    lives: sumHistogram(lives, run.chosen, LIFE_BUCKETS),
    ages: sumHistogram(ages, run.chosen, AGE_BUCKETS),
    partLives: run.picked && sumHistogram(lives, run.picked, LIFE_BUCKETS),
    partAges: run.picked && sumHistogram(ages, run.picked, AGE_BUCKETS),
  };
}

function duration(header: Header, seconds: number): string {
  return header.scales.unit_s === null ? `${formatCount(seconds)} units` : formatSpan(seconds);
}

function lifeColumns(header: Header, lives: Float64Array, part: Float64Array | null): Column[] {
  const range = bucketRange(lives);
  if (!range) return [];
  const scale = lifeScale(header);
  const columns: Column[] = [];
  for (let i = range.first; i <= range.last; i++) {
    const tick = duration(header, scale[i]).replace(" units", "");
    columns.push({ tick, label: lifeLabel(header, i), value: lives[i], part: part ? part[i] : 0 });
  }
  return columns;
}

function ageColumns(header: Header, ages: Float64Array, part: Float64Array | null): Column[] {
  return ageScale(header).map(({ bucket, since, until }) => ({
    tick: formatSeconds(since),
    label: `made from ${formatSeconds(since)} to ${formatSeconds(until)}`,
    value: ages[bucket],
    part: part ? part[bucket] : 0,
  }));
}

function lifeFacts(look: Look, run: WholeRun, lives: Float64Array): [string, string][] {
  const { header } = look.profile;
  const { temp_objects, alloc_objects, inuse_objects } = run.totals;
  const facts: [string, string][] = [];
  const share = alloc_objects.value > 0 ? temp_objects.value / alloc_objects.value : 0;
  facts.push([
    "Temporary (freed before the thread's next allocation)",
    `${formatEstimate("calls", temp_objects)} calls, ${formatPercent(share)}`,
  ]);
  if (sumOf(lives) > 0) {
    const scale = lifeScale(header);
    facts.push(["Median lifetime of freed blocks, about", duration(header, quantile(lives, scale, 0.5))]);
    facts.push(["99th percentile, about", duration(header, quantile(lives, scale, 0.99))]);
  }
  facts.push([header.page.title_live, counted(formatEstimate("blocks", inuse_objects), "block")]);
  return facts;
}

function tableRows(columns: Column[]): string[][] {
  const all = sumOf(columns.map((column) => column.value));
  const share = (column: Column) => formatPercent(all > 0 ? column.value / all : 0);
  return columns.map((column) => [column.label, formatCount(column.value), share(column)]);
}

interface ChartProps {
  id: string;
  title: string;
  look: Look;
  columns: Column[];
  of: string | null;
  none: string;
}

function Chart({ id, title, look, columns, of, none }: ChartProps) {
  const { exact } = look.profile.header.sampling;
  const all = sumOf(columns.map((column) => column.value));
  if (!(all > 0))
    return (
      <section id={id} data-total={0}>
        <h3>{title}</h3>
        <p class="dim">{none}</p>
      </section>
    );
  const describe = (column: Column) =>
    `${column.label}: ${exact ? formatExact(column.value) : formatCount(column.value)} blocks, ` +
    formatPercent(column.value / all) +
    (of === null ? "" : `; ${formatCount(column.part)} ${of}`);
  return (
    <div>
      <Columns
        id={id}
        title={exact ? title : `${title}, estimated`}
        columns={columns}
        format={formatCount}
        partTitle={of}
        describe={describe}
      />
      <FiguresTable title="As a table" head={["", "blocks", "share"]} rows={tableRows(columns)} />
    </div>
  );
}

function describeLive({ page }: Header): string {
  return page.title_live === "Live" ? "are live" : `were ${page.title_live.toLowerCase()}`;
}

export function Lifetimes({ look }: ViewProps) {
  const run = useWholeRun(look);
  const { header } = look.profile;
  const model = useMemo(() => makeModel(run), [run.dataset, run.chosen, run.picked]);
  const of = run.pickedName === null ? null : `through ${run.pickedName}`;
  return (
    <div class="lifetimes">
      <OfWholeRun look={look} what="Lifetimes and ages" />
      <Facts facts={lifeFacts(look, run, model.lives)} />
      {header.scales.unit_s === null && (
        <p class="spread-note" role="note">
          The frequency of the processor's clock was not measured: lifetimes are in its ticks.
        </p>
      )}
      <div class="histograms">
        <Chart
          id="lifetimes-chart"
          title="Lifetimes of freed blocks"
          look={look}
          columns={lifeColumns(header, model.lives, model.partLives)}
          of={of}
          none="No free was seen, so no lifetime is known."
        />
        <Chart
          id="ages-chart"
          title={`When blocks were made that ${describeLive(header)}`}
          look={look}
          columns={ageColumns(header, model.ages, model.partAges)}
          of={of}
          none="No block is left, so there are no ages."
        />
      </div>
    </div>
  );
}
