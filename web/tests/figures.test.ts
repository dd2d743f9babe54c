// SPDX-License-Identifier: MIT
// figures.test.ts - sites added up: one by one, many at once, and by marks, it is the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricKey } from "../src/data/header";
import { addMany, addRange, addSites, addSums, newSums } from "../src/model/figures";
import { estimateSite, estimateSums, siteValues } from "../src/model/figures";
import { METRICS } from "../src/model/metric";
import { buildProfile } from "./lib/build";

const profile = buildProfile({
  sites: [
    { stack: ["main", "a"], calls: 10, bytes: 1000, live: { blocks: 4, bytes: 400 }, temporary: 2 },
    { stack: ["main", "b"], calls: 500, bytes: 8000, samples: 20, live: { blocks: 100, bytes: 1600 } },
    { stack: ["main", "c"], calls: 7, bytes: 7, peak: { blocks: 3, bytes: 3 } },
    { stack: ["main", "d"], calls: 90, bytes: 4096, samples: 3 },
  ],
});
const { amounts } = profile.sites;
const ALL = [0, 1, 2, 3];

test("sites add up to the same in every way of adding", () => {
  const one = newSums();
  for (const site of ALL) addSites(one, amounts, site);
  const many = newSums();
  addMany(many, amounts, ALL);
  const range = newSums();
  addRange(range, amounts, 0, ALL.length);
  const joined = newSums();
  for (const site of ALL) {
    const each = newSums();
    addSites(each, amounts, site);
    addSums(joined, each);
  }
  assert.deepEqual(many, one);
  assert.deepEqual(range, one);
  assert.deepEqual(joined, one);
});

test("marks choose", () => {
  const marked = newSums();
  addRange(marked, amounts, 0, 4, Uint8Array.of(0, 1, 0, 1));
  const listed = newSums();
  addMany(listed, amounts, [1, 3]);
  assert.deepEqual(marked, listed);
});

test("what was counted has no error, what was sampled has one", () => {
  const counted = estimateSite(amounts, 0);
  assert.deepEqual(counted.alloc_space, { value: 1000, error: 0, low: 1000, high: 1000 });
  assert.equal(counted.inuse_objects.value, 4);
  assert.equal(counted.temp_objects.value, 2);
  const sampled = estimateSite(amounts, 1);
  assert.equal(sampled.inuse_space.value, 1600);
  assert.ok(sampled.inuse_space.error > 0 && sampled.inuse_space.low < 1600 && sampled.inuse_space.high > 1600);
});

test("of a sampled site no sample of which is live, something may be", () => {
  const { inuse_space: live } = estimateSite(amounts, 3);
  assert.equal(live.value, 0);
  assert.ok(live.high > 0);
});

test("the error of a sum is less than the sum of errors", () => {
  const sums = newSums();
  addMany(sums, amounts, [1, 3]);
  const together = estimateSums(sums).alloc_space;
  const apart = estimateSite(amounts, 1).alloc_space.error + estimateSite(amounts, 3).alloc_space.error;
  assert.equal(together.value, 8000 + 4096);
  assert.ok(together.error < apart, `${together.error} < ${apart}`);
});

test("a counted site may have gone on unseen, once it is only sampled", () => {
  const before = estimateSite(amounts, 0).alloc_objects;
  const unseen = { ...amounts, unseenInterval: Float64Array.of(16400, 0, 0, 0) };
  const after = estimateSite(unseen, 0).alloc_objects;
  assert.equal(after.value, before.value);
  assert.ok(Math.abs(after.high - (10 + 2.9957 * 100)) < 0.1, `${after.high}`);
});

test("values of all sites are the values of their estimates", () => {
  for (const { key } of METRICS as readonly { key: MetricKey }[]) {
    const values = siteValues(amounts, key);
    for (const site of ALL) assert.equal(values[site], estimateSite(amounts, site)[key].value, `${key} of ${site}`);
  }
});
