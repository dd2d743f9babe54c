// SPDX-License-Identifier: MIT
// sites.ts - the rows of the table of sites, which are the lines of a report, with all that is known about each.

import type { Estimates } from "../../data/header";
import type { Dataset } from "../figures/dataset";
import {
  activeSites,
  byMetric,
  groupBy,
  groupEstimates,
  members,
  NO_GROUP,
  signedValue,
  sumGroups,
  type Groups,
} from "../figures/groups";
import type { Metric } from "../figures/metric";
import { foldSites, type Folding } from "./stacks";

export interface SiteRows {
  dataset: Dataset;
  folding: Folding;
  count: number;
  /** By row: its folded site. */
  folded: Uint32Array;
  /** By row: its sites in the dataset. */
  groups: Groups;
  /** By row; signed. */
  values(metric: Metric): Float64Array;
  estimates(row: number): Estimates;
  /** By row: the site of the dataset with the largest figure of the metric. */
  heaviest(metric: Metric): Uint32Array;
}

interface Numbering {
  folded: Uint32Array;
  /** By folded site. */
  rowOf: Uint32Array;
}

/** Numbers the folded sites that have an active site. */
function numberRows(dataset: Dataset, folding: Folding, active: Uint8Array): Numbering {
  const rowOf = new Uint32Array(folding.count).fill(NO_GROUP);
  const folded = new Uint32Array(folding.count);
  let count = 0;
  for (let i = 0; i < dataset.count; i++) {
    const row = folding.ofSite[dataset.site(i)];
    if (!active[i] || rowOf[row] !== NO_GROUP) continue;
    folded[count] = row;
    rowOf[row] = count++;
  }
  return { folded: folded.subarray(0, count), rowOf };
}

function findHeaviest(groups: Groups, values: Float64Array): Uint32Array {
  const heaviest = new Uint32Array(groups.count);
  for (let g = 0; g < groups.count; g++) {
    let best = groups.begin[g];
    for (let i = best + 1; i < groups.begin[g + 1]; i++) /* the last of equals: sites of the first profile come first */
      if (values[groups.member[i]] >= values[groups.member[best]]) best = i;
    heaviest[g] = groups.member[best];
  }
  return heaviest;
}

export function makeSiteRows(dataset: Dataset, included: Uint8Array): SiteRows {
  const folding = foldSites(dataset.profile);
  const active = activeSites(dataset, included);
  const { folded, rowOf } = numberRows(dataset, folding, active);
  const groups = groupBy(dataset.count, folded.length, (i) =>
    active[i] ? rowOf[folding.ofSite[dataset.site(i)]] : NO_GROUP,
  );
  const values = byMetric((metric) => sumGroups(groups, signedValue(dataset, metric)));
  const heaviest = new Map<Metric, Uint32Array>();
  return {
    dataset,
    folding,
    count: folded.length,
    folded,
    groups,
    values,
    estimates: (row) => groupEstimates(dataset, () => members(groups, row), (metric) => values(metric)[row]),
    heaviest(metric) {
      let found = heaviest.get(metric);
      if (!found) heaviest.set(metric, (found = findHeaviest(groups, dataset.values(metric))));
      return found;
    },
  };
}

/* --- other figures of rows --- */

/** The profile's sites of a row. Skips those before dataset.base, which are duplicates, or of the first profile. */
function* sitesOf(rows: SiteRows, row: number): Iterable<number> {
  const { dataset } = rows;
  for (const i of members(rows.groups, row)) if (i >= dataset.base) yield dataset.site(i);
}

function fold(rows: SiteRows, start: number, add: (sum: number, site: number) => number): Float64Array {
  const result = new Float64Array(rows.count).fill(start);
  const { dataset, groups } = rows;
  for (let row = 0; row < rows.count; row++)
    for (let i = groups.begin[row]; i < groups.begin[row + 1]; i++)
      if (groups.member[i] >= dataset.base) result[row] = add(result[row], dataset.site(groups.member[i]));
  return result;
}

