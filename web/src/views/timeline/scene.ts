// SPDX-License-Identifier: MIT
// scene.ts - the contents of the chart: one run, one run by layers, or two runs; and its legend.

import type { Header, Side } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { Look } from "../../look";
import { chooseableMoments } from "../../model/figures/dataset";
import { formatBytes, formatEstimate, formatSetting, formatSlack, formatSpan } from "../../model/figures/format";
import {
  heldBy,
  knownMoments,
  LAYERS,
  progressOf,
  sitesThrough,
  spreadRows,
  stackLayers,
  totalAt,
  type Layers,
  type LayersBy,
} from "../../model/time/layers";
import {
  highest,
  makeCurves,
  peakHeight,
  runEnd,
  samplingTurns,
  tellApart,
  timeRows,
  type Level,
  type Run,
} from "../../model/time/timeline";
import type { Mark } from "./marks";
import type { Curve, CurveKind, Scene } from "./plot";

export type ChartBy = "total" | LayersBy;

export interface LegendEntry {
  name: string;
  kind: CurveKind;
  colour: string;
  dashed?: boolean;
  /** Its value at a row. */
  value: (row: number) => string;
  /** For layers: what a click picks. */
  layer?: { by: LayersBy; index: number };
  /** For curves that can be hidden: whether it is drawn. */
  drawn?: boolean;
  /** A dimmed remark. */
  note?: string;
}

export interface Chart {
  scene: Scene;
  legend: LegendEntry[];
}

const LONG_TAIL = 0.005; /* of the run: an exit closer to the end is not marked */

export function runOf(header: Header): Run {
  const { timeline, process, peak, totals, extent } = header;
  const whole = extent.selection === null && extent.merged === 0 && extent.resets === 0 && !extent.difference;
  const marked = whole && totals.peak_space.value > 0;
  return {
    moments: timeline,
    duration: process.duration_s,
    peak: marked ? { seconds: peak.time_s, bytes: totals.peak_space.value } : null,
    ending: whole ? totals.inuse_space.value : null,
  };
}

function runOfSide(side: Side): Run {
  const bytes = side.totals.peak_space.value;
  return {
    moments: side.timeline,
    duration: side.process.duration_s,
    peak: bytes > 0 ? { seconds: side.peak.time_s, bytes } : null,
    ending: null,
  };
}

function marksOf(header: Header, run: Run): Mark[] {
  const { process, extent, totals, peak } = header;
  const end = runEnd(run);
  const marks: Mark[] = [];
  if (run.peak) {
    const { seconds, bytes } = run.peak;
    const height = `${formatEstimate("bytes", totals.peak_space)} at ${formatSpan(seconds)}`;
    marks.push({ seconds, text: `peak ${height}${formatSlack(bytes, peak.slack_bytes, totals.alloc_space.value)}`, bytes: peakHeight(run) });
  }
  if (process.exit_s !== null && end - process.exit_s > LONG_TAIL * end)
    marks.push({ seconds: process.exit_s, text: "exit begins", bytes: null });
  if (extent.reset_s !== null && extent.reset_s > 0)
    marks.push({ seconds: extent.reset_s, text: "reset: figures begin here", bytes: null });
  for (const turn of samplingTurns(run.moments)) {
    const text =
      turn.interval > 0 ? `sampled from here, at first every ${formatSetting(turn.interval)}` : "exact from here";
    marks.push({ seconds: turn.seconds, text, bytes: null });
  }
  return marks;
}

function bytesAt(values: readonly Level[], otherwise = "unknown"): (row: number) => string {
  return (row) => (typeof values[row] === "number" ? formatBytes(values[row]) : otherwise);
}

function rateAt(values: readonly Level[], otherwise = "unknown"): (row: number) => string {
  return (row) => (typeof values[row] === "number" ? `${formatBytes(values[row])}/s` : otherwise);
}

/** The rows of a chart, and the times at which the heap's composition is known. */
interface Rows {
  time: number[];
  live: (number | null)[];
  known: number[];
  spread: (bytes: ArrayLike<number>) => number[];
}

