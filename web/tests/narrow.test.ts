// SPDX-License-Identifier: MIT
// narrow.test.ts - which sites a selection includes, and keys of functions.

import assert from "node:assert/strict";
import { test } from "node:test";
import { wholeDataset } from "../src/model/figures/dataset";
import { includedSites, type Narrowing } from "../src/model/figures/narrow";
import { buildProfile } from "./lib/build";

const NOTHING: Narrowing = { tag: null, thread: null, focus: [], hide: [] };

const profile = buildProfile({
  sites: [
    { stack: ["main", "parse", "f"], calls: 1, bytes: 1 },
    { stack: ["main", "parse", "parse", "g"], calls: 1, bytes: 1 },
    { stack: ["main", "g"], calls: 1, bytes: 1 },
  ],
});

function keyOf(name: string): string {
  for (let i = 0; i < profile.functions.count; i++) if (profile.functionName(i) === name) return profile.functionKey(i);
  throw new Error(`there is no ${name}`);
}

function left(narrowing: Partial<Narrowing>): number[] {
  const included = includedSites(wholeDataset(profile), { ...NOTHING, ...narrowing });
  return Array.from(included.keys()).filter((site) => included[site]);
}

test("focus includes stacks that go through all of its functions, hide excludes stacks through any", () => {
  assert.deepEqual(left({}), [0, 1, 2]);
  assert.deepEqual(left({ focus: [keyOf("parse")] }), [0, 1]);
  assert.deepEqual(left({ focus: [keyOf("parse"), keyOf("g")] }), [1]);
  assert.deepEqual(left({ hide: [keyOf("parse")] }), [2]);
  assert.deepEqual(left({ focus: [keyOf("g")], hide: [keyOf("parse")] }), [2]);
});

test("no stack goes through an unknown function", () => {
  assert.deepEqual(left({ focus: ["nosuch"] }), []);
  assert.deepEqual(left({ focus: [keyOf("parse"), "nosuch"] }), []);
  assert.deepEqual(left({ hide: ["nosuch"] }), [0, 1, 2]);
});

test("a function that is named twice counts once", () => {
  const key = keyOf("parse");
  assert.deepEqual(left({ focus: [key, key] }), [0, 1]);
  assert.deepEqual(left({ hide: [key, key] }), [2]);
});

test("any number of functions can be named", () => {
  const names = Array.from({ length: 40 }, (_, i) => `nosuch${i}`);
  assert.deepEqual(left({ focus: [...names, keyOf("parse")] }), []);
  assert.deepEqual(left({ hide: [...names, keyOf("parse")] }), [2]);
});

test("functions of one name whose files look the same have keys of their own", () => {
  const alike = buildProfile({
    sites: [
      { stack: ["main", "f ./posix/glob.h:1"], calls: 1, bytes: 1 },
      { stack: ["main", "f ./glob.h:1"], calls: 1, bytes: 1 },
    ],
    functions: { f: { file: "glob.h" } },
  });
  const keys = Array.from({ length: alike.functions.count }, (_, i) => alike.functionKey(i));
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 3);
  keys.forEach((key, i) => assert.equal(alike.functionOfKey(key), i));
});