/** By row; in a difference, the figures of the second profile alone. */
function presentValues(rows: SiteRows, metric: Metric): Float64Array {
  const { dataset, groups } = rows;
  if (dataset.kind !== "difference") return rows.values(metric);
  const values = dataset.values(metric);
  return sumGroups(groups, (site) => (site < dataset.base ? 0 : values[site]));
}

/** The mean of a metric per call; NaN if there were no calls. */
function perCall(rows: SiteRows, metric: Metric): Float64Array {
  const calls = presentValues(rows, "calls");
  return presentValues(rows, metric).map((sum, row) => (calls[row] > 0 ? sum / calls[row] : NaN));
}

export function meanSizes(rows: SiteRows): Float64Array {
  return perCall(rows, "allocated");
}

/** The fraction of calls that were temporary. */
export function temporaryShares(rows: SiteRows): Float64Array {
  return perCall(rows, "temporary");
}

export type SiteFact = "smallest" | "largest" | "reallocs" | "moved" | "exit" | "samples";

/** NaN if unknown. */
export function siteFacts(rows: SiteRows, fact: SiteFact): Float64Array {
  const { sites } = rows.dataset.profile;
  const sum = (column: Float64Array) => fold(rows, 0, (sum, site) => sum + column[site]);
  if (fact === "reallocs") return sum(sites.reallocCalls);
  if (fact === "moved") return sum(sites.reallocMoved);
  if (fact === "exit") return sum(sites.exitSpace);
  if (fact === "samples") return sum(sites.amounts.allocated.samples);
  const { largest, smallest } = sites;
  if (fact === "largest") return fold(rows, NaN, (most, site) => (largest[site] <= most ? most : largest[site]));
  return fold(rows, NaN, (least, site) => (smallest[site] >= least ? least : smallest[site]));
}

/** The names of the threads or tags of a row, the heaviest first. */
export function namesOf(rows: SiteRows, row: number, metric: Metric, of: "thread" | "tag"): string[] {
  const { dataset } = rows;
  const { threads, tags } = dataset.profile.header;
  const values = dataset.values(metric);
  const weights = new Map<string, number>();
  for (const i of members(rows.groups, row)) {
    const index = dataset[of][i];
    const name = of === "thread" ? (threads[index]?.name ?? "") : (tags[index]?.path ?? "");
    weights.set(name, (weights.get(name) ?? 0) + Math.abs(values[i]));
  }
  return [...weights].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

/** The histogram of sizes of a row, with its smallest and largest size. */
export function sizesOf(rows: SiteRows, row: number): { counts: Float64Array; smallest: number; largest: number } {
  const { sites, header } = rows.dataset.profile;
  const { sizes } = sites;
  const counts = new Float64Array(header.scales.sizes_from.length);
  let smallest = Infinity;
  let largest = 0;
  for (const site of sitesOf(rows, row)) {
    smallest = Math.min(smallest, sites.smallest[site]);
    largest = Math.max(largest, sites.largest[site]);
    for (let i = firstOf(sizes.site, site); i < sizes.site.length && sizes.site[i] === site; i++)
      counts[sizes.bucket[i]] += sizes.count[i];
  }
  return { counts, smallest, largest };
}

/** The first row of a site in a histogram, whose rows are sorted by site. */
function firstOf(column: Uint32Array, site: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column[middle] < site) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The stacks of a row, heaviest first: the innermost node of each, and its value of the metric. */
export function stacksOf(rows: SiteRows, row: number, metric: Metric): { node: number; value: number }[] {
  const value = signedValue(rows.dataset, metric);
  const sums = new Map<number, number>();
  for (const i of members(rows.groups, row)) {
    const node = rows.dataset.node[i];
    sums.set(node, (sums.get(node) ?? 0) + value(i));
  }
  return [...sums].map(([node, sum]) => ({ node, value: sum })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}
