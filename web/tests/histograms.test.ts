// SPDX-License-Identifier: MIT
// histograms.test.ts - sizes, lifetimes and ages: sums, quantiles, bytes by size, slack of allocators,
// and when the live blocks of a leak were made.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Profile } from "../src/data/profile";
import { wholeDataset } from "../src/model/figures/dataset";
import {
  ageScale,
  AGE_BUCKETS,
  bucketRange,
  bytesBySize,
  extremesOf,
  lifeLabel,
  lifeScale,
  LIFE_BUCKETS,
  meanAdded,
  quantile,
  sizeLabel,
  sizeQuantile,
  sizeScale,
  sizingOf,
  SIZE_BUCKETS,
  sumHistogram,
  sumOf,
  sumResizing,
  survivorHeights,
  survivorsAt,
} from "../src/model/tables/histograms";
import { buildProfile, type BuiltSite } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN } from "./lib/given";

/** A profile with the smallest and largest size of each site. */
function made(sites: (BuiltSite & { smallest: number; largest: number })[], allocator = ""): Profile {
  const profile = buildProfile({ sites, functions: { malloc: { module: allocator || "/app/program" } } });
  profile.sites.smallest = Float64Array.from(sites, (site) => site.smallest);
  profile.sites.largest = Float64Array.from(sites, (site) => site.largest);
  const { process, modules } = profile.header;
  if (allocator) process.allocator = modules.findIndex((module) => module.path === allocator);
  return profile;
}

const TWO = () =>
  made(
    [
      { stack: ["main", "malloc"], calls: 10, bytes: 200, sizes: { 1: 10 }, smallest: 20, largest: 20 },
      { stack: ["main", "grow", "malloc"], calls: 4, bytes: 400, sizes: { 2: 2, 4: 2 }, smallest: 40, largest: 160 },
    ],
    "/lib/libc.so.6",
  );

describe("histograms", () => {
  test("are sums over the chosen sites", () => {
    const { sizes } = TWO().sites;
    assert.deepEqual([...sumHistogram(sizes, null, SIZE_BUCKETS)].slice(0, 5), [0, 10, 2, 0, 2]);
    assert.deepEqual([...sumHistogram(sizes, Uint8Array.of(0, 1), SIZE_BUCKETS)].slice(0, 5), [0, 0, 2, 0, 2]);
    assert.deepEqual(bucketRange(sumHistogram(sizes, null, SIZE_BUCKETS)), { first: 1, last: 4 });
    assert.equal(bucketRange([0, 0]), null);
  });

  test("quantiles are interpolated within their bucket", () => {
    assert.equal(quantile([0, 10], [0, 16], 0.5), 24);
    assert.equal(quantile([10, 10, 0], [0, 16, 32], 0.75), 24);
    assert.equal(quantile([], [], 0.5), 0);
  });

  test("quantiles of sizes are interpolated only where sites do not know their sizes", () => {
    const { sites } = TWO();
    assert.deepEqual(extremesOf(sites, null), { smallest: 20, largest: 160 });
    assert.deepEqual(sizeQuantile(sites, null, 0.5), { bytes: 20, exact: true });
    assert.deepEqual(sizeQuantile(sites, null, 10.5 / 14), { bytes: 45, exact: false }); // a quarter of 40 to 63
    assert.deepEqual(sizeQuantile(sites, Uint8Array.of(0, 1), 0.99), { bytes: 160, exact: false }); // of 128 to 160
    assert.deepEqual(sizeQuantile(sites, Uint8Array.of(0, 0), 0.5), { bytes: 0, exact: false });
  });

  test("labels are those of reports", () => {
    assert.equal(sizeLabel(0), "up to 15 B");
    assert.equal(sizeLabel(1), "16 to 31 B");
    assert.equal(sizeLabel(6), "512 to 1,023 B");
    assert.equal(sizeLabel(7), "1.0 to 2.0 KiB");
    assert.equal(sizeLabel(SIZE_BUCKETS - 1), "16.0 MiB and more");
    const { header } = TWO();
    assert.equal(lifeLabel(header, 3), "4 to 8 units");
    header.scales.unit_s = 1e-9;
    assert.equal(lifeLabel(header, 0), "below 1 ns");
    assert.equal(lifeScale(header)[11], 1024e-9);
  });

  test("empty age classes are omitted, and the others keep their numbers", () => {
    const { header } = TWO();
    header.scales.ages_until_s = [0, 1, 1, 3];
    assert.deepEqual(ageScale(header), [
      { bucket: 1, since: 0, until: 1 },
      { bucket: 3, since: 1, until: 3 },
    ]);
  });
});

describe("bytes by size", () => {
  test("are exact if a site's sizes are in one bucket, and add up to the allocated bytes", () => {
    const profile = TWO();
    const { bytes, least, most } = bytesBySize(profile, null, wholeDataset(profile).values("allocated"));
    assert.equal(bytes[1], 200);
    assert.equal(sumOf(bytes), 600);
    for (let i = 0; i < SIZE_BUCKETS; i++) assert.ok(least[i] <= bytes[i] && bytes[i] <= most[i]);
    assert.equal(least[2], 80);
    assert.equal(most[4], 320);
  });

  test("stay within their bounds even if samples disagree", () => {
    const profile = TWO();
    const { bytes, most } = bytesBySize(profile, null, Float64Array.of(1e9, 1e9));
    assert.deepEqual([...bytes], [...most]);
  });
});

