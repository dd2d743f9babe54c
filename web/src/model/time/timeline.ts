// SPDX-License-Identifier: MIT
// timeline.ts - the run as curves over time, and the time intervals that can be chosen.
//
// A moment is a record of the totals, which allocating threads write now and then; its level is valid until the next
// moment. Bytes allocated between two moments are spread evenly over the time between them, and shown as a rate in
// columns of equal width. All curves have the same rows: the moments, the edges of columns, and other exact times.

import type { Estimate, Estimates, Moment } from "../../data/header";
import { formatChange, formatEstimate, formatSpan, plural } from "../figures/format";

/** null: unknown at that time. */
export type Level = number | null;

export interface Curves {
  live: Level[];
  rss: Level[];
  rate: Level[];
}

/** The input for one run; a comparison has two. */
export interface Run {
  moments: readonly Moment[];
  duration: number;
  /** When the heap was largest; it may be between two moments. */
  peak: { seconds: number; bytes: number } | null;
  /** Live bytes at the end: the last moment may be earlier. null: unknown. */
  ending: number | null;
}

export const COLUMNS = 120;
const CLOSE = 0.002; /* of the run: closer times are indistinguishable in the chart */

export function runEnd(run: Run): number {
  return Math.max(run.duration, run.moments.at(-1)?.time_s ?? 0);
}

/** Sorted, without duplicates. */
export function mergeTimes(...lists: readonly (readonly number[])[]): number[] {
  const all = lists.flat().filter((time) => Number.isFinite(time) && time >= 0);
  return [...new Set(all)].sort((a, b) => a - b);
}

function columnEdges(end: number): number[] {
  return Array.from({ length: COLUMNS + 1 }, (_, i) => (i * end) / COLUMNS);
}

/** The rows of some runs together. */
export function timeRows(runs: readonly Run[], more: readonly number[] = []): number[] {
  const end = Math.max(0, ...runs.map(runEnd));
  const moments = runs.flatMap((run) => [...run.moments.map((moment) => moment.time_s), runEnd(run)]);
  const peaks = runs.flatMap((run) => (run.peak ? [run.peak.seconds] : []));
  return mergeTimes(columnEdges(end), moments, peaks, more).filter((time) => time <= end);
}

/** A level is valid until the next moment; after the end of the run it is null. */
function fillLevels(run: Run, time: readonly number[], level: (moment: Moment) => Level, start: Level): Level[] {
  const end = runEnd(run);
  let next = 0;
  let held = start;
  return time.map((seconds) => {
    for (; next < run.moments.length && run.moments[next].time_s <= seconds; next++) held = level(run.moments[next]);
    return seconds > end ? null : held;
  });
}

/** Bytes that had been allocated by each of the times, which are sorted. */
export function allocatedBy(moments: readonly Moment[], times: readonly number[]): number[] {
  let next = 0;
  return times.map((seconds) => {
    while (next < moments.length && moments[next].time_s <= seconds) next++;
    const before = next > 0 ? moments[next - 1] : { time_s: 0, allocated_bytes: 0 };
    if (next === moments.length) return before.allocated_bytes;
    const after = moments[next];
    const part = (seconds - before.time_s) / (after.time_s - before.time_s);
    return before.allocated_bytes + part * (after.allocated_bytes - before.allocated_bytes);
  });
}

/** Bytes per second in columns of equal width from 0 to `end`. */
export function columnRates(moments: readonly Moment[], end: number): number[] {
  if (!(end > 0)) return new Array<number>(COLUMNS).fill(0);
  const sums = allocatedBy(moments, columnEdges(end));
  return Array.from({ length: COLUMNS }, (_, i) => (Math.max(0, sums[i + 1] - sums[i]) * COLUMNS) / end);
}

function fillRates(run: Run, time: readonly number[], end: number): Level[] {
  const rates = columnRates(run.moments, end);
  const own = runEnd(run);
  return time.map((seconds) => {
    const column = Math.min(COLUMNS - 1, Math.floor((seconds / end) * COLUMNS + 1e-9));
    return seconds > own || !(end > 0) ? null : rates[column];
  });
}

/** The height of the peak's mark: no lower than the level at its time, as the peak is less exact than moments. */
export function peakHeight({ moments, peak }: Run): number {
  let level = 0;
  for (const { time_s, live_bytes } of moments) if (peak && time_s <= peak.seconds) level = live_bytes;
  return Math.max(level, peak?.bytes ?? 0);
}

