// SPDX-License-Identifier: MIT
// figures.ts - arithmetic on what metrics are computed from (src/reader/figures.c): adding sites up, then estimating.
//
// Sums add up and figures do not: an interval is computed once, from the sums of all that is in it. They are rows of
// numbers in the order of COLUMNS, so that adding a site is one short loop; columns that are all zeros, which in a
// profile without samples are most of them, are left out of it.

import type { Estimate, Estimates, MetricKey } from "../data/header";
import type { Amount, Amounts } from "../data/profile";
import {
  estimateSampled,
  heavySpread,
  noneSeenOf,
  restOf,
  subtract,
  subtractEarlier,
  widen,
  withExact,
} from "./estimate";

const CALL_CHARGE = 64; /* bytes that every call counts for beside its size (settings.h) */

const PARTS = [
  "exactObjects",
  "exactSpace",
  "objects",
  "space",
  "objectsVariance",
  "spaceVariance",
  "samples",
] as const;
const AMOUNTS = ["allocated", "freed", "peak", "temporary"] as const;
const SKEW_OBJECTS = AMOUNTS.length * PARTS.length;
const SKEW_SPACE = SKEW_OBJECTS + 1;
const UNSEEN_INTERVAL = SKEW_SPACE + 1;
const COLUMNS = UNSEEN_INTERVAL + 1;

/** Sums over sites of everything that figures are computed from. */
export interface Sums {
  /** How many sites there are in it. */
  count: number;
  readonly values: Float64Array;
}

export function newSums(): Sums {
  return { count: 0, values: new Float64Array(COLUMNS) };
}

// --- adding ---

interface Column {
  at: number;
  values: Float64Array;
}

function allColumns(amounts: Amounts): Column[] {
  const columns = AMOUNTS.flatMap((name) => PARTS.map((part) => amounts[name][part]));
  columns.push(amounts.skewObjects, amounts.skewSpace, amounts.unseenInterval);
  return columns.map((values, at) => ({ at, values }));
}

function isUsed({ values }: Column): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] !== 0) return true;
  return false;
}

const known = new WeakMap<Amounts, Column[]>();

/** Those that are not all zeros. */
function usedColumns(amounts: Amounts): Column[] {
  let columns = known.get(amounts);
  if (!columns) {
    columns = allColumns(amounts).filter(isUsed);
    known.set(amounts, columns);
  }
  return columns;
}

/** Adds one site. */
export function addSites(to: Sums, amounts: Amounts, site: number): void {
  const columns = usedColumns(amounts);
  const { values } = to;
  to.count++;
  for (let i = 0; i < columns.length; i++) {
    const { at, values: column } = columns[i];
    if (at !== UNSEEN_INTERVAL) values[at] += column[site];
    else if (column[site] > values[at]) values[at] = column[site];
  }
}

/** Adds many: column by column, which is how they lie in memory. */
export function addMany(to: Sums, amounts: Amounts, sites: ArrayLike<number>): void {
  to.count += sites.length;
  for (const { at, values } of usedColumns(amounts)) {
    let sum = to.values[at];
    if (at === UNSEEN_INTERVAL) for (let i = 0; i < sites.length; i++) sum = Math.max(sum, values[sites[i]]);
    else for (let i = 0; i < sites.length; i++) sum += values[sites[i]];
    to.values[at] = sum;
  }
}

/** Adds those from `first` until `end`, without it, whose mark is not 0; all of them if there are no marks. */
export function addRange(to: Sums, amounts: Amounts, first: number, end: number, marks?: Uint8Array): void {
  for (let i = first; i < end; i++) if (!marks || marks[i]) to.count++;
  for (const { at, values } of usedColumns(amounts)) {
    let sum = to.values[at];
    for (let i = first; i < end; i++) {
      if (marks && !marks[i]) continue;
      sum = at === UNSEEN_INTERVAL ? Math.max(sum, values[i]) : sum + values[i];
    }
    to.values[at] = sum;
  }
}

