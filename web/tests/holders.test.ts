// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Holder } from "../src/data/header";
import { heldTree, lineOf, wayTo } from "../src/model/held/holders";

function holder(kind: Holder["kind"], parent: number | null, bytes = 0, way: number | null = null): Holder {
  return { kind, name: kind === "root" ? "g_cache" : null, parent, way, node: null, blocks: bytes / 8, bytes };
}

const HOLDERS = [
  holder("root", null),
  holder("way", 0),
  holder("way", 1),
  holder("blocks", 0, 800, 1),
  holder("blocks", 3, 80, 2),
  holder("rest", 0, 8),
  holder("root", null),
];

test("a root is as large as all that is below it, and ways are no items", () => {
  const tree = heldTree(HOLDERS);
  assert.deepEqual([...tree.holder], [-1, 0, 3, 4, 5, 6]);
  assert.deepEqual([...tree.parent], [0, 0, 1, 2, 1, 0]);
  assert.deepEqual([...tree.bytes], [888, 888, 880, 80, 8, 0]);
  assert.deepEqual([...tree.self], [0, 0, 800, 80, 8, 0]);
  assert.deepEqual([...tree.blocks], [111, 111, 110, 10, 1, 0]);
});

test("a way begins at its root", () => {
  assert.deepEqual(wayTo(HOLDERS, 4), [0, 1, 2]);
  assert.deepEqual(wayTo(HOLDERS, 5), []);
  assert.deepEqual(lineOf(HOLDERS, 4), [0, 3, 4]);
});
