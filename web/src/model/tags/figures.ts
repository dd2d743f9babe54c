// SPDX-License-Identifier: MIT
// figures.ts - figures with confidence intervals for rows of the tag tree and for parts of a profile, computed as in
// src/analysis/tags/tagtree.c and src/analysis/narrow.c.
//
// A total is estimated from the sum of its sites, so it has an interval of its own, not a sum of intervals. If scopes
// apply, allocated bytes and calls are exact, and bound all other figures.

import type { Estimates } from "../../data/header";
import { estimateChange, type Dataset } from "../figures/dataset";
import { addMany, addSites, addSums, estimateSums, newSums, samplesIn, type Sums } from "../figures/figures";
import { METRICS } from "../figures/metric";
import { allowForTheHidden, boundByAsked } from "../figures/totals";

/** Allocated calls and bytes: exact. */
export interface Asked {
  calls: number;
  bytes: number;
}

/** A row without samples may still have memory, but not if nothing was recorded under its tag. */
function estimateAsked(dataset: Dataset, sums: Sums, asked: Asked, recorded: boolean): Estimates {
  const estimates = estimateSums(sums);
  if (recorded) allowForTheHidden(dataset.profile.header, samplesIn(sums), estimates);
  return boundByAsked(estimates, asked);
}

/** The figures of some sites, which allocated `asked` together. */
export function estimatePart(dataset: Dataset, sites: ArrayLike<number>, asked: Asked): Estimates {
  const sums = newSums();
  addMany(sums, dataset.amounts, sites);
  return estimateAsked(dataset, sums, asked, true);
}

export interface Rows {
  count: number;
  /** A row comes before its children. */
  parent: ArrayLike<number>;
  /** The row of a site; undefined: none. */
  ofSite: (site: number) => number | undefined;
  /** What rows allocated, alone and with all rows below them; null: unknown. */
  asked: { self: (row: number) => Asked; total: (row: number) => Asked; recorded: (row: number) => boolean } | null;
}

export interface RowFigures {
  self: Estimates[];
  total: Estimates[];
}

function many(count: number): Sums[] {
  return Array.from({ length: count }, newSums);
}

/** Adds the sums of the rows below. */
function sumUp(rows: Rows, self: Sums[]): Sums[] {
  const total = many(rows.count);
  for (let row = rows.count - 1; row >= 0; row--) {
    addSums(total[row], self[row]);
    if (row > 0) addSums(total[rows.parent[row]], total[row]);
  }
  return total;
}

/** The upper end of a whole is at least that of each part: samples of one part say little about a part without any. */
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
