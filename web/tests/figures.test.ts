// SPDX-License-Identifier: MIT
// figures.test.ts - sums over sites, and figures estimated from them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { MetricKey } from "../src/data/header";
import {
  addMany,
  addRange,
  addSites,
  addSums,
  estimateSite,
  estimateSums,
  newSums,
  siteValues,
} from "../src/model/figures/figures";
import { METRICS } from "../src/model/figures/metric";
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

test("all ways of adding sites give the same sums", () => {
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

test("marks select the sites that are added", () => {
  const marked = newSums();
  addRange(marked, amounts, 0, 4, Uint8Array.of(0, 1, 0, 1));
  const listed = newSums();
  addMany(listed, amounts, [1, 3]);
  assert.deepEqual(marked, listed);
});

test("a counted site has no error, a sampled site has one", () => {
  const counted = estimateSite(amounts, 0);
  assert.deepEqual(counted.alloc_space, { value: 1000, error: 0, low: 1000, high: 1000 });
  assert.equal(counted.inuse_objects.value, 4);
  assert.equal(counted.temp_objects.value, 2);
  const sampled = estimateSite(amounts, 1);
  assert.equal(sampled.inuse_space.value, 1600);
  assert.ok(sampled.inuse_space.error > 0 && sampled.inuse_space.low < 1600 && sampled.inuse_space.high > 1600);
});

test("a sampled site without a live sample may have live memory", () => {
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

test("after the switch to sampling, a counted site may have more allocations without a sample", () => {
  const before = estimateSite(amounts, 0).alloc_objects;
  const unseen = { ...amounts, hiddenObjects: Float64Array.of(300, 0, 0, 0) };
  const after = estimateSite(unseen, 0);
  assert.equal(after.alloc_objects.value, before.value);
  for (const key of ["alloc_objects", "inuse_objects", "peak_objects", "temp_objects"] as const)
    assert.equal(after[key].high, after[key].value + 300, key);
});

test("what several sites may hide is the largest of theirs", () => {
  const sums = newSums();
  addMany(sums, { ...amounts, hiddenObjects: Float64Array.of(300, 0, 200, 0) }, [0, 2]);
  const { alloc_objects: all } = estimateSums(sums);
  assert.equal(all.high, all.value + 300);
});

test("another moment that may have been the peak widens the figures of the peak, and no others", () => {
  const swing = { ...amounts, moreSpace: Float64Array.of(500, 0, 0, 0), lessSpace: Float64Array.of(7, 0, 0, 0) };
  const before = estimateSite(amounts, 0);
  const after = estimateSite(swing, 0);
  assert.equal(after.peak_space.high, before.peak_space.high + 500);
  assert.equal(after.peak_space.low, before.peak_space.low - 7);
  assert.deepEqual(after.inuse_space, before.inuse_space);
});

test("the values of sites equal those of their estimates", () => {
  for (const { key } of METRICS as readonly { key: MetricKey }[]) {
    const values = siteValues(amounts, key);
    for (const site of ALL) assert.equal(values[site], estimateSite(amounts, site)[key].value, `${key} of ${site}`);
  }
});