describe("bytes that allocators add", () => {
  test("follow the rule of the library that has malloc", () => {
    assert.equal(sizingOf(TWO())?.name, "glibc");
    const site = { stack: ["malloc"], calls: 1, bytes: 8, smallest: 8, largest: 8 };
    assert.equal(sizingOf(made([site], "/usr/lib/libjemalloc.so.2"))?.name, "jemalloc");
    assert.equal(sizingOf(made([site], "/app/myalloc.so")), null);
    assert.equal(sizingOf(buildProfile({ sites: [] })), null);
  });

  test("by glibc's rule: 8 bytes more, in steps of 16, at least 32", () => {
    const glibc = sizingOf(TWO());
    assert.ok(glibc);
    assert.deepEqual([0, 24, 25, 40, 41, 1000].map(glibc.taken), [32, 32, 48, 48, 64, 1008]);
    assert.equal(meanAdded(glibc, 20, 20), 12);
    assert.equal(meanAdded(glibc, 24, 25), (8 + 23) / 2);
    assert.equal(meanAdded(glibc, 70000, 70000), 0);
  });

  test("are summed over calls", () => {
    const profile = TWO();
    const { added } = bytesBySize(profile, Uint8Array.of(1, 0), wholeDataset(profile).values("allocated"));
    assert.equal(sumOf(added), 120);
  });
});

describe("histograms of real profiles", { skip: NOTHING_GIVEN }, () => {
  const near = (one: number, other: number) => Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(other));
  const profiles = givenProfiles().filter((each) => !each.exported().extent.difference);
  for (const given of profiles)
    test(`${given.name}: sums over sites equal the totals of the export`, () => {
      const { sites, header } = given.open();
      const { totals } = given.exported();
      const same = (ours: Float64Array, theirs: number[]) =>
        ours.forEach((count, i) => assert.ok(near(count, theirs[i] ?? 0), `${i}: ${count} is not ${theirs[i]}`));
      same(sumHistogram(sites.sizes, null, SIZE_BUCKETS), totals.sizes);
      same(sumHistogram(sites.lives, null, LIFE_BUCKETS), totals.lifetimes);
      same(sumHistogram(sites.ages, null, AGE_BUCKETS), totals.ages);
      header.scales.sizes_from.forEach((from, i) => assert.equal(sizeScale()[i], from));
      header.scales.lifetimes_from_s.forEach((from, i) => assert.ok(near(lifeScale(header)[i], from)));
      assert.equal(extremesOf(sites, null)?.largest ?? null, totals.largest);
      assert.equal(extremesOf(sites, null)?.smallest ?? null, totals.smallest);
      const resizing = sumResizing(sites, null);
      assert.ok(near(resizing.calls, totals.reallocs.calls) && near(resizing.movedBytes, totals.reallocs.moved_bytes));
      assert.ok(near(resizing.exitBlocks, totals.freed_at_exit.blocks));
    });

  for (const given of profiles.filter((each) => each.exported().sampling.exact))
    test(`${given.name}: bytes by size add up to the allocated bytes`, () => {
      const profile = given.open();
      const allocated = wholeDataset(profile).values("allocated");
      const { bytes } = bytesBySize(profile, null, allocated);
      const { sizes } = profile.sites;
      const known = new Set(sizes.site);
      let sum = 0;
      for (const site of known) sum += allocated[site];
      assert.ok(near(sumOf(bytes), sum), `${sumOf(bytes)} is not ${sum}`);
    });
});

const live = { blocks: 1, bytes: 1 };

test("a leak counts the blocks of all stacks that look like its own, and of no others", () => {
  const profile = buildProfile({
    sites: [
      { stack: ["main", "f f.c:1", "malloc"], calls: 9, bytes: 9, live, ages: { 0: 3, 2: 1 } },
      { stack: ["main", "f f.c:1", "malloc"], calls: 9, bytes: 9, live, ages: { 2: 4 }, thread: "other" },
      { stack: ["main", "f f.c:2", "malloc"], calls: 9, bytes: 9, live, ages: { 1: 7 } },
    ],
  });
  const { node } = profile.sites;
  const [f1, f2] = survivorsAt(profile, [node[0], node[2]]);
  assert.deepEqual(Array.from(f1.subarray(0, 4)), [3, 0, 5, 0]);
  assert.deepEqual(Array.from(f2.subarray(0, 4)), [0, 7, 0, 0]);
});

test("bars are as high as in reports: 8 for the largest count, at least 1 for any block", () => {
  assert.deepEqual(survivorHeights([100, 50, 1, 0], [0, 1, 2, 3]), [8, 4, 1, 0]);
  assert.deepEqual(survivorHeights([0, 0], [0, 1]), [0, 0]);
});
