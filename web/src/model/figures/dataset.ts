// SPDX-License-Identifier: MIT
// dataset.ts - the sites that the page shows: of the whole run, of a time interval of it, or of two runs.
//
// An interval and a difference have the same shape: the first `base` sites are the figures before, and count
// negatively; the others are the figures after. An interval has every site of the profile twice.

import type { Estimates } from "../../data/header";
import type { Amounts, Profile, SiteRows } from "../../data/profile";
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
  /** Figures of small sites are guesses, even if everything was counted. */
  guessed: boolean;
  /** The values of one metric by site, none negative; cached. */
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

/** What happened from one time to another: the nearest times at which the profile knows the heap's composition. What
 * unnamed small sites had then is divided among those that are `included`. */
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

/** The times between which an interval can be chosen, sorted, without duplicates. */
export function chooseableMoments(profile: Profile): number[] {
  const all: Instant[] = [INSTANT_START, ...profile.header.snapshots.map((_, index) => index), INSTANT_END];
  return [...new Set(all.map((instant) => instantSeconds(profile, instant)))].sort((a, b) => a - b);
}

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
 * The estimates of all metrics, `after` less `before`. For `all` sites of a time interval nothing is guessed: samples
 * from before the interval have the same error at both ends, which cancels. For some of the sites it need not cancel: a
 * site may be too small to be named at the start, and a large one at the end.
 */
export function estimateChange(dataset: Dataset, { before, after }: Sides<Sums>, all: boolean): Estimates {
  const now = estimateSums(after);
  if (dataset.base === 0) return now;
  const then = estimateSums(before);
  const changes = {} as Estimates;
  for (const { key } of METRICS) changes[key] = subtractEstimates(now[key], then[key], key, all);
  return changes;
}

/** The same for the sum of some sites. */
export function estimateSites(dataset: Dataset, sites: Iterable<number>, all = false): Estimates {
  return estimateChange(dataset, addSides(dataset, sites), all);
}

/** The sums of some sites before and after, for comparisons. */
export function estimateSides(dataset: Dataset, sites: Iterable<number>): Sides<Estimates> {
  const { before, after } = addSides(dataset, sites);
  return { before: estimateSums(before), after: estimateSums(after) };
}
