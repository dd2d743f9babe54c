// SPDX-License-Identifier: MIT
// groups.ts - groups the sites of a dataset: a group is a row of a table.

import type { Estimates } from "../../data/header";
import { estimateSites, type Dataset } from "./dataset";
import { METRICS, metricInfo, type Metric } from "./metric";

/** Members of group i: member[begin[i]] .. member[begin[i + 1] - 1]. */
export interface Groups {
  count: number;
  begin: Uint32Array;
  member: Uint32Array;
}

export const NO_GROUP = 0xffffffff;

/** Puts each item into a group, or into none (NO_GROUP). */
export function groupBy(items: number, count: number, groupOf: (item: number) => number): Groups {
  const begin = new Uint32Array(count + 1);
  for (let i = 0; i < items; i++) {
    const group = groupOf(i);
    if (group !== NO_GROUP) begin[group + 1]++;
  }
  for (let g = 0; g < count; g++) begin[g + 1] += begin[g];
  const next = begin.slice();
  const member = new Uint32Array(begin[count]);
  for (let i = 0; i < items; i++) {
    const group = groupOf(i);
    if (group !== NO_GROUP) member[next[group]++] = i;
  }
  return { count, begin, member };
}

export function members(groups: Groups, group: number): Uint32Array {
  return groups.member.subarray(groups.begin[group], groups.begin[group + 1]);
}

export function sumGroups(groups: Groups, value: (item: number) => number): Float64Array {
  const sums = new Float64Array(groups.count);
  for (let g = 0; g < groups.count; g++) {
    let sum = 0;
    for (let i = groups.begin[g]; i < groups.begin[g + 1]; i++) sum += value(groups.member[i]);
    sums[g] = sum;
  }
  return sums;
}

/** The included sites that changed: in a time interval, some did not. */
export function activeSites(dataset: Dataset, included: Uint8Array): Uint8Array {
  if (dataset.kind !== "interval") return included;
  const calls = dataset.values("calls");
  const live = dataset.values("live");
  const active = included.slice();
  for (let before = 0, after = dataset.base; after < dataset.count; before++, after++)
    if (calls[before] === calls[after] && live[before] === live[after]) active[before] = active[after] = 0;
  return active;
}

/** A metric by site, negative for sites before dataset.base. */
export function signedValue(dataset: Dataset, metric: Metric): (site: number) => number {
  const values = dataset.values(metric);
  return (site) => (site < dataset.base ? -values[site] : values[site]);
}

/** Caches the results of `compute`. */
export function byMetric(compute: (metric: Metric) => Float64Array): (metric: Metric) => Float64Array {
  const known = new Map<Metric, Float64Array>();
  return (metric) => {
    let values = known.get(metric);
    if (!values) known.set(metric, (values = compute(metric)));
    return values;
  };
}

/** All figures of a group, with intervals; cheap if everything was counted and nothing is compared. */
export function groupEstimates(
  dataset: Dataset,
  sites: () => Iterable<number>,
  value: (metric: Metric) => number,
): Estimates {
  const counted = dataset.profile.header.sampling.exact && !dataset.guessed;
  if (!counted || dataset.base > 0) return estimateSites(dataset, sites());
  const exact = {} as Estimates;
  for (const { metric, key } of METRICS) {
    const known = value(metric);
    exact[key] = { value: known, error: 0, low: known, high: known };
  }
  return exact;
}

/** Whether figures of a metric are changes, which may be negative. In a time interval, allocated bytes and calls only
 * grow. */
export function isChange(dataset: Dataset, metric: Metric): boolean {
  if (dataset.kind === "whole") return false;
  const grows = metricInfo(metric).key.startsWith("alloc_");
  return dataset.kind === "difference" || !grows;
}
