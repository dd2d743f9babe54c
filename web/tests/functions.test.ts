// SPDX-License-Identifier: MIT
// functions.test.ts - self and total of functions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Role } from "../src/data/profile";
import { wholeDataset } from "../src/model/figures/dataset";
import { makeFunctionRows, type FunctionRows } from "../src/model/tables/functions";
import { METRICS } from "../src/model/figures/metric";
import { buildProfile, type BuiltSite } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN } from "./lib/given";

const FUNCTIONS = { malloc: { role: Role.Allocator }, _start: { role: Role.Start } };

function build(sites: BuiltSite[], frames: "usual" | "all" = "usual", difference = false): FunctionRows {
  const dataset = wholeDataset(buildProfile({ sites, functions: FUNCTIONS, difference }));
  return makeFunctionRows(dataset, new Uint8Array(dataset.count).fill(1), frames);
}

/** By name: [self, total] in bytes. */
function bytes(rows: FunctionRows): Record<string, [number, number]> {
  const self = rows.self("allocated");
  const total = rows.total("allocated");
  return Object.fromEntries(
    Array.from(rows.index, (index, row) => [rows.dataset.profile.functionName(index), [self[row], total[row]]]),
  );
}

const TREE: BuiltSite[] = [
  { stack: ["_start", "main", "f", "malloc"], calls: 1, bytes: 10 },
  { stack: ["_start", "main", "f", "g", "malloc"], calls: 1, bytes: 5 },
  { stack: ["_start", "main", "malloc"], calls: 1, bytes: 1 },
];

test("self counts stacks with the function as innermost usual frame, total all stacks through it", () => {
  assert.deepEqual(bytes(build(TREE)), { main: [1, 16], f: [10, 15], g: [5, 5] });
});

test("with all frames, the allocator has everything as self", () => {
  const all = bytes(build(TREE, "all"));
  assert.deepEqual(all["malloc"], [16, 16]);
  assert.deepEqual(all["_start"], [0, 16]);
  assert.deepEqual(all["f"], [0, 15]);
});

test("among functions with equal figures, the program's own come first", () => {
  const functions = { ...FUNCTIONS, insert: { role: Role.Library }, grow: { role: Role.Library } };
  const sites = [{ stack: ["main", "f", "insert", "grow", "malloc"], calls: 1, bytes: 10 }];
  const dataset = wholeDataset(buildProfile({ sites, functions }));
  const { index } = makeFunctionRows(dataset, new Uint8Array(dataset.count).fill(1), "usual");
  assert.deepEqual(Array.from(index, dataset.profile.functionName), ["f", "main", "grow", "insert"]);
});

test("a stack with several frames of a function counts once", () => {
  const rows = build([
    { stack: ["main", "f", "g", "f", "f", "malloc"], calls: 1, bytes: 10 },
    { stack: ["main", "f", "g", "malloc"], calls: 1, bytes: 1 },
  ]);
  assert.deepEqual(bytes(rows), { main: [0, 11], f: [10, 11], g: [1, 11] });
});

test("sites of one stack in several threads are added up", () => {
  const rows = build([
    { stack: ["main", "f", "malloc"], thread: "a", calls: 1, bytes: 10 },
    { stack: ["main", "f", "malloc"], thread: "b", calls: 1, bytes: 5 },
  ]);
  assert.deepEqual(bytes(rows), { main: [0, 15], f: [15, 15] });
});

test("in a difference, figures are changes", () => {
  const rows = build(
    [
      { stack: ["main", "f", "malloc"], calls: 1, bytes: 30, before: true },
      { stack: ["main", "g", "malloc"], calls: 1, bytes: 10 },
    ],
    "usual",
    true,
  );
  assert.deepEqual(bytes(rows), { main: [0, -20], f: [-30, -30], g: [10, 10] });
  assert.equal(rows.totalEstimates(Array.from(rows.total("allocated")).indexOf(-20)).alloc_space.value, -20);
});

test("figures of a sampled profile have errors, which are smaller with more samples", () => {
  const rows = build([
    { stack: ["main", "f", "malloc"], calls: 100, bytes: 1000, samples: 100 },
    { stack: ["main", "g", "malloc"], calls: 100, bytes: 1000, samples: 4 },
  ]);
  const [f, g] = ["f", "g"].map((name) =>
    rows.selfEstimates(Array.from(rows.index).findIndex((index) => rows.dataset.profile.functionName(index) === name)),
  );
  assert.ok(f.alloc_space.error > 0 && f.alloc_space.error < g.alloc_space.error);
});

test("self of all functions adds up to all sites, and no total exceeds that", { skip: NOTHING_GIVEN }, () => {
  for (const given of givenProfiles())
    for (const frames of ["usual", "all"] as const) {
      const dataset = wholeDataset(given.open());
      const rows = makeFunctionRows(dataset, new Uint8Array(dataset.count).fill(1), frames);
      for (const { metric } of METRICS) {
        const whole = dataset.values(metric).reduce((sum, value) => sum + value, 0);
        const self = rows.self(metric).reduce((sum, value) => sum + value, 0);
        assert.ok(Math.abs(self - whole) <= 1e-9 * whole, `${given.name}, ${metric}: ${self} is not ${whole}`);
        const most = rows.total(metric).reduce((sum, value) => Math.max(sum, value), 0);
        assert.ok(most <= whole * (1 + 1e-9), `${given.name}, ${metric}: ${most} is more than ${whole}`);
        rows.total(metric).forEach((total, row) => assert.ok(total >= rows.self(metric)[row] * (1 - 1e-9), given.name));
      }
    }
});
