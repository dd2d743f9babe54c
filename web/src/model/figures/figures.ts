// SPDX-License-Identifier: MIT
// figures.ts - computes metrics as src/reader/figures.c does: adds up the sums of sites, then estimates.
//
// Sums can be added, estimates cannot: an interval is computed once, from the sums over all sites. Sums are an array of
// COLUMNS numbers, so that adding a site is one short loop. The loop skips columns that are all zeros: in a profile
// without samples, that is most of them.

import type { Estimate, Estimates, MetricKey } from "../../data/header";
import type { Amount, Amounts } from "../../data/profile";
import {
  allowForTheHidden,
  allowForTheMoment,
  estimateSampled,
  heavySpread,
  noneSeenOf,
  restOf,
  subtract,
  subtractEarlier,
  withExact,
} from "./estimate";
import { METRICS, type Source } from "./metric";

const PARTS = [
  "exactObjects",
  "exactSpace",
  "objects",
  "space",
  "objectsVariance",
  "spaceVariance",
  "samples",
] as const;
const AMOUNTS = ["allocated", "freed", "peak", "temporary", "lost"] as const;
const SKEW_OBJECTS = AMOUNTS.length * PARTS.length;
const SKEW_SPACE = SKEW_OBJECTS + 1;
const MORE_OBJECTS = SKEW_SPACE + 1;
const LESS_OBJECTS = MORE_OBJECTS + 1;
const MORE_SPACE = LESS_OBJECTS + 1;
const LESS_SPACE = MORE_SPACE + 1;
const HIDDEN_OBJECTS = LESS_SPACE + 1;
const HIDDEN_SPACE = HIDDEN_OBJECTS + 1;
const COLUMNS = HIDDEN_SPACE + 1;

/** Of several sites, this column is the largest of theirs, not the sum. */
function isLargest(at: number): boolean {
  return at >= HIDDEN_OBJECTS;
}

/** Sums over sites, from which figures are computed. */
export interface Sums {
  /** The number of sites. */
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
  columns.push(amounts.skewObjects, amounts.skewSpace);
  columns.push(amounts.moreObjects, amounts.lessObjects, amounts.moreSpace, amounts.lessSpace);
  columns.push(amounts.hiddenObjects, amounts.hiddenSpace);
  return columns.map((values, at) => ({ at, values }));
}

function isUsed({ values }: Column): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] !== 0) return true;
  return false;
}

const known = new WeakMap<Amounts, Column[]>();

/** The columns that are not all zeros. */
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
    if (!isLargest(at)) values[at] += column[site];
    else if (column[site] > values[at]) values[at] = column[site];
  }
}

/** Adds many sites, column by column: in the order of memory. */
export function addMany(to: Sums, amounts: Amounts, sites: ArrayLike<number>): void {
  to.count += sites.length;
  for (const { at, values } of usedColumns(amounts)) {
    let sum = to.values[at];
    if (isLargest(at)) for (let i = 0; i < sites.length; i++) sum = Math.max(sum, values[sites[i]]);
    else for (let i = 0; i < sites.length; i++) sum += values[sites[i]];
    to.values[at] = sum;
  }
}

/** Adds the sites `first` to `end` - 1 whose mark is not 0; without marks, all of them. */
export function addRange(to: Sums, amounts: Amounts, first: number, end: number, marks?: Uint8Array): void {
  for (let i = first; i < end; i++) if (!marks || marks[i]) to.count++;
  for (const { at, values } of usedColumns(amounts)) {
    let sum = to.values[at];
    for (let i = first; i < end; i++) {
      if (marks && !marks[i]) continue;
      sum = isLargest(at) ? Math.max(sum, values[i]) : sum + values[i];
    }
    to.values[at] = sum;
  }
}

/** Adds other sums. */
export function addSums(to: Sums, more: Sums): void {
  to.count += more.count;
  for (let i = 0; i < COLUMNS; i++)
    to.values[i] = isLargest(i) ? Math.max(to.values[i], more.values[i]) : to.values[i] + more.values[i];
}

// --- estimating ---

type Parts = Record<(typeof PARTS)[number], number>;

function partsOf(sums: Sums, amount: (typeof AMOUNTS)[number]): Parts {
  const from = AMOUNTS.indexOf(amount) * PARTS.length;
  const parts = {} as Parts;
  PARTS.forEach((part, i) => (parts[part] = sums.values[from + i]));
  return parts;
}

