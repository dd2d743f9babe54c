// SPDX-License-Identifier: MIT
// colours.test.ts - a module has the same colour in all views.

import assert from "node:assert/strict";
import { test } from "node:test";
import { wholeDataset } from "../src/model/figures/dataset";
import {
  classesOf,
  findNoise,
  legendOf,
  makePainter,
  packageName,
  SCHEMES,
  slotOf,
  SLOTS,
  slotsOfModules,
} from "../src/model/flame/colours";
import type { Metric } from "../src/model/figures/metric";
import { makeTree } from "../src/model/flame/tree";
import { buildProfile } from "./lib/build";

/** Two names whose hashes choose the same colour. */
function rivals(): [string, string] {
  const names = Array.from({ length: 2 * SLOTS }, (_, i) => `lib${i}.so`);
  for (const a of names) for (const b of names) if (a < b && slotOf(a) === slotOf(b)) return [a, b];
  throw new Error("no two names collide");
}

test("the colour of a module does not change with the metric", () => {
  const [first, second] = rivals();
  const profile = buildProfile({
    sites: [
      { stack: ["f"], calls: 1, bytes: 10 },
      { stack: ["g"], calls: 1, bytes: 10, live: { blocks: 1, bytes: 10 } },
    ],
    functions: { f: { module: `/lib/${first}` }, g: { module: `/lib/${second}` } },
  });
  const dataset = wholeDataset(profile);
  const included = new Uint8Array(dataset.count).fill(1);
  const slotIn = (metric: Metric) => {
    const subject = { dataset, included, values: dataset.values(metric), metric };
    const tree = makeTree(subject, { by: "stack", inverted: false, frames: "usual" });
    const classes = classesOf(profile, tree, "module", subject);
    return classes.slots[classes.names.indexOf(second)];
  };
  assert.equal(slotIn("live"), slotIn("calls"));
  assert.equal(slotIn("live"), slotsOfModules(profile).get(second));
});

test("by language, boxes have the colour of their language, native code none, and the legend the largest first", () => {
  const profile = buildProfile({
    sites: [
      { stack: ["main", "handle", "copy"], calls: 1, bytes: 100 },
      { stack: ["main", "run"], calls: 1, bytes: 30 },
    ],
    functions: { handle: { language: 1 }, run: { language: 2 } },
  });
  const dataset = wholeDataset(profile);
  const included = new Uint8Array(dataset.count).fill(1);
  const subject = { dataset, included, values: dataset.values("allocated"), metric: "allocated" as const };
  const tree = makeTree(subject, { by: "stack", inverted: false, frames: "usual" });
  const classes = classesOf(profile, tree, "language", subject);
  const fill = makePainter(profile, tree, classes, SCHEMES.light, () => false);
  const box = (name: string) =>
    Array.from({ length: tree.count }, (_, i) => i).find((i) => profile.functionName(tree.key[i]) === name) ?? -1;
  const colours = ["main", "handle", "run"].map((name) => fill(box(name)));
  assert.equal(new Set(colours).size, 3);
  assert.equal(fill(box("copy")), fill(box("main")));
  const { rows } = legendOf(profile, tree, classes, 7);
  assert.deepEqual(rows.map(({ name }) => name), ["native", "Python", "JavaScript"]);
  assert.equal(rows[0].slot, null);
});

test("the package of a name is its namespace, whatever precedes it, and that of a lambda its directory", () => {
  const full = "void std::basic_string<char>::_M_construct<char const*>(char const*)";
  assert.equal(packageName(["std::string::_M_construct<char const*>", full], "bits/basic_string.tcc", "app"), "std");
  assert.equal(packageName(["…::shared_ptr<int>", "std::shared_ptr<int>::shared_ptr(int*)"], "bits/p.h", "app"), "std");
  assert.equal(packageName(["…::swap<int>", "void std::swap<int>(int&, int&)"], "bits/move.h", "app"), "std");
  const lambda = ["main::{lambda}::operator()", "main::{lambda(int)#1}::operator()(int)"];
  assert.equal(packageName(lambda, "src/m.cpp", "app"), "src");
});

test("in a difference, a box that changed by no more than its error is noise, unless it was counted", () => {
  const change = (samples: number | undefined, before: number, after: number) => {
    const sites = [
      { stack: ["f"], calls: before / 100, bytes: before, before: true, ...(samples ? { samples } : {}) },
      { stack: ["f"], calls: after / 100, bytes: after, ...(samples ? { samples } : {}) },
    ];
    const dataset = wholeDataset(buildProfile({ sites, difference: true }));
    const values = dataset.values("allocated").map((value, i) => (i < dataset.base ? -value : value));
    const subject = { dataset, included: new Uint8Array(2).fill(1), values, metric: "allocated" as const };
    const tree = makeTree(subject, { by: "stack", inverted: false, frames: "usual" });
    return findNoise(dataset, "allocated", tree)(1);
  };
  assert.equal(change(100, 10000, 10500), true);
  assert.equal(change(100, 10000, 90000), false);
  assert.equal(change(undefined, 10000, 10500), false);
});