function rowsOf(profile: Profile, run: Run, time: number[], end: number): Rows {
  const known = knownMoments(profile).time;
  const { live } = makeCurves(run, time, end);
  const progress = progressOf(time, live, known);
  const total = totalAt(profile);
  return { time, live, known, spread: (bytes) => spreadRows(progress, live, total, bytes) };
}

/** Between known times, the value is a guess. */
function heldAt(rows: Rows, values: readonly number[]): (row: number) => string {
  return (row) => `${rows.known.includes(rows.time[row]) ? "" : "about "}${formatBytes(values[row])}`;
}

/** The picked function, or the selection: its name and what it held, which is drawn over everything else. */
interface Highlight {
  name: string;
  held: Float64Array;
}

function highlightOf(look: Look): Highlight | null {
  const { profile, state, narrowed, included } = look;
  const picked = state.picked ? profile.functionOfKey(state.picked) : undefined;
  if (picked !== undefined)
    return { name: `through ${profile.functionName(picked)}`, held: heldBy(profile, sitesThrough(profile, picked)) };
  return narrowed
    ? { name: "selection", held: heldBy(profile, included.subarray(0, profile.sites.count)) }
    : null;
}

interface Parts {
  curves: Curve[];
  legend: LegendEntry[];
}

const DWARFS = 4; /* times live memory: a larger RSS makes that a flat line */

/** RSS and live memory share an axis, so that a gap between them is seen; without RSS, live memory is seen better. */
function rssNote(live: readonly Level[], rss: readonly Level[]): string {
  return highest(rss) > DWARFS * highest(live) ? "hide it to see live memory larger" : "";
}

function totalParts(run: Run, time: number[], end: number, drawn: boolean): Parts {
  const { live, rss, rate } = makeCurves(run, time, end);
  return {
    curves: [
      { kind: "rate", colour: "--layer-others", values: rate },
      { kind: "area", colour: "--accent", values: live },
      { kind: "step", colour: "--grew", values: drawn ? rss : [] },
    ],
    legend: [
      { name: "live", kind: "area", colour: "--accent", value: bytesAt(live) },
      { name: "RSS", kind: "step", colour: "--grew", value: bytesAt(rss), drawn, note: rssNote(live, rss) },
      { name: "allocated", kind: "rate", colour: "--layer-others", value: rateAt(rate) },
    ],
  };
}

function layerColour(slots: ReadonlyMap<string, number>, key: string): string {
  return `--layer-${slots.get(key) ?? 0}`;
}

function isFaint(look: Look, by: LayersBy, index: number): boolean {
  const { state, profile } = look;
  if (by === "tag") return state.tag !== null && state.tag !== index;
  return state.picked !== "" && profile.functionOfKey(state.picked) !== index;
}

/** Draws the highest layer first, so that each layer covers the lower part of the one before. */
function layerParts(
  look: Look,
  by: LayersBy,
  layers: Layers,
  slots: ReadonlyMap<string, number>,
  rows: Rows,
  rate: Level[],
): Parts {
  const held = layers.layers.map((layer) => rows.spread(layer.bytes));
  const others = rows.spread(layers.others);
  const sums = stackLayers([...held, others]);
  const curves: Curve[] = [{ kind: "rate", colour: "--layer-others", values: rate }];
  curves.push({
    kind: "layer",
    colour: "--layer-others",
    values: sums[sums.length - 1],
    faint: look.state.picked !== "",
  });
  for (let i = LAYERS - 1; i >= 0; i--) {
    const layer = layers.layers[i];
    if (!layer) curves.push({ kind: "layer", colour: "--layer-0", values: [] });
    else
      curves.push({
        kind: "layer",
        colour: layerColour(slots, layer.key),
        values: sums[i],
        faint: isFaint(look, by, layer.index),
      });
  }
  const legend: LegendEntry[] = layers.layers.map((layer, i) => ({
    name: layer.name,
    kind: "layer",
    colour: layerColour(slots, layer.key),
    value: heldAt(rows, held[i]),
    layer: { by, index: layer.index },
  }));
  legend.push({ name: "all others", kind: "layer", colour: "--layer-others", value: heldAt(rows, others) });
  legend.push({ name: "live", kind: "step", colour: "--text", value: bytesAt(rows.live) });
  curves.push({ kind: "step", colour: "--text", values: rows.live });
  return { curves, legend };
}

