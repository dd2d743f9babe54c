// SPDX-License-Identifier: MIT
// instant.test.ts - figures at earlier times: which times are known, and what named and unnamed sites had then.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "../src/data/header";
import { intervalDataset } from "../src/model/figures/dataset";
import { estimateSite } from "../src/model/figures/figures";
import { amountsAt, INSTANT_END, INSTANT_START, instantNear, instantSeconds } from "../src/model/figures/instant";
import { buildProfile } from "./lib/build";

function snapshotAt(time_s: number, others: Partial<Snapshot> = {}): Snapshot {
  const nothing = { live_bytes: 0, live_blocks: 0, left_out_bytes: 0, allocated_bytes: 0, calls: 0 };
  const none = { others_allocated: 0, others_calls: 0, others_bytes: 0, others_objects: 0 };
  return { time_s, ...nothing, ...none, unnamed_bytes: 0, unnamed_calls: 0, ...others };
}

/** A run of ten seconds with two heap compositions: one site has shares, three have none. */
const profile = buildProfile({
  sites: [
    { stack: ["main", "named"], calls: 100, bytes: 10000, live: { blocks: 10, bytes: 1000 } },
    { stack: ["main", "small"], calls: 3, bytes: 30 },
    { stack: ["main", "smaller"], calls: 3, bytes: 30 },
    { stack: ["main", "smallest"], calls: 2, bytes: 20 },
  ],
  snapshots: [
    snapshotAt(2, {
      ...{ others_calls: 0.5, others_allocated: 0.5, others_objects: 0.5, others_bytes: 0.5 },
      ...{ unnamed_calls: 4, unnamed_bytes: 40 },
    }),
    snapshotAt(6),
  ],
  shares: [
    { snapshot: 0, site: 0, calls: 40, allocated: 4000, blocks: 30, bytes: 3000 },
    { snapshot: 1, site: 0, calls: 80, allocated: 8000, blocks: 20, bytes: 2000 },
  ],
});
const SITES = 4;

test("the nearest known time is used, which may be the start or the end", () => {
  const at = (seconds: number) => instantNear(profile, seconds);
  assert.deepEqual([0, 0.9].map(at), [INSTANT_START, INSTANT_START]);
  assert.deepEqual([1.1, 3.9, 4.1, 7.9].map(at), [0, 0, 1, 1]);
  assert.deepEqual([8.1, 1e9].map(at), [INSTANT_END, INSTANT_END]);
  const known = [INSTANT_START, 0, 1, INSTANT_END];
  assert.deepEqual(known.map((instant) => instantSeconds(profile, instant)), [0, 2, 6, 10]);
});

test("a site with a share has the figures of its share", () => {
  const { amounts } = amountsAt(profile, 0, 1);
  const then = estimateSite(amounts, 0);
  assert.deepEqual(then.alloc_objects, { value: 40, error: 0, low: 40, high: 40 });
  assert.deepEqual(then.inuse_space, { value: 3000, error: 0, low: 3000, high: 3000 });
  const later = estimateSite(amounts, SITES);
  assert.deepEqual([later.alloc_objects.value, later.inuse_objects.value], [80, 20]);
});

test("sites without a share have a fraction of their final figures, in whole numbers that add up", () => {
  const { amounts, guessed } = amountsAt(profile, 0, 1);
  const { objects, space } = amounts.allocated;
  assert.ok(guessed);
  assert.deepEqual([...objects.subarray(1, SITES)], [2, 1, 1]);
  assert.equal(space[1] + space[2] + space[3], 40);
  const { alloc_objects: guess } = estimateSite(amounts, 1);
  assert.ok(guess.error > 0, "a guess has an error");
  assert.deepEqual([...objects.subarray(SITES + 1)], [0, 0, 0]);
});

test("figures are 0 at the start, and the final ones at the end", () => {
  const { amounts, guessed } = amountsAt(profile, INSTANT_START, INSTANT_END);
  assert.ok(!guessed);
  for (let site = 0; site < SITES; site++) {
    assert.equal(estimateSite(amounts, site).alloc_space.high, 0);
    const whole = estimateSite(profile.sites.amounts, site);
    const end = estimateSite(amounts, SITES + site);
    for (const key of ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"] as const)
      assert.deepEqual(end[key], whole[key]);
  }
});

test("an interval has the sites at its start first, then those at its end", () => {
  const dataset = intervalDataset(profile, 2.1, 5);
  assert.deepEqual([dataset.since, dataset.until, dataset.base, dataset.count], [2, 6, SITES, 2 * SITES]);
  assert.deepEqual([dataset.values("allocated")[0], dataset.values("allocated")[SITES]], [4000, 8000]);
  assert.equal(dataset.site(SITES + 2), 2);
});

test("the share of a site is taken from its counted calls first, then from its sampled ones", () => {
  const mixed = buildProfile({
    sites: [{ stack: ["main"], calls: 100, bytes: 1000, samples: 10 }],
    snapshots: [snapshotAt(5)],
    shares: [{ snapshot: 0, site: 0, calls: 60, allocated: 600, blocks: 60, bytes: 600 }],
  });
  mixed.sites.amounts.allocated.exactObjects[0] = 50;
  mixed.sites.amounts.allocated.exactSpace[0] = 500;
  const { allocated } = amountsAt(mixed, 0, INSTANT_END).amounts;
  assert.deepEqual([allocated.exactObjects[0], allocated.objects[0], allocated.samples[0]], [50, 10, 1]);
});

test("figures of a hundred thousand sites at an earlier time take less than 500 ms of CPU time", () => {
  const sites = Array.from({ length: 100000 }, () => ({ stack: ["main"], calls: 3, bytes: 64 }));
  const large = buildProfile({ sites, snapshots: [snapshotAt(5, { others_calls: 0.4, others_allocated: 0.4 })] });
  amountsAt(large, 0, INSTANT_END);
  const begin = process.cpuUsage(); /* CPU time, which does not depend on other processes */
  amountsAt(large, 0, INSTANT_END);
  const took = process.cpuUsage(begin).user / 1000;
  assert.ok(took < 500, `${took} ms; about 20 are usual`);
});

test("a site without a share has no more than all such sites together, however large its final figures are", () => {
  const late = buildProfile({
    sites: [
      { stack: ["main", "named"], calls: 100, bytes: 10000 },
      { stack: ["main", "later"], calls: 1e9, bytes: 1e11 },
    ],
    snapshots: [snapshotAt(2, { others_calls: 1e-8, others_allocated: 1e-8, unnamed_calls: 10, unnamed_bytes: 1000 })],
    shares: [{ snapshot: 0, site: 0, calls: 40, allocated: 4000, blocks: 0, bytes: 0 }],
  });
  const { amounts } = amountsAt(late, 0, INSTANT_END);
  const then = estimateSite(amounts, 1);
  assert.deepEqual([then.alloc_objects.value, then.alloc_space.value], [10, 1000]);
  assert.ok(then.alloc_objects.high < 50 && then.alloc_space.high < 5000, JSON.stringify(then));
});
