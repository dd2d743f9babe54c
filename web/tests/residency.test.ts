// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ResidencyReading } from "../src/data/header";
import { fullestReading, residencyBands, sitesOf } from "../src/model/memory/residency";
import { buildProfile, type BuiltResident } from "./lib/build";

function reading(time_s: number, resident: number, swapped: number, untouched: number): ResidencyReading {
  return {
    time_s,
    exact: true,
    live_bytes: resident + swapped + untouched,
    resident_bytes: resident,
    swapped_bytes: swapped,
    untouched_bytes: untouched,
    live_error: 0,
    resident_error: 0,
    swapped_error: 0,
    untouched_error: 0,
  };
}

const READINGS = [reading(1, 10, 0, 30), reading(2, 60, 5, 35), reading(3, 20, 0, 0)];

function resident(at: number, site: number, bytes: number, untouched: number, error = 0): BuiltResident {
  return { reading: at, site, live: bytes, resident: bytes - untouched, swapped: 0, untouched, error };
}

const STACKS = [
  ["main", "fill a.c:1", "malloc"],
  ["start", "main", "fill a.c:1", "malloc"],
  ["main", "table b.c:7", "malloc"],
  ["main", "full c.c:3", "malloc"],
];

const PROFILE = buildProfile({
  sites: STACKS.map((stack) => ({ stack, calls: 1, bytes: 100 })),
  residents: [
    resident(0, 0, 50, 40),
    resident(1, 0, 60, 50, 3),
    resident(1, 1, 30, 20, 4),
    resident(1, 2, 100, 90),
    resident(1, 3, 400, 0),
  ],
  header: { residency: READINGS },
});

test("the bands end at what was live", () => {
  const bands = residencyBands(READINGS);
  assert.deepEqual(
    bands.map((band) => band.title),
    ["resident", "swapped out", "untouched"],
  );
  assert.deepEqual(bands[2].to, [40, 100, 20]);
  assert.deepEqual(bands[1].from, bands[0].to);
});

test("the reading with most live memory is shown first", () => {
  assert.equal(fullestReading(READINGS), 1);
});

test("sites are those of the reading, the least resident first, and none of which all is resident", () => {
  const sites = sitesOf(PROFILE, 1);
  assert.deepEqual(
    sites.map((site) => site.untouched.value),
    [90, 50, 20],
  );
  assert.deepEqual(
    sitesOf(PROFILE, 0).map((site) => [site.live.value, site.resident.value, site.untouched.value]),
    [[50, 10, 40]],
  );
  assert.deepEqual(sitesOf(PROFILE, 2), []);
});

test("stacks that look the same in a report are one site, and their errors add up as independent ones", () => {
  const twice = buildProfile({
    sites: [
      { stack: ["main", "fill a.c:1", "malloc"], calls: 1, bytes: 1 },
      { stack: ["main", "fill a.c:1", "calloc"], calls: 1, bytes: 1 },
    ],
    functions: { malloc: { role: 2 }, calloc: { role: 2 } },
    residents: [resident(0, 0, 60, 50, 3), resident(0, 1, 30, 20, 4)],
    header: { residency: READINGS },
  });
  const [site, ...others] = sitesOf(twice, 0);
  assert.deepEqual(others, []);
  assert.deepEqual(site.untouched, { value: 70, error: 5, low: 65, high: 75 });
  assert.equal(site.live.value, 90);
});