const OVER = "(ended)";

function differenceParts(before: Run, after: Run, time: number[], end: number, drawn: boolean): Parts {
  const [then, now] = [makeCurves(before, time, end), makeCurves(after, time, end)];
  const note = rssNote([...then.live, ...now.live], [...then.rss, ...now.rss]);
  const rss = { kind: "step" as const, colour: "--grew", drawn, note };
  return {
    curves: [
      { kind: "rate", colour: "--layer-others", values: now.rate },
      { kind: "rate-line", colour: "--text", dashed: true, values: then.rate },
      { kind: "area", colour: "--accent", values: now.live },
      { kind: "step", colour: "--text", dashed: true, values: then.live },
      { kind: "step", colour: "--grew", values: drawn ? now.rss : [] },
      { kind: "step", colour: "--grew", dashed: true, values: drawn ? then.rss : [] },
    ],
    legend: [
      { name: "after: live", kind: "area", colour: "--accent", value: bytesAt(now.live, OVER) },
      { name: "before: live", kind: "step", dashed: true, colour: "--text", value: bytesAt(then.live, OVER) },
      { name: "after: RSS", value: bytesAt(now.rss, OVER), ...rss },
      { name: "before: RSS", dashed: true, value: bytesAt(then.rss, OVER), ...rss },
      { name: "after: allocated", kind: "rate", colour: "--layer-others", value: rateAt(now.rate, OVER) },
      { name: "before: allocated", kind: "rate-line", dashed: true, colour: "--text", value: rateAt(then.rate, OVER) },
    ],
  };
}

function topOf(curves: readonly Curve[]): Scene["top"] {
  const of = (...kinds: CurveKind[]) =>
    highest(...curves.filter((curve) => kinds.includes(curve.kind)).map((curve) => curve.values));
  return { bytes: of("area", "step", "line", "layer"), rate: of("rate", "rate-line") };
}

/** The times where an interval can begin and end; none if there are only the start and the end of the run. */
export function cuttingMoments(profile: Profile): number[] {
  if (profile.header.extent.difference) return [];
  const moments = tellApart(chooseableMoments(profile));
  return moments.length > 2 ? moments : [];
}

function makeDifference(before: Run, after: Run, rss: boolean): Chart {
  const time = timeRows([before, after]);
  const end = Math.max(runEnd(before), runEnd(after));
  const { curves, legend } = differenceParts(before, after, time, end, rss);
  return { scene: { time, end, curves, top: topOf(curves), marks: [], moments: [], chosen: null }, legend };
}

export interface ChartInput {
  look: Look;
  by: ChartBy;
  layers: Layers | null;
  slots: ReadonlyMap<string, number>;
  /** Whether to draw RSS. */
  rss: boolean;
}

export function makeChart({ look, by, layers, slots, rss }: ChartInput): Chart {
  const { profile, dataset } = look;
  const { header } = profile;
  if (header.diff) return makeDifference(runOfSide(header.diff.before), runOfSide(header.diff.after), rss);
  const run = runOf(header);
  const time = timeRows([run], knownMoments(profile).time);
  const end = runEnd(run);
  const rows = rowsOf(profile, run, time, end);
  const { rate } = makeCurves(run, time, end);
  const { curves, legend } =
    by === "total" || !layers ? totalParts(run, time, end, rss) : layerParts(look, by, layers, slots, rows, rate);
  const highlight = highlightOf(look);
  const held = highlight ? rows.spread(highlight.held) : [];
  curves.push({ kind: "line", colour: "--mark", values: held });
  if (highlight) legend.push({ name: highlight.name, kind: "line", colour: "--mark", value: heldAt(rows, held) });
  const chosen = dataset.kind === "interval" ? { since: dataset.since, until: dataset.until } : null;
  return {
    scene: {
      time,
      end,
      curves,
      top: topOf(curves),
      marks: marksOf(header, run),
      moments: cuttingMoments(profile),
      chosen,
    },
    legend,
  };
}
