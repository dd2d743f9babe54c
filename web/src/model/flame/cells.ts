// SPDX-License-Identifier: MIT
// cells.ts - the tree of boxes, built on demand: a cell is divided by the first key of its paths, a part of it by the
// second, and so on.
//
// Only large cells are divided, until the user zooms in: a hundred thousand stacks have millions of boxes, of which a
// screen shows some thousands. The figures of a cell are known before it is divided, and do not change then.
//
// Invariants: a cell comes after its parent; the children of a cell are consecutive, the largest first; its paths are
// order[begin] .. order[end - 1], of which those without a child come first, then those of its children in their order.

import type { Paths } from "./paths";

/** By path. `size` is the width of a box; its value is `after` - `before`. */
export interface Weights {
  size: Float64Array;
  /** null: this is no comparison, and `after` is the same as `size`. */
  before: Float64Array | null;
  after: Float64Array;
}

const CLOSED = 0xffffffff;

export interface Cells {
  paths: Paths;
  weights: Weights;
  order: Uint32Array;
  count: number;
  parent: Uint32Array;
  key: Int32Array;
  depth: Uint16Array;
  size: Float64Array;
  before: Float64Array;
  after: Float64Array;
  begin: Uint32Array;
  end: Uint32Array;
  /** CLOSED: the cell has not been divided. */
  firstChild: Uint32Array;
  children: Uint32Array;
  scratch: Scratch;
}

/** Buffers for dividing, allocated once. Parts of a cell are numbered from 1; part 0 is the paths that end there. */
interface Scratch {
  partOfKey: Uint32Array;
  partOfPath: Uint32Array;
  moved: Uint32Array;
  key: Int32Array;
  length: Uint32Array;
  size: Float64Array;
  before: Float64Array;
  after: Float64Array;
  next: Uint32Array;
}

function newScratch(paths: Paths, most: number): Scratch {
  const parts = Math.min(most, paths.limit) + 1;
  return {
    partOfKey: new Uint32Array(paths.limit),
    partOfPath: new Uint32Array(most),
    moved: new Uint32Array(most),
    key: new Int32Array(parts),
    length: new Uint32Array(parts),
    size: new Float64Array(parts),
    before: new Float64Array(parts),
    after: new Float64Array(parts),
    next: new Uint32Array(parts),
  };
}

/** A single cell with all paths in `order`. */
export function newCells(paths: Paths, weights: Weights, order: Uint32Array, rootKey: number): Cells {
  const room = 4096;
  const cells: Cells = {
    paths,
    weights,
    order,
    count: 1,
    parent: new Uint32Array(room),
    key: new Int32Array(room),
    depth: new Uint16Array(room),
    size: new Float64Array(room),
    before: new Float64Array(room),
    after: new Float64Array(room),
    begin: new Uint32Array(room),
    end: new Uint32Array(room),
    firstChild: new Uint32Array(room),
    children: new Uint32Array(room),
    scratch: newScratch(paths, order.length),
  };
  cells.key[0] = rootKey;
  cells.end[0] = order.length;
  cells.firstChild[0] = CLOSED;
  for (const path of order) {
    cells.size[0] += weights.size[path];
    cells.before[0] += weights.before?.[path] ?? 0;
    cells.after[0] += weights.after[path];
  }
  return cells;
}

type Column = Uint32Array | Int32Array | Uint16Array | Float64Array;

function widen<T extends Column>(column: T, wider: T): T {
  wider.set(column);
  return wider;
}

function makeRoom(cells: Cells, count: number): void {
  if (count <= cells.parent.length) return;
  const room = Math.max(count, 2 * cells.parent.length);
  cells.parent = widen(cells.parent, new Uint32Array(room));
  cells.key = widen(cells.key, new Int32Array(room));
  cells.depth = widen(cells.depth, new Uint16Array(room));
  cells.size = widen(cells.size, new Float64Array(room));
  cells.before = widen(cells.before, new Float64Array(room));
  cells.after = widen(cells.after, new Float64Array(room));
  cells.begin = widen(cells.begin, new Uint32Array(room));
  cells.end = widen(cells.end, new Uint32Array(room));
  cells.firstChild = widen(cells.firstChild, new Uint32Array(room));
  cells.children = widen(cells.children, new Uint32Array(room));
}

