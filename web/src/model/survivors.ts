// SPDX-License-Identifier: MIT
// survivors.ts - when the blocks were made that are left: for each leak, how many are from which stretch of the run.
//
// Stacks that look the same are one leak, as they are one site (stacks.ts).

import type { Profile } from "../data/profile";
import { AGE_BUCKETS } from "./histograms";
import { foldSites, siteRowAt } from "./stacks";

/** By leak, by class of ages (the oldest first): blocks. A leak is named by a node where a stack of its ends. */
export function survivorsAt(profile: Profile, nodes: readonly number[]): Float64Array[] {
  const { ages } = profile.sites;
  const { ofSite } = foldSites(profile);
  const byRow = new Map<number, Float64Array>();
  const made = nodes.map((node) => {
    const row = siteRowAt(profile, node);
    const known = byRow.get(row) ?? new Float64Array(AGE_BUCKETS);
    byRow.set(row, known);
    return known;
  });
  for (let i = 0; i < ages.site.length; i++) {
    const counts = byRow.get(ofSite[ages.site[i]]);
    if (counts && ages.bucket[i] < AGE_BUCKETS) counts[ages.bucket[i]] += ages.count[i];
  }
  return made;
}

const EIGHTHS = 8;

/** Heights from 0 to 8, as reports draw them: 8 for the most, and at least 1 for any. */
export function survivorHeights(counts: ArrayLike<number>, buckets: readonly number[]): number[] {
  const most = Array.from(counts).reduce((sum, count) => Math.max(sum, count), 0);
  return buckets.map((bucket) => {
    const height = Math.ceil((EIGHTHS * counts[bucket]) / most);
    return height > 0 ? Math.min(EIGHTHS, height) : 0;
  });
}