/** `from` less `what`. If no sample is left, the sampled parts are 0. */
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
  sampled.low = Math.min(Math.max(sampled.low, part.samples), sampled.value); /* each sample is an object that exists */
  return withExact(part.exactObjects, sampled);
}

function spaceOf(part: Parts, whole: Parts, skew: number): Estimate {
  const heavy = heavySpread(skew, whole.spaceVariance);
  const all = { value: whole.space, variance: whole.spaceVariance };
  if (!(part.samples > 0)) return withExact(part.exactSpace, noneSeenOf(all, whole, heavy));
  return withExact(part.exactSpace, estimateSampled({ value: part.space, variance: part.spaceVariance }, part, heavy));
}

/** Figures with their 95% confidence intervals, computed as in pl_estimate_figures(). */
export function estimateSums(sums: Sums): Estimates {
  const allocated = partsOf(sums, "allocated");
  const parts: Record<Source, Parts> = {
    allocated,
    live: restOfParts(allocated, partsOf(sums, "freed")),
    peak: partsOf(sums, "peak"),
    temporary: partsOf(sums, "temporary"),
    lost: partsOf(sums, "lost"),
  };
  const figures = {} as Estimates;
  const { values } = sums;
  for (const { key, of, unit } of METRICS)
    figures[key] =
      unit === "bytes"
        ? allowForTheHidden(spaceOf(parts[of], allocated, values[SKEW_SPACE]), values[HIDDEN_SPACE])
        : allowForTheHidden(objectsOf(parts[of], allocated, values[SKEW_OBJECTS]), values[HIDDEN_OBJECTS]);
  figures.peak_objects = allowForTheMoment(figures.peak_objects, values[MORE_OBJECTS], values[LESS_OBJECTS]);
  figures.peak_space = allowForTheMoment(figures.peak_space, values[MORE_SPACE], values[LESS_SPACE]);
  return figures;
}

/** The number of samples in the sums. */
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

/** The columns that a metric is read from. */
interface Columns {
  of: Source;
  exact: "exactObjects" | "exactSpace";
  sampled: "objects" | "space";
}

const COLUMNS_OF = new Map<MetricKey, Columns>(
  METRICS.map(({ key, of, unit }) => [
    key,
    unit === "bytes"
      ? { of, exact: "exactSpace", sampled: "space" }
      : { of, exact: "exactObjects", sampled: "objects" },
  ]),
);

function columnsOf(key: MetricKey): Columns {
  const columns = COLUMNS_OF.get(key);
  if (!columns) throw new Error(`there is no metric ${key}`);
  return columns;
}

function figureOrZero(value: number): number {
  return value > 0 && value < Infinity ? value : 0;
}

function plainValues(amount: Amount, { exact, sampled }: Columns): Float64Array {
  const { [exact]: counted, [sampled]: weights, samples } = amount;
  const values = new Float64Array(counted.length);
  for (let i = 0; i < values.length; i++)
    values[i] = figureOrZero(counted[i]) + (samples[i] > 0 ? figureOrZero(weights[i]) : 0);
  return values;
}

function restValues(from: Amount, what: Amount, { exact, sampled }: Columns): Float64Array {
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
  const columns = columnsOf(key);
  if (columns.of === "live") return restValues(amounts.allocated, amounts.freed, columns);
  return plainValues(amounts[columns.of], columns);
}

/** The variance of that value for every site. */
export function siteVariances(amounts: Amounts, key: MetricKey): Float64Array {
  const { of, sampled } = columnsOf(key);
  const part = sampled === "objects" ? "objectsVariance" : "spaceVariance";
  if (of !== "live") return amounts[of][part];
  return amounts.allocated[part].map((variance, i) => restOf(variance, amounts.freed[part][i]));
}

// --- differences ---

/** A change, with its confidence interval; `inTime`: between two times of one run (instant.c). */
export function subtractEstimates(after: Estimate, before: Estimate, key: MetricKey, inTime: boolean): Estimate {
  const { of } = columnsOf(key);
  if (!inTime || of === "live") return subtract(after, before);
  if (of === "allocated") return subtractEarlier(after, before);
  return { value: 0, error: 0, low: 0, high: 0 }; /* unknown for a time interval */
}