/** Adds what others have added up. */
export function addSums(to: Sums, more: Sums): void {
  to.count += more.count;
  for (let i = 0; i < COLUMNS; i++)
    to.values[i] = i === UNSEEN_INTERVAL ? Math.max(to.values[i], more.values[i]) : to.values[i] + more.values[i];
}

// --- estimating ---

type Parts = Record<(typeof PARTS)[number], number>;

function partsOf(sums: Sums, amount: (typeof AMOUNTS)[number]): Parts {
  const from = AMOUNTS.indexOf(amount) * PARTS.length;
  const parts = {} as Parts;
  PARTS.forEach((part, i) => (parts[part] = sums.values[from + i]));
  return parts;
}

/** What of an amount is not in another. When no sample is left, nothing is. */
function restOfParts(from: Parts, what: Parts): Parts {
  const some = from.samples > what.samples;
  const sampled = (part: keyof Parts) => (some ? restOf(from[part], what[part]) : 0);
  return {
    exactObjects: Math.max(from.exactObjects - what.exactObjects, 0),
    exactSpace: Math.max(from.exactSpace - what.exactSpace, 0),
    objects: sampled("objects"),
    space: sampled("space"),
    objectsVariance: sampled("objectsVariance"),
    spaceVariance: sampled("spaceVariance"),
    samples: some ? from.samples - what.samples : 0,
  };
}

function objectsOf(part: Parts, whole: Parts, skew: number): Estimate {
  const heavy = heavySpread(skew, whole.objectsVariance);
  const all = { value: whole.objects, variance: whole.objectsVariance };
  if (!(part.samples > 0)) return withExact(part.exactObjects, noneSeenOf(all, whole, heavy));
  const sampled = estimateSampled({ value: part.objects, variance: part.objectsVariance }, part, heavy);
  sampled.low = Math.min(Math.max(sampled.low, part.samples), sampled.value); /* they have been seen */
  return withExact(part.exactObjects, sampled);
}

function spaceOf(part: Parts, whole: Parts, skew: number): Estimate {
  const heavy = heavySpread(skew, whole.spaceVariance);
  const all = { value: whole.space, variance: whole.spaceVariance };
  if (!(part.samples > 0)) return withExact(part.exactSpace, noneSeenOf(all, whole, heavy));
  return withExact(part.exactSpace, estimateSampled({ value: part.space, variance: part.spaceVariance }, part, heavy));
}

/**
 * Sites that were counted for a while, and of which no sample was taken since: they may have gone on all the same, with
 * blocks like those that were counted.
 */
function allowForTheUnseen(figures: Estimates, allocated: Parts, unseenInterval: number): void {
  if (!(unseenInterval > 0) || allocated.samples > 0 || !(allocated.exactObjects > 0)) return;
  const size = allocated.exactSpace / allocated.exactObjects;
  const objects = unseenInterval / (size + CALL_CHARGE);
  figures.alloc_objects = widen(figures.alloc_objects, objects);
  figures.alloc_space = widen(figures.alloc_space, objects * size);
  figures.inuse_objects = widen(figures.inuse_objects, objects);
  figures.inuse_space = widen(figures.inuse_space, objects * size);
}

/** Figures with their 95% intervals, as pl_figures_estimate() computes them. */
export function estimateSums(sums: Sums): Estimates {
  const allocated = partsOf(sums, "allocated");
  const live = restOfParts(allocated, partsOf(sums, "freed"));
  const peak = partsOf(sums, "peak");
  const objects = (part: Parts) => objectsOf(part, allocated, sums.values[SKEW_OBJECTS]);
  const space = (part: Parts) => spaceOf(part, allocated, sums.values[SKEW_SPACE]);
  const figures: Estimates = {
    alloc_objects: objects(allocated),
    alloc_space: space(allocated),
    inuse_objects: objects(live),
    inuse_space: space(live),
    peak_objects: objects(peak),
    peak_space: space(peak),
    temp_objects: objects(partsOf(sums, "temporary")),
  };
  allowForTheUnseen(figures, allocated, sums.values[UNSEEN_INTERVAL]);
  return figures;
}

