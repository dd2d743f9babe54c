// SPDX-License-Identifier: MIT
// sites.ts - the lines of a report, with all that is known of each: what the table of sites shows.

import type { Estimates } from "../data/header";
import type { Dataset } from "./dataset";
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
} from "./groups";
import type { Metric } from "./metric";
import { foldSites, type Folding } from "./stacks";

export interface SiteRows {
  dataset: Dataset;
  folding: Folding;
  count: number;
  /** The folded site that a row is about. */
  folded: Uint32Array;
  /** Sites of the dataset, by row. */
  groups: Groups;
  /** By row, with its sign. */
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

/** Folded sites that have anything included, numbered from 0. */
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
    for (let i = best + 1; i < groups.begin[g + 1]; i++) /* the last of equals: what is compared with comes first */
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

/* --- what else is known --- */

/** Of a stretch of time, and of what is compared with, nothing: both sides have it, or it is not what is asked. */
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

/** By row, of what is looked at alone: of a difference, how it is now. */
function presentValues(rows: SiteRows, metric: Metric): Float64Array {
  const { dataset, groups } = rows;
  if (dataset.kind !== "difference") return rows.values(metric);
  const values = dataset.values(metric);
  return sumGroups(groups, (site) => (site < dataset.base ? 0 : values[site]));
}

/** What a call has of a metric, on average; not a number where there were no calls. */
function perCall(rows: SiteRows, metric: Metric): Float64Array {
  const calls = presentValues(rows, "calls");
  return presentValues(rows, metric).map((sum, row) => (calls[row] > 0 ? sum / calls[row] : NaN));
}

export function meanSizes(rows: SiteRows): Float64Array {
  return perCall(rows, "allocated");
}

/** Of all calls, how many were temporary. */
export function temporaryShares(rows: SiteRows): Float64Array {
  return perCall(rows, "temporary");
}

export type SiteFact = "smallest" | "largest" | "reallocs" | "moved" | "exit" | "samples";

/** Not a number where it is not known. */
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

/** Distinct threads (by name) or tags of a row, the heaviest first. */
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

/** Of one row: counts by bucket of sizes, and the sizes at both ends. */
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

/** Where a site's part of a histogram begins: sites are in order. */
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

/** The stacks of a row, heaviest first: each the node where it ends and what it has of the metric. */
export function stacksOf(rows: SiteRows, row: number, metric: Metric): { node: number; value: number }[] {
  const value = signedValue(rows.dataset, metric);
  const sums = new Map<number, number>();
  for (const i of members(rows.groups, row)) {
    const node = rows.dataset.node[i];
    sums.set(node, (sums.get(node) ?? 0) + value(i));
  }
  return [...sums].map(([node, sum]) => ({ node, value: sum })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}
