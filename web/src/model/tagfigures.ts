// SPDX-License-Identifier: MIT
// tagfigures.ts - figures with their intervals, of rows of a tree and of parts of a profile: as src/reader/tagtree.c
// and src/analysis/narrow.c have them.
//
// A total is estimated from the sum of its sites, so it has an interval of its own and not a sum of intervals. What was
// allocated is known exactly where scopes apply, and has the last word.

import type { Estimates } from "../data/header";
import { estimateChange, type Dataset } from "./dataset";
import { addMany, addSites, addSums, estimateSums, newSums, samplesIn, type Sums } from "./figures";
import { METRICS } from "./metric";
import { allowForTheHidden, boundByAsked } from "./totals";

/** What was asked for: exact. */
export interface Asked {
  calls: number;
  bytes: number;
}

/** Where no sample was taken there may be memory all the same, but not where nothing was recorded at all. */
function estimateAsked(dataset: Dataset, sums: Sums, asked: Asked, recorded: boolean): Estimates {
  const estimates = estimateSums(sums);
  if (recorded) allowForTheHidden(dataset.profile.header, samplesIn(sums), estimates);
  return boundByAsked(estimates, asked);
}

/** Of sites that have asked for so much together. */
export function estimatePart(dataset: Dataset, sites: ArrayLike<number>, asked: Asked): Estimates {
  const sums = newSums();
  addMany(sums, dataset.amounts, sites);
  return estimateAsked(dataset, sums, asked, true);
}

export interface Rows {
  count: number;
  /** A row comes before those below it. */
  parent: ArrayLike<number>;
  /** The row of a site; undefined: none. */
  ofSite: (site: number) => number | undefined;
  /** What rows have asked for, themselves and with all below them; null: not known. */
  asked: { self: (row: number) => Asked; total: (row: number) => Asked; recorded: (row: number) => boolean } | null;
}

export interface RowFigures {
  self: Estimates[];
  total: Estimates[];
}

function many(count: number): Sums[] {
  return Array.from({ length: count }, newSums);
}

/** With those of the rows below. */
function sumUp(rows: Rows, self: Sums[]): Sums[] {
  const total = many(rows.count);
  for (let row = rows.count - 1; row >= 0; row--) {
    addSums(total[row], self[row]);
    if (row > 0) addSums(total[rows.parent[row]], total[row]);
  }
  return total;
}

/** No whole ends below one of its parts: samples of one say little of what may hide in another, which has none. */
function raise(whole: Estimates, part: Estimates): void {
  for (const { key } of METRICS) {
    const { value, low, high } = whole[key];
    if (part[key].high > high)
      whole[key] = { value, low, high: part[key].high, error: value > 0 ? (part[key].high - low) / 2 : part[key].high };
  }
}

function estimateKnown(dataset: Dataset, rows: Rows, sums: Sums[], asked: NonNullable<Rows["asked"]>): RowFigures {
  const self = sums.map((sum, row) => estimateAsked(dataset, sum, asked.self(row), asked.recorded(row)));
  const total = sumUp(rows, sums).map((sum, row) => estimateAsked(dataset, sum, asked.total(row), asked.recorded(row)));
  for (let row = rows.count - 1; row >= 0; row--) {
    raise(total[row], self[row]);
    if (row > 0) raise(total[rows.parent[row]], total[row]);
  }
  return { self, total };
}

export function estimateRows(dataset: Dataset, included: Uint8Array, rows: Rows): RowFigures {
  const after = many(rows.count);
  const before = dataset.base > 0 ? many(rows.count) : after;
  for (let site = 0; site < dataset.count; site++) {
    const row = included[site] ? rows.ofSite(site) : undefined;
    if (row !== undefined) addSites((site < dataset.base ? before : after)[row], dataset.amounts, site);
  }
  if (rows.asked) return estimateKnown(dataset, rows, after, rows.asked);
  const [afterTotal, beforeTotal] = [sumUp(rows, after), sumUp(rows, before)];
  const estimate = (after: Sums, before: Sums) =>
    estimateChange(dataset, { before, after }, dataset.kind === "interval");
  return {
    self: after.map((sum, row) => estimate(sum, before[row])),
    total: afterTotal.map((sum, row) => estimate(sum, beforeTotal[row])),
  };
}
