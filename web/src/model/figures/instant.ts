// SPDX-License-Identifier: MIT
// instant.ts - a profile as it was at an earlier time, and what happened between two times (src/analysis/instant.c).
//
// A share says what a site had allocated and held at the time of a `Snapshot`. Sites that were too small to be named
// had the remainder together; it is divided in proportion to what each has in the end. The error comes from the site's
// final figures: its samples are scaled by the same fraction as its bytes.

import type { Snapshot } from "../../data/header";
import type { Amount, Amounts, Profile } from "../../data/profile";

/** An index into header.snapshots, or one of the following. */
export type Instant = number;
export const INSTANT_START: Instant = -1;
export const INSTANT_END: Instant = -2;

/** The instant nearest to a time. */
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

/** A time interval has no peak; temporary allocations, and what is lost, are known only for the whole run: 0. */
function newAmounts(rows: number): Amounts {
  const nothing = newAmount(rows);
  return {
    allocated: newAmount(rows),
    freed: newAmount(rows),
    peak: nothing,
    temporary: nothing,
    lost: nothing,
    skewObjects: new Float64Array(rows),
    skewSpace: new Float64Array(rows),
    hiddenObjects: new Float64Array(rows),
    hiddenSpace: new Float64Array(rows),
    moreObjects: nothing.objects,
    lessObjects: nothing.objects,
    moreSpace: nothing.space,
    lessSpace: nothing.space,
  };
}

function copyAmount(from: Amount, to: Amount, row: number): void {
  for (const part of Object.keys(to) as (keyof Amount)[]) to[part].set(from[part], row);
}

// --- figures at an instant ---

/** `part` / `whole`, from 0 to 1. */
function fraction(part: number, whole: number): number {
  return whole > 0 ? Math.min(Math.max(part / whole, 0), 1) : 0;
}

/** What a site had allocated (calls, allocated) and held (objects, bytes). */
interface Share {
  calls: number;
  allocated: number;
  objects: number;
  bytes: number;
}

/** The final amounts, the sites that count, and the output: the amounts of site i at an instant go to row first + i. */
interface Work {
  now: Amounts;
  included: Uint8Array | null;
  then: Amounts;
  first: number;
}

/** The number of samples in a part is rounded up. */
function samplesOf(samples: number, objects: number, space: number): number {
  return Math.ceil(samples * Math.min(Math.max(objects, space), 1));
}

/** Writes a site's amount, scaled. */
function writeScaled(to: Amount, row: number, from: Amount, i: number, objects: number, space: number): void {
  to.objects[row] = from.objects[i] * objects;
  to.objectsVariance[row] = from.objectsVariance[i] * objects;
  to.space[row] = from.space[i] * space;
  to.spaceVariance[row] = from.spaceVariance[i] * space;
  to.samples[row] = samplesOf(from.samples[i], objects, space);
}

/** Allocations were counted first and sampled later, so the share is taken from the counted part first. */
function keepFirst(to: Amount, row: number, from: Amount, i: number, share: Share): void {
  const objects = Math.min(share.calls, from.exactObjects[i]);
  const space = Math.min(share.allocated, from.exactSpace[i]);
  const sampledObjects = fraction(share.calls - objects, from.objects[i]);
  writeScaled(to, row, from, i, sampledObjects, fraction(share.allocated - space, from.space[i]));
  to.exactObjects[row] = objects;
  to.exactSpace[row] = space;
}

/** Writes what had been freed: all but the share. If anything was held, so was a sample of it: a site whose samples are
 * all freed counts as empty, and sites would not add up to the total. */
function writeFreed(freed: Amount, made: Amount, row: number, share: Share): void {
  const objects = fraction(share.objects, made.exactObjects[row] + made.objects[row]);
  const space = fraction(share.bytes, made.exactSpace[row] + made.space[row]);
  writeScaled(freed, row, made, row, 1 - objects, 1 - space);
  freed.samples[row] = made.samples[row] - samplesOf(made.samples[row], objects, space);
  freed.exactObjects[row] = made.exactObjects[row] * (1 - objects);
  freed.exactSpace[row] = made.exactSpace[row] * (1 - space);
}

function siteThen({ now, then, first }: Work, site: number, share: Share): void {
  const { allocated: made, freed } = then;
  const row = first + site;
  keepFirst(made, row, now.allocated, site, share);
  writeFreed(freed, made, row, share);
  then.skewObjects[row] = now.skewObjects[site] * fraction(made.objects[row], now.allocated.objects[site]);
  then.skewSpace[row] = now.skewSpace[site] * fraction(made.space[row], now.allocated.space[site]);
  then.hiddenObjects[row] = now.hiddenObjects[site];
  then.hiddenSpace[row] = now.hiddenSpace[site];
}

/** The value may have been anything from 0 to `most`: src/analysis/instant.c says why the variance is so wide. */
const WIDENED = 3;
function widestVariance(value: number, most: number): number {
  return value > 0 ? Math.max((value * (most - value)) / WIDENED, 0) : 0;
}

/** What a site has in the end, or the most that it can have had. */
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
 * A site that is not named is assumed to have had the same fraction of its final figures as all such sites together.
 * That is an estimate, even if everything else is exact. Two witnesses say that it allocated, and one of them stays if
 * it holds anything: without, it would count as empty.
 */
function guessedThen({ then, first }: Work, site: number, most: Whole, share: Share): void {
  const gone = share.calls - share.objects;
  const freed = share.allocated - share.bytes;
  const madeAny = share.calls > 0 || share.allocated > 0;
  const holdsAny = share.objects > 0 || share.bytes > 0;
  const freedAny = gone > 0 || freed > 0;
  const row = first + site;
  writeGuess(then.allocated, row, share.calls, share.allocated, most, madeAny ? 2 : 0);
  writeGuess(then.freed, row, gone, freed, most, freedAny ? (holdsAny ? 1 : 2) : 0);
}

function wholeOf(allocated: Amount, site: number, to: Whole): void {
  to.calls = allocated.exactObjects[site] + allocated.objects[site];
  to.bytes = allocated.exactSpace[site] + allocated.space[site];
}

/** Rounds to the nearest whole number, and carries the remainder over to the next site. */
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

/** Writes the sites that the snapshot does not name. */
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

/** The rows of a sorted column that have this value: [first, end). */
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

/** Writes the sites that the snapshot names. Returns 1 for each of them. */
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

/** Writes the final amounts, except those that are unknown for a time interval. */
function writeEnd({ now, then, first }: Work): void {
  copyAmount(now.allocated, then.allocated, first);
  copyAmount(now.freed, then.freed, first);
  then.skewObjects.set(now.skewObjects, first);
  then.skewSpace.set(now.skewSpace, first);
  then.hiddenObjects.set(now.hiddenObjects, first);
  then.hiddenSpace.set(now.hiddenSpace, first);
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
 * Amounts of all sites at `since`, followed by those at `until`. Sites without a share carry fractions of a block over
 * to each other: if `included` is given, only among included sites (1), and those of the others stay 0.
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
