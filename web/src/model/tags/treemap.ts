// SPDX-License-Identifier: MIT
// treemap.ts - the boxes of a treemap: the largest ones of a tree. Items that are too small or too deep become one box,
// which says how many they are.
//
// Sizes are absolute values, so they are never negative, and a box is as large as its parts together.

import type { Dataset } from "../figures/dataset";

/** A tree by index; a parent comes before its children, and the first is the root. */
export interface BoxSource {
  parent: ArrayLike<number>;
  /** The value of each item without its children; signed. */
  self: ArrayLike<number>;
}

export interface Box {
  /** Index in the source. */
  item: number;
  /** "item": the item with all below it. "own": the item without its children. "more": `more` of its children. */
  kind: "item" | "own" | "more";
  more: number;
  size: number;
  /** Signed. */
  value: number;
  children: Box[];
}

export interface BoxLimits {
  /** The largest number of item boxes, and the smallest share of the whole that a box may have. */
  most: number;
  share: number;
  depth: number;
}

interface Measures {
  size: Float64Array;
  value: Float64Array;
  depth: Uint32Array;
  /** How many items are below it. */
  below: Uint32Array;
}

function measure(source: BoxSource): Measures {
  const count = source.parent.length;
  const size = Float64Array.from({ length: count }, (_, i) => Math.abs(source.self[i]));
  const value = Float64Array.from(source.self);
  const depth = new Uint32Array(count);
  const below = new Uint32Array(count);
  for (let i = 1; i < count; i++) depth[i] = depth[source.parent[i]] + 1;
  for (let i = count - 1; i > 0; i--) {
    size[source.parent[i]] += size[i];
    value[source.parent[i]] += value[i];
    below[source.parent[i]] += below[i] + 1;
  }
  return { size, value, depth, below };
}

/** A parent is at least as large as its children, and comes first if equal: so if a child is kept, its parent is. */
function keep(measures: Measures, limits: BoxLimits): Uint8Array {
  const { size, depth } = measures;
  const kept = new Uint8Array(size.length);
  const least = Math.max(size[0] * limits.share, Number.MIN_VALUE);
  const candidates: number[] = [];
  for (let i = 1; i < size.length; i++) if (size[i] >= least && depth[i] <= limits.depth) candidates.push(i);
  candidates.sort((a, b) => size[b] - size[a] || a - b);
  kept[0] = 1;
  for (const item of candidates.slice(0, limits.most)) kept[item] = 1;
  return kept;
}

function newBox(item: number, kind: Box["kind"], size: number, value: number): Box {
  return { item, kind, more: 0, size, value, children: [] };
}

/** Adds children that were not kept to the last box of their parent, which says how many they are. */
function addMore(parent: Box, tags: number, size: number, value: number): void {
  let last = parent.children.at(-1);
  if (last?.kind !== "more") parent.children.push((last = newBox(parent.item, "more", 0, 0)));
  last.more += tags;
  last.size += size;
  last.value += value;
}

export function boxesOf(source: BoxSource, limits: BoxLimits): Box {
  const measures = measure(source);
  const { size, value, depth, below } = measures;
  const kept = keep(measures, limits);
  const boxes: (Box | undefined)[] = new Array<Box | undefined>(size.length);
  boxes[0] = newBox(0, "item", size[0], value[0]);
  for (let i = 1; i < size.length; i++) {
    if (kept[i]) boxes[source.parent[i]]?.children.push((boxes[i] = newBox(i, "item", size[i], value[i])));
  }
  for (let i = 1; i < size.length; i++) {
    const parent = boxes[source.parent[i]];
    const counted = parent && depth[source.parent[i]] < limits.depth;
    if (counted && !boxes[i] && size[i] > 0) addMore(parent, below[i] + 1, size[i], value[i]);
  }
  for (let i = 0; i < size.length; i++) {
    const own = Math.abs(source.self[i]);
    if (boxes[i]?.children.length && own > 0) boxes[i]?.children.unshift(newBox(i, "own", own, source.self[i]));
  }
  return boxes[0];
}

// --- modules and their functions ---

export interface ModuleTree extends BoxSource {
  parent: Uint32Array;
  self: Float64Array;
  /** By index: the module, and the function, or -1 for modules and the root. */
  module: Int32Array;
  function: Int32Array;
}

/** Values by module and function: those of the innermost frame that is not an allocator or a wrapper of one. */
export function modulesOf(dataset: Dataset, values: Float64Array): ModuleTree {
  const { functions, places, nodes } = dataset.profile;
  const byFunction = new Float64Array(functions.count);
  for (let i = 0; i < dataset.count; i++) byFunction[places.function[nodes.place[dataset.inner[i]]]] += values[i];
  const modules = new Map<number, number>();
  const used: number[] = [];
  for (let f = 0; f < functions.count; f++) {
    if (byFunction[f] === 0) continue;
    used.push(f);
    if (!modules.has(functions.module[f])) modules.set(functions.module[f], 1 + modules.size);
  }
  const head = 1 + modules.size;
  const count = head + used.length;
  const tree: ModuleTree = {
    parent: new Uint32Array(count),
    self: new Float64Array(count),
    module: new Int32Array(count).fill(-1),
    function: new Int32Array(count).fill(-1),
  };
  for (const [module, index] of modules) tree.module[index] = module;
  used.forEach((f, i) => {
    tree.parent[head + i] = modules.get(functions.module[f]) ?? 0;
    tree.self[head + i] = byFunction[f];
    tree.module[head + i] = functions.module[f];
    tree.function[head + i] = f;
  });
  return tree;
}