/** Numbers the parts of a cell and sums their weights. Returns the number of parts, without part 0. */
function findParts({ paths, weights, order, depth, begin, end, scratch }: Cells, cell: number): number {
  const { partOfKey, partOfPath, key, length, size, before, after } = scratch;
  const level = depth[cell];
  const first = begin[cell];
  let parts = 0;
  length[0] = 0;
  for (let i = first; i < end[cell]; i++) {
    const path = order[i];
    const at = paths.begin[path] + level;
    let part = 0;
    if (at < paths.begin[path + 1]) {
      const each = paths.keys[at];
      part = partOfKey[each];
      if (part === 0) {
        part = partOfKey[each] = ++parts;
        key[part] = each;
        length[part] = size[part] = before[part] = after[part] = 0;
      }
      size[part] += weights.size[path];
      if (weights.before !== null) {
        before[part] += weights.before[path];
        after[part] += weights.after[path];
      }
    }
    length[part]++;
    partOfPath[i - first] = part;
  }
  for (let part = 1; part <= parts; part++) partOfKey[key[part]] = 0;
  return parts;
}

/** Parts that have a size, the largest first. */
function rankParts({ size, key }: Scratch, parts: number): number[] {
  const ranked: number[] = [];
  for (let part = 1; part <= parts; part++) if (size[part] > 0) ranked.push(part);
  return ranked.length > 1 ? ranked.sort((a, b) => size[b] - size[a] || key[a] - key[b]) : ranked;
}

/** Sorts the paths of a cell by part; those of part 0 and of parts of size 0 come first. */
function sortPaths({ order, begin, end, scratch }: Cells, cell: number, ranked: number[], parts: number): void {
  const { partOfPath, moved, length, next } = scratch;
  const first = begin[cell];
  const count = end[cell] - first;
  let at = count;
  for (let i = ranked.length - 1; i >= 0; i--) next[ranked[i]] = at -= length[ranked[i]];
  if (parts === 1 && at === 0) return;
  let own = 0;
  for (let i = 0; i < count; i++) {
    const part = partOfPath[i];
    moved[part !== 0 && scratch.size[part] > 0 ? next[part]++ : own++] = order[first + i];
  }
  order.set(moved.subarray(0, count), first);
}

function addChildren(cells: Cells, cell: number, ranked: number[]): void {
  const { scratch } = cells;
  let at = cells.end[cell];
  for (const part of ranked) at -= scratch.length[part];
  makeRoom(cells, cells.count + ranked.length);
  cells.firstChild[cell] = cells.count;
  cells.children[cell] = ranked.length;
  for (const part of ranked) {
    const child = cells.count++;
    cells.parent[child] = cell;
    cells.key[child] = scratch.key[part];
    cells.depth[child] = cells.depth[cell] + 1;
    cells.size[child] = scratch.size[part];
    cells.before[child] = scratch.before[part];
    cells.after[child] = cells.weights.before === null ? scratch.size[part] : scratch.after[part];
    cells.begin[child] = at;
    cells.end[child] = at += scratch.length[part];
    cells.firstChild[child] = CLOSED;
  }
}

function divide(cells: Cells, cell: number): void {
  const parts = findParts(cells, cell);
  const ranked = rankParts(cells.scratch, parts);
  sortPaths(cells, cell, ranked, parts);
  addChildren(cells, cell, ranked);
}

/** Divides a cell, and the cells in it that have at least the size `least`. */
export function grow(cells: Cells, from: number, least: number): void {
  const waiting = [from];
  for (let i = 0; i < waiting.length; i++) {
    const cell = waiting[i];
    if (cells.firstChild[cell] === CLOSED) divide(cells, cell);
    const first = cells.firstChild[cell];
    const end = first + cells.children[cell];
    for (let child = first; child < end && cells.size[child] >= least; child++) waiting.push(child);
  }
}

/** Whether a cell has not been divided, and would have children if it were. */
export function isClosed({ paths, weights, order, depth, begin, end, firstChild }: Cells, cell: number): boolean {
  if (firstChild[cell] !== CLOSED) return false;
  for (let i = begin[cell]; i < end[cell]; i++) {
    const path = order[i];
    if (weights.size[path] > 0 && paths.begin[path + 1] - paths.begin[path] > depth[cell]) return true;
  }
  return false;
}

/** All cells, level by level. */
export function listCells({ count, firstChild, children }: Cells): Uint32Array {
  const list = new Uint32Array(count);
  let length = 1;
  for (let i = 0; i < length; i++) {
    const first = firstChild[list[i]];
    if (first !== CLOSED) for (let child = 0; child < children[list[i]]; child++) list[length++] = first + child;
  }
  return list;
}
