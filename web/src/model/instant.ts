// SPDX-License-Identifier: MIT
// instant.ts - a profile as it was at a moment of its run, and what happened between two (src/analysis/instant.c).
//
// A share of a snapshot says what a site had allocated and held then; sites that were too small to be named had
// together what is left, each in proportion to what it has in the end. How well that is known is taken from the site's
// figures of the end: of its samples, so large a part as of its bytes.

import type { Snapshot } from "../data/header";
import type { Amount, Amounts, Profile } from "../data/profile";

/** An index into header.snapshots, or one of the following. */
export type Instant = number;
export const INSTANT_START: Instant = -1;
export const INSTANT_END: Instant = -2;


/** The remembered moment nearest to that. */
export function instantNear(profile: Profile, seconds: number): Instant {
  let nearest = INSTANT_START;
  let distance = Math.abs(seconds);
  const offer = (instant: Instant) => {
    const away = Math.abs(instantSeconds(profile, instant) - seconds);
    if (!(away < distance)) return;
    distance = away;
    nearest = instant;
  };
  profile.header.snapshots.forEach((_, index) => offer(index));
  offer(INSTANT_END);
  return nearest;
}

export function instantSeconds(profile: Profile, instant: Instant): number {
  if (instant >= 0) return profile.header.snapshots[instant].time_s;
  return instant === INSTANT_START ? 0 : profile.header.process.duration_s;
}

// --- columns ---

function newAmount(rows: number): Amount {
  return {
    exactObjects: new Float64Array(rows),
    exactSpace: new Float64Array(rows),
    objects: new Float64Array(rows),
    space: new Float64Array(rows),
    objectsVariance: new Float64Array(rows),
    spaceVariance: new Float64Array(rows),
    samples: new Float64Array(rows),
  };
}

/** Of a stretch of time there is no peak, and how blocks end is known of all alone: these stay zero. */
function newAmounts(rows: number): Amounts {
  const nothing = newAmount(rows);
  return {
    allocated: newAmount(rows),
    freed: newAmount(rows),
    peak: nothing,
    temporary: nothing,
    skewObjects: new Float64Array(rows),
    skewSpace: new Float64Array(rows),
    unseenInterval: new Float64Array(rows),
  };
}

function copyAmount(from: Amount, to: Amount, row: number): void {
  for (const part of Object.keys(to) as (keyof Amount)[]) to[part].set(from[part], row);
}

// --- figures of then ---

/** A part of a whole, as a fraction. */
function fraction(part: number, whole: number): number {
  return whole > 0 ? Math.min(Math.max(part / whole, 0), 1) : 0;
}

/** What a site had asked for and held. */
interface Share {
  calls: number;
  allocated: number;
  objects: number;
  bytes: number;
}

/** Sites of the whole, those that count, and where their figures of then go: site i to row first + i. */
interface Work {
  now: Amounts;
  included: Uint8Array | null;
  then: Amounts;
  first: number;
}

/** Writes a site's amount, scaled; of the samples as many as there must have been at least. */
function writeScaled(to: Amount, row: number, from: Amount, i: number, objects: number, space: number): void {
  to.objects[row] = from.objects[i] * objects;
  to.objectsVariance[row] = from.objectsVariance[i] * objects;
  to.space[row] = from.space[i] * space;
  to.spaceVariance[row] = from.spaceVariance[i] * space;
  to.samples[row] = Math.ceil(from.samples[i] * Math.min(Math.max(objects, space), 1));
}

/** What was counted one by one came before what was sampled. */
function keepFirst(to: Amount, row: number, from: Amount, i: number, share: Share): void {
  const objects = Math.min(share.calls, from.exactObjects[i]);
  const space = Math.min(share.allocated, from.exactSpace[i]);
  const sampledObjects = fraction(share.calls - objects, from.objects[i]);
  writeScaled(to, row, from, i, sampledObjects, fraction(share.allocated - space, from.space[i]));
  to.exactObjects[row] = objects;
  to.exactSpace[row] = space;
}

function siteThen({ now, then, first }: Work, site: number, share: Share): void {
  const { allocated: made, freed } = then;
  const row = first + site;
  keepFirst(made, row, now.allocated, site, share);
  const objects = 1 - fraction(share.objects, made.exactObjects[row] + made.objects[row]);
  const space = 1 - fraction(share.bytes, made.exactSpace[row] + made.space[row]);
  writeScaled(freed, row, made, row, objects, space);
  freed.exactObjects[row] = made.exactObjects[row] * objects;
  freed.exactSpace[row] = made.exactSpace[row] * space;
  then.skewObjects[row] = now.skewObjects[site] * fraction(made.objects[row], now.allocated.objects[site]);
  then.skewSpace[row] = now.skewSpace[site] * fraction(made.space[row], now.allocated.space[site]);
  then.unseenInterval[row] = now.unseenInterval[site];
}

/** It may have been nothing, or the most that it can have been: src/analysis/instant.c says why so wide. */
const WIDENED = 3;
function widestVariance(value: number, most: number): number {
  return value > 0 ? Math.max((value * (most - value)) / WIDENED, 0) : 0;
}

/** What a site has in the end, or can have had at most. */
interface Whole {
  calls: number;
  bytes: number;
}

