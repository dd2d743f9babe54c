// SPDX-License-Identifier: MIT
// dataset.ts - the sites that the page is about: of the whole run, of a stretch of it, or of two runs.
//
// A stretch of time and a comparison have the same shape: the first `base` sites are what there was before, and count
// negatively; the others are what there is. Sites of a stretch are those of the profile twice over.

import type { Estimates } from "../data/header";
import type { Amounts, Profile, SiteRows } from "../data/profile";
import { addSites, estimateSums, newSums, siteValues, subtractEstimates, type Sums } from "./figures";
import { amountsAt, instantNear, instantSeconds, type Instant, INSTANT_END, INSTANT_START } from "./instant";
import { METRICS, metricInfo, type Metric } from "./metric";

export interface Dataset extends SiteRows {
  profile: Profile;
  kind: "whole" | "interval" | "difference";
  base: number;
  /** The site of the profile that each stands for. */
  site(index: number): number;
  since: number;
  until: number;
  /** Figures of small sites are guesses, even where everything was counted. */
  guessed: boolean;
  /** By site, of one metric, all positive: computed once. */
  values(metric: Metric): Float64Array;
}

function rememberValues(amounts: Amounts): (metric: Metric) => Float64Array {
  const known = new Map<Metric, Float64Array>();
  return (metric) => {
    let values = known.get(metric);
    if (!values) known.set(metric, (values = siteValues(amounts, metricInfo(metric).key)));
    return values;
  };
}

export function wholeDataset(profile: Profile): Dataset {
  const { sites, header } = profile;
  return {
    profile,
    kind: header.extent.difference ? "difference" : "whole",
    count: sites.count,
    base: header.extent.base_sites,
    node: sites.node,
    inner: sites.inner,
    outer: sites.outer,
    own: sites.own,
    thread: sites.thread,
    tag: sites.tag,
    amounts: sites.amounts,
    site: (index) => index,
    since: 0,
    until: header.process.duration_s,
    guessed: false,
    values: rememberValues(sites.amounts),
  };
}

function twice(column: Uint32Array): Uint32Array {
  const both = new Uint32Array(2 * column.length);
  both.set(column);
  both.set(column, column.length);
  return both;
}

/** What happened from one moment to another. Moments are those that the profile remembers, nearest to what is asked.
 * What small sites had then is shared out among those that are `included`. */
export function intervalDataset(
  profile: Profile,
  since: number,
  until: number,
  included: Uint8Array | null = null,
): Dataset {
  const { sites } = profile;
  const from: Instant = instantNear(profile, since);
  const to: Instant = instantNear(profile, until);
  const { amounts, guessed } = amountsAt(profile, from, to, included);
  return {
    profile,
    kind: "interval",
    count: 2 * sites.count,
    base: sites.count,
    node: twice(sites.node),
    inner: twice(sites.inner),
    outer: twice(sites.outer),
    own: twice(sites.own),
    thread: twice(sites.thread),
    tag: twice(sites.tag),
    amounts,
    site: (index) => (index < sites.count ? index : index - sites.count),
    since: instantSeconds(profile, from),
    until: instantSeconds(profile, to),
    guessed,
    values: rememberValues(amounts),
  };
}

/** The moments between which an interval can be chosen, in order, without doubles. */
export function chooseableMoments(profile: Profile): number[] {
  const all: Instant[] = [INSTANT_START, ...profile.header.snapshots.map((_, index) => index), INSTANT_END];
  return [...new Set(all.map((instant) => instantSeconds(profile, instant)))].sort((a, b) => a - b);
}

/** What there was before, and what there is. */
interface Sides<T> {
  before: T;
  after: T;
}

function addSides(dataset: Dataset, sites: Iterable<number>): Sides<Sums> {
  const sides = { before: newSums(), after: newSums() };
  for (const site of sites) addSites(site < dataset.base ? sides.before : sides.after, dataset.amounts, site);
  return sides;
}

/**
 * The figures of sums, of every metric; what is compared with has been subtracted. Of `all` the sites of a stretch of
 * time nothing is guessed: what was sampled before it has the same error at both ends. Of some that need not be so: one
 * that was too small to be named at the start may be a large one at the end.
 */
export function estimateChange(dataset: Dataset, { before, after }: Sides<Sums>, all: boolean): Estimates {
  const now = estimateSums(after);
  if (dataset.base === 0) return now;
  const then = estimateSums(before);
  const changes = {} as Estimates;
  for (const { key } of METRICS) changes[key] = subtractEstimates(now[key], then[key], key, all);
  return changes;
}

/** The same of some sites together. */
export function estimateSites(dataset: Dataset, sites: Iterable<number>, all = false): Estimates {
  return estimateChange(dataset, addSides(dataset, sites), all);
}

/** What some sites had before and have now: for comparisons. */
export function estimateSides(dataset: Dataset, sites: Iterable<number>): Sides<Estimates> {
  const { before, after } = addSides(dataset, sites);
  return { before: estimateSums(before), after: estimateSums(after) };
}
