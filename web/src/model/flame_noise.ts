// SPDX-License-Identifier: MIT
// flame_noise.ts - how much of a box's change noise may explain: what is not more than that is drawn paler.
//
// Sums of variances and of samples are all that is needed for that, and sites of a box are consecutive: so it costs a
// few look-ups a box, and not an interval for each. Tables and tips have the intervals.

import type { MetricKey, Side } from "../data/header";
import type { Dataset } from "./dataset";
import { siteVariances } from "./figures";
import { metricInfo, type Metric } from "./metric";
import { boxValue, type Tree } from "./tree";

const Z = 1.96; /* 95% of a normal distribution lie within */
const RULE_OF_THREE = 3; /* samples that would be there, if so much had been: 95% */

/** For each box the sum of what its sites have. */
function sumBoxes(tree: Tree, value: (site: number) => number): (box: number) => number {
  const until = new Float64Array(tree.sites.length + 1);
  for (let i = 0; i < tree.sites.length; i++) until[i + 1] = until[i] + value(tree.sites[i]);
  return (box) => until[tree.siteEnd[box]] - until[tree.siteBegin[box]];
}

/** What a side may have that it has no sample of; 0 where all was counted. */
function hiddenIn({ sampling, totals }: Side, key: MetricKey): number {
  if (sampling.exact) return 0;
  const bytes = RULE_OF_THREE * sampling.interval_bytes;
  if (key.endsWith("_space")) return bytes;
  const size = totals.alloc_space.value / Math.max(1, totals.alloc_objects.value);
  return bytes / (size + sampling.call_charge);
}

/** What may be hidden in a box, on the sides that have no sample in it. */
function findHidden(dataset: Dataset, key: MetricKey, tree: Tree): (box: number) => number {
  const { diff } = dataset.profile.header;
  if (!diff) return () => 0;
  const { samples } = dataset.amounts.allocated;
  const before = sumBoxes(tree, (site) => (site < dataset.base ? samples[site] : 0));
  const after = sumBoxes(tree, (site) => (site < dataset.base ? 0 : samples[site]));
  const [hiddenBefore, hiddenAfter] = [hiddenIn(diff.before, key), hiddenIn(diff.after, key)];
  return (box) => (before(box) > 0 ? 0 : hiddenBefore) + (after(box) > 0 ? 0 : hiddenAfter);
}

/** Whether a box changed by no more than its error. Where everything was counted, none did. */
export function findNoise(dataset: Dataset, metric: Metric, tree: Tree): (box: number) => boolean {
  if (tree.widths === "value") return () => false;
  const { key } = metricInfo(metric);
  const variances = siteVariances(dataset.amounts, key);
  const variance = sumBoxes(tree, (site) => variances[site]);
  const hidden = findHidden(dataset, key, tree);
  return (box) => {
    const error = Z * Math.sqrt(Math.max(0, variance(box))) + hidden(box);
    return error > 0 && Math.abs(boxValue(tree, box)) <= error;
  };
}
