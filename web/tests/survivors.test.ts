// SPDX-License-Identifier: MIT
// survivors.test.ts - when the blocks were made that are left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { survivorHeights, survivorsAt } from "../src/model/survivors";
import { buildProfile } from "./lib/build";

const live = { blocks: 1, bytes: 1 };

test("blocks of all stacks that look like the leak's are counted, and of no others", () => {
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

test("bars are as high as in reports: 8 for the most, at least 1 for any", () => {
  assert.deepEqual(survivorHeights([100, 50, 1, 0], [0, 1, 2, 3]), [8, 4, 1, 0]);
  assert.deepEqual(survivorHeights([0, 0], [0, 1]), [0, 0]);
});
