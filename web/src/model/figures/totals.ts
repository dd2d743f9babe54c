// SPDX-License-Identifier: MIT
// totals.ts - the total figures of a selection, as reports and exports of that selection have them
// (src/analysis/narrow.c).
//
// For a selection by tag and thread, calls and bytes are exact in every mode, because scopes are, and no other figure
// can exceed them. The other figures are summed over sites and estimated once. Scopes do not help with a selection by
// stacks. In a comparison, each profile has such totals, and the change is their difference (src/reader/join/join.c).

import type { Estimate, Estimates, Header, MetricKey } from "../../data/header";
import type { Profile, Scopes } from "../../data/profile";
import { estimateSites, type Dataset } from "./dataset";
import { exactly, nothingSeen } from "./estimate";
import { addRange, estimateSums, newSums, samplesIn, subtractEstimates } from "./figures";
import { METRICS } from "./metric";
import { isNarrowed, tagsBelow, type Narrowing } from "./narrow";

function inBytes(key: MetricKey): boolean {
  return key.endsWith("_space");
}

function withHigh(estimate: Estimate, high: number): Estimate {
  const { value, low } = estimate;
  return { value, low, high, error: value > 0 ? (high - low) / 2 : high };
}

// --- memory without samples ---

type Method = Pick<Header, "sampling" | "auto">;

/** The sampling interval; in auto mode, the last one. */
function hiddenInterval({ sampling, auto }: Method): number {
  return sampling.mode !== "sampled" && auto.interval_bytes > 0 ? auto.interval_bytes : sampling.interval_bytes;
}

/** If there is no sample, there may still be memory: extends the confidence intervals accordingly. */
export function allowForTheHidden(method: Method, samples: number, figures: Estimates): void {
  if (method.sampling.exact || samples > 0) return;
  const bytes = hiddenInterval(method);
  const objects = bytes / (method.sampling.call_charge || 1);
  for (const { key } of METRICS) {
    const hidden = nothingSeen(inBytes(key) ? bytes : objects, 0).high;
    figures[key] = withHigh(figures[key], Math.max(figures[key].high, figures[key].value + hidden));
  }
}

// --- exact figures from scopes ---

interface Asked {
  calls: number;
  bytes: number;
}

/** Lowers a value that is too large, and its lower end in proportion: it is no more certain than before. */
function bound(part: Estimate, most: number): Estimate {
  if (part.high <= most) return part;
  if (!(part.value > most)) return withHigh(part, most);
  return withHigh({ ...part, value: most, low: Math.min(part.low * (most / part.value), most) }, most);
}

/** No figure can exceed the allocated calls and bytes, which are exact. */
export function boundByAsked(figures: Estimates, { calls, bytes }: Asked): Estimates {
  const bounded = {} as Estimates;
  for (const { key } of METRICS) bounded[key] = bound(figures[key], inBytes(key) ? bytes : calls);
  bounded.alloc_objects = exactly(calls);
  bounded.alloc_space = exactly(bytes);
  return bounded;
}

/** What was allocated in all, and the part of it while the profiler was off or paused. */
function askedBy(profile: Profile, scopes: Scopes, state: Narrowing): { all: Asked; unrecorded: Asked } {
  const { header } = profile;
  const tags = state.tag === null ? null : tagsBelow(profile, state.tag);
  const all: Asked = { calls: 0, bytes: 0 };
  const unrecorded: Asked = { calls: 0, bytes: 0 };
  for (let scope = 0; scope < scopes.count; scope++) {
    if (tags && !tags[scopes.tag[scope]]) continue;
    if (state.thread !== null && header.threads[scopes.thread[scope]]?.name !== state.thread) continue;
    const kind = header.tags[scopes.tag[scope]]?.kind;
    for (const sum of kind === "off" || kind === "paused" ? [all, unrecorded] : [all]) {
      sum.calls += scopes.calls[scope];
      sum.bytes += scopes.bytes[scope];
    }
  }
  return { all, unrecorded };
}

// --- selections ---

/** One run, with the sites `first` to `end` - 1. */
interface Run {
  first: number;
  end: number;
  method: Method;
  scopes: Scopes;
}

function partTotals(dataset: Dataset, run: Run, included: Uint8Array, state: Narrowing): Estimates {
  const sums = newSums();
  addRange(sums, dataset.amounts, run.first, run.end, included);
  const figures = estimateSums(sums);
  allowForTheHidden(run.method, samplesIn(sums), figures);
  if (state.focus.length > 0 || state.hide.length > 0) return figures;
  const { all, unrecorded } = askedBy(dataset.profile, run.scopes, state);
  const counted = countedIn(dataset, run, included);
  const recorded = {
    calls: Math.max(all.calls - unrecorded.calls, counted.calls),
    bytes: Math.max(all.bytes - unrecorded.bytes, counted.bytes),
  };
  const bounded = boundByAsked(figures, recorded);
  bounded.alloc_objects = exactly(Math.max(all.calls, recorded.calls));
  bounded.alloc_space = exactly(Math.max(all.bytes, recorded.bytes));
  return bounded;
}

/** Allocations that were counted exactly. */
function countedIn({ amounts }: Dataset, run: Run, included: Uint8Array): Asked {
  const { exactObjects, exactSpace } = amounts.allocated;
  const counted = { calls: 0, bytes: 0 };
  for (let i = run.first; i < run.end; i++) {
    if (!included[i]) continue;
    counted.calls += exactObjects[i];
    counted.bytes += exactSpace[i];
  }
  return counted;
}

function* chosen(included: Uint8Array): Iterable<number> {
  for (let i = 0; i < included.length; i++) if (included[i]) yield i;
}

/** If everything was counted, the totals of an interval are exact, although figures of small sites are guesses. */
function intervalTotals(dataset: Dataset, included: Uint8Array): Estimates {
  const figures = estimateSites(dataset, chosen(included), true);
  if (!dataset.profile.header.sampling.exact) return figures;
  for (const { key } of METRICS) {
    const { value } = figures[key];
    figures[key] = { value, error: 0, low: value, high: value };
  }
  return figures;
}

/** An export of a time interval (no `diff`) has only sites. */
function changeTotals(dataset: Dataset, included: Uint8Array, state: Narrowing): Estimates {
  const { base, count, profile } = dataset;
  const { diff } = profile.header;
  if (!diff) return estimateSites(dataset, chosen(included));
  const before: Run = { first: 0, end: base, method: diff.before, scopes: profile.baseScopes };
  const after: Run = { first: base, end: count, method: diff.after, scopes: profile.scopes };
  const then = partTotals(dataset, before, included, state);
  const now = partTotals(dataset, after, included, state);
  const changes = {} as Estimates;
  for (const { key } of METRICS) changes[key] = subtractEstimates(now[key], then[key], key, false);
  return changes;
}

/** The total figures of the included sites. */
export function selectionTotals(dataset: Dataset, included: Uint8Array, state: Narrowing): Estimates {
  if (dataset.kind === "interval") return intervalTotals(dataset, included);
  if (!isNarrowed(state)) return dataset.profile.header.totals;
  if (dataset.kind === "difference") return changeTotals(dataset, included, state);
  const { header, scopes } = dataset.profile;
  return partTotals(dataset, { first: 0, end: dataset.count, method: header, scopes }, included, state);
}