/** `end` is that of the chart: with two runs, the end of the longer one. */
export function makeCurves(run: Run, time: readonly number[], end: number): Curves {
  const live = fillLevels(run, time, (moment) => moment.live_bytes, 0);
  const peak = run.peak ? time.indexOf(run.peak.seconds) : -1;
  if (run.peak && peak >= 0) live[peak] = Math.max(live[peak] ?? 0, run.peak.bytes);
  const last = time.indexOf(runEnd(run));
  if (run.ending !== null && last >= 0) live[last] = run.ending;
  return { live, rss: fillLevels(run, time, (moment) => moment.rss_bytes, null), rate: fillRates(run, time, end) };
}

export function highest(...curves: readonly (readonly (Level | undefined)[])[]): number {
  let top = 0;
  for (const curve of curves) for (const level of curve) if (level && level > top) top = level;
  return top;
}

/** The moment of a time interval with the highest RSS; null if none was recorded. */
export function highestRss(moments: readonly Moment[], since: number, until: number): Moment | null {
  let top: Moment | null = null;
  for (const moment of moments)
    if (moment.rss_bytes !== null && moment.time_s >= since && moment.time_s <= until)
      if (top === null || moment.rss_bytes > (top.rss_bytes ?? 0)) top = moment;
  return top;
}

/** A switch between exact counting and sampling. */
export interface Turn {
  seconds: number;
  /** The sampling interval from then on; 0: exact. */
  interval: number;
}

export function samplingTurns(moments: readonly Moment[]): Turn[] {
  const turns: Turn[] = [];
  for (let i = 1; i < moments.length; i++) {
    const sampled = moments[i].interval_bytes > 0;
    if (sampled !== moments[i - 1].interval_bytes > 0)
      turns.push({ seconds: moments[i].time_s, interval: moments[i].interval_bytes });
  }
  return turns;
}

// --- choosing a time interval ---

export interface Stretch {
  since: number;
  until: number;
}

/** Removes times that are too close to their neighbour; keeps the first and the last. */
export function tellApart(moments: readonly number[]): number[] {
  const least = CLOSE * (moments.at(-1) ?? 0);
  const kept: number[] = [];
  for (const moment of moments) if (kept.length === 0 || moment - kept[kept.length - 1] > least) kept.push(moment);
  const last = moments.at(-1);
  if (last !== undefined && kept.at(-1) !== last) kept.splice(Math.max(1, kept.length - 1), 1, last);
  return kept;
}

export function nearestIndex(moments: readonly number[], seconds: number): number {
  let nearest = 0;
  for (let i = 1; i < moments.length; i++)
    if (Math.abs(moments[i] - seconds) < Math.abs(moments[nearest] - seconds)) nearest = i;
  return nearest;
}

/** The times nearest to both ends of the dragged range; if they are equal, the gap around the middle of the range. */
export function snapStretch(moments: readonly number[], from: number, to: number): Stretch | null {
  if (moments.length < 2) return null;
  const [low, high] = from <= to ? [from, to] : [to, from];
  let first = nearestIndex(moments, low);
  let last = nearestIndex(moments, high);
  if (first === last) {
    const behind = moments.findIndex((moment) => moment > (low + high) / 2);
    last = behind < 0 ? moments.length - 1 : Math.max(1, behind);
    first = last - 1;
  }
  return { since: moments[first], until: moments[last] };
}

/** The interval for the selection: null for start and end of the run, so that a live page follows the end. */
export function stretchState(
  moments: readonly number[],
  stretch: Stretch,
): { since: number | null; until: number | null } {
  const since = stretch.since <= (moments[0] ?? 0) ? null : stretch.since;
  const until = stretch.until >= (moments.at(-1) ?? Infinity) ? null : stretch.until;
  return { since, until };
}

export function describeStretch(stretch: Stretch): string {
  return `${formatSpan(stretch.since)} – ${formatSpan(stretch.until)}`;
}

function describeGrowth(live: Estimate): string {
  if (live.value === 0)
    return live.error > 0 ? `live changed by ${formatEstimate("bytes", live)}` : "live did not change";
  const size: Estimate = { ...live, value: Math.abs(live.value) };
  return `live ${live.value > 0 ? "grew" : "shrank"} by ${formatEstimate("bytes", size)}`;
}

/** "Between 3.2 s and 5.0 s: allocated 12 MiB in 4,000 calls; live grew by 1.1 MiB" */
export function captionStretch(stretch: Stretch, totals: Estimates, narrowed: boolean): string {
  const calls = formatEstimate("calls", totals.alloc_objects);
  return (
    `Between ${formatSpan(stretch.since)} and ${formatSpan(stretch.until)}` +
    `${narrowed ? ", of the selection" : ""}: ` +
    `allocated ${formatEstimate("bytes", totals.alloc_space)} in ${calls} call${plural(calls)}; ` +
    `${describeGrowth(totals.inuse_space)} (${formatChange("blocks", totals.inuse_objects.value)} blocks)`
  );
}