function writeGuess(to: Amount, row: number, objects: number, space: number, most: Whole, witnesses: number): void {
  to.objects[row] = objects;
  to.space[row] = space;
  to.objectsVariance[row] = widestVariance(objects, most.calls);
  to.spaceVariance[row] = widestVariance(space, most.bytes);
  to.samples[row] = witnesses;
}

/**
 * Who is not named had, as far as anybody knows, as much of what it has in the end as all of these together: an
 * estimate, even where everything else is exact.
 */
function guessedThen({ then, first }: Work, site: number, most: Whole, share: Share): void {
  const gone = share.calls - share.objects;
  const row = first + site;
  writeGuess(then.allocated, row, share.calls, share.allocated, most, share.calls > 0 ? 2 : 0);
  const witnesses = gone <= 0 ? 0 : share.objects > 0 ? 1 : 2;
  writeGuess(then.freed, row, gone, share.allocated - share.bytes, most, witnesses);
}

function wholeOf(allocated: Amount, site: number, to: Whole): void {
  to.calls = allocated.exactObjects[site] + allocated.objects[site];
  to.bytes = allocated.exactSpace[site] + allocated.space[site];
}

/** Whole numbers, each the nearest; what that leaves over, or lacks, goes on to the next site. */
function takeWhole(carried: Share, part: keyof Share, more: number, most: number): number {
  const due = carried[part] + more;
  const nearest = due < 0 ? 0 : Math.round(due);
  const whole = Math.min(nearest, most);
  carried[part] = due - whole;
  return whole;
}

function noShare(): Share {
  return { calls: 0, allocated: 0, objects: 0, bytes: 0 };
}

/** Writes those without a share of their own. */
function othersThen(work: Work, snapshot: Snapshot, named: Uint8Array): void {
  const carried = noShare();
  const share = noShare();
  const most = { calls: 0, bytes: 0 };
  for (let site = 0; site < named.length; site++) {
    if (named[site] || (work.included && !work.included[site])) continue;
    wholeOf(work.now.allocated, site, most);
    const { calls, bytes } = most;
    share.calls = takeWhole(carried, "calls", calls * snapshot.others_calls, calls);
    const mostBytes = share.calls > 0 ? bytes : 0;
    share.allocated = takeWhole(carried, "allocated", bytes * snapshot.others_allocated, mostBytes);
    share.objects = takeWhole(carried, "objects", calls * snapshot.others_objects, share.calls);
    const mostHeld = share.objects > 0 ? share.allocated : 0;
    share.bytes = takeWhole(carried, "bytes", bytes * snapshot.others_bytes, mostHeld);
    most.calls = Math.min(calls, Math.max(snapshot.unnamed_calls, share.calls));
    most.bytes = Math.min(bytes, Math.max(snapshot.unnamed_bytes, share.allocated));
    guessedThen(work, site, most, share);
  }
}

/** Rows of a sorted column that have this value: from the first until the second, without it. */
function rowsOf(sorted: Uint32Array, value: number): [number, number] {
  const first = (of: number) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (sorted[middle] < of) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return [first(value), first(value + 1)];
}

/** Sites with shares of their own. Returns 1 for each of them. */
function namedThen(work: Work, profile: Profile, instant: Instant): Uint8Array {
  const { shares, sites } = profile;
  const named = new Uint8Array(sites.count);
  const share = noShare();
  const most = { calls: 0, bytes: 0 };
  const [from, end] = rowsOf(shares.snapshot, instant);
  for (let i = from; i < end; i++) {
    const site = shares.site[i];
    if (!(site < sites.count)) continue;
    share.calls = shares.calls[i];
    share.allocated = shares.allocated[i];
    share.objects = shares.objects[i];
    share.bytes = shares.bytes[i];
    wholeOf(work.now.allocated, site, most);
    if (shares.divided[i]) guessedThen(work, site, most, share);
    else siteThen(work, site, share);
    named[site] = 1;
  }
  return named;
}

/** Everything there is in the end, but for what is not known of a stretch of time. */
function writeEnd({ now, then, first }: Work): void {
  copyAmount(now.allocated, then.allocated, first);
  copyAmount(now.freed, then.freed, first);
  then.skewObjects.set(now.skewObjects, first);
  then.skewSpace.set(now.skewSpace, first);
  then.unseenInterval.set(now.unseenInterval, first);
}

function writeSites(work: Work, profile: Profile, instant: Instant): void {
  if (instant === INSTANT_END) writeEnd(work);
  else if (instant >= 0) othersThen(work, profile.header.snapshots[instant], namedThen(work, profile, instant));
}

function guesses(profile: Profile, instant: Instant): boolean {
  if (instant < 0) return false;
  const [from, end] = rowsOf(profile.shares.snapshot, instant);
  return profile.header.snapshots[instant].others_calls > 0 || profile.shares.divided.subarray(from, end).includes(1);
}

/**
 * Amounts of all sites at `since`, followed by those at `until`. Sites without a share pass on to each other what is
 * less than a block: where only some sites are looked at (1 in `included`), among these alone, and the others are void.
 */
export function amountsAt(
  profile: Profile,
  since: Instant,
  until: Instant,
  included: Uint8Array | null = null,
): { amounts: Amounts; guessed: boolean } {
  const { amounts: now, count } = profile.sites;
  const then = newAmounts(2 * count);
  writeSites({ now, included, then, first: 0 }, profile, since);
  writeSites({ now, included, then, first: count }, profile, until);
  return { amounts: then, guessed: guesses(profile, since) || guesses(profile, until) };
}