/** Samples that the sums are made of. */
export function samplesIn(sums: Sums): number {
  return partsOf(sums, "allocated").samples;
}

/** Figures of one site. */
export function estimateSite(amounts: Amounts, site: number): Estimates {
  const sums = newSums();
  addSites(sums, amounts, site);
  return estimateSums(sums);
}

// --- values alone, of all sites ---

interface Source {
  of: keyof Pick<Amounts, "allocated" | "peak" | "temporary">;
  exact: "exactObjects" | "exactSpace";
  sampled: "objects" | "space";
  /** Without what was freed. */
  rest: boolean;
}

const SOURCES: Record<MetricKey, Source> = {
  alloc_objects: { of: "allocated", exact: "exactObjects", sampled: "objects", rest: false },
  alloc_space: { of: "allocated", exact: "exactSpace", sampled: "space", rest: false },
  inuse_objects: { of: "allocated", exact: "exactObjects", sampled: "objects", rest: true },
  inuse_space: { of: "allocated", exact: "exactSpace", sampled: "space", rest: true },
  peak_objects: { of: "peak", exact: "exactObjects", sampled: "objects", rest: false },
  peak_space: { of: "peak", exact: "exactSpace", sampled: "space", rest: false },
  temp_objects: { of: "temporary", exact: "exactObjects", sampled: "objects", rest: false },
};

function figureOrZero(value: number): number {
  return value > 0 && value < Infinity ? value : 0;
}

function plainValues(amount: Amount, { exact, sampled }: Source): Float64Array {
  const { [exact]: counted, [sampled]: weights, samples } = amount;
  const values = new Float64Array(counted.length);
  for (let i = 0; i < values.length; i++)
    values[i] = figureOrZero(counted[i]) + (samples[i] > 0 ? figureOrZero(weights[i]) : 0);
  return values;
}

function restValues(from: Amount, what: Amount, { exact, sampled }: Source): Float64Array {
  const { [exact]: counted, [sampled]: weights, samples } = from;
  const { [exact]: countedAway, [sampled]: weightsAway, samples: samplesAway } = what;
  const values = new Float64Array(counted.length);
  for (let i = 0; i < values.length; i++) {
    const seen = samples[i] > samplesAway[i] ? restOf(weights[i], weightsAway[i]) : 0;
    values[i] = figureOrZero(counted[i] - countedAway[i]) + figureOrZero(seen);
  }
  return values;
}

/** The value of a metric for every site, without intervals. */
export function siteValues(amounts: Amounts, key: MetricKey): Float64Array {
  const source = SOURCES[key];
  if (source.rest) return restValues(amounts.allocated, amounts.freed, source);
  return plainValues(amounts[source.of], source);
}

/** The variance of that value for every site. */
export function siteVariances(amounts: Amounts, key: MetricKey): Float64Array {
  const { of, sampled, rest } = SOURCES[key];
  const part = sampled === "objects" ? "objectsVariance" : "spaceVariance";
  const all = amounts[of][part];
  return rest ? all.map((variance, i) => restOf(variance, amounts.freed[part][i])) : all;
}

// --- differences ---

/** What is known of a stretch of time, and whether it only grows. */
const IN_TIME: Record<MetricKey, "grows" | "changes" | "unknown"> = {
  alloc_objects: "grows",
  alloc_space: "grows",
  inuse_objects: "changes",
  inuse_space: "changes",
  peak_objects: "unknown",
  peak_space: "unknown",
  temp_objects: "unknown",
};

/** A change, with the interval of the difference; `inTime`: of two moments of one run (instant.c). */
export function subtractEstimates(after: Estimate, before: Estimate, key: MetricKey, inTime: boolean): Estimate {
  if (!inTime || IN_TIME[key] === "changes") return subtract(after, before);
  if (IN_TIME[key] === "grows") return subtractEarlier(after, before);
  return { value: 0, error: 0, low: 0, high: 0 };
}
