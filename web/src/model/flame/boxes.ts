// SPDX-License-Identifier: MIT
// boxes.ts - finds the boxes of a tree that are visible in the zoomed part, on a given number of pixels.
//
// Boxes narrower than LEAST_PX are not descended into, so the work depends on pixels, not on the size of the tree.
// Children are sorted by size, so the narrow ones are all at the end; they become one "rest".

import type { Tree } from "./tree";

export const LEAST_PX = 0.5;

/** A range in units of size, as boxes lie side by side: that of the root is 0 to its size. */
export interface Extent {
  from: number;
  to: number;
}

/** Boxes level by level, with their pixel coordinates; they may begin and end outside of the window. */
export interface Visible {
  count: number;
  box: Int32Array;
  left: Float32Array;
  right: Float32Array;
  /** 1: not a box, but the rest: all siblings from this box to the last. */
  rest: Uint8Array;
}

export function newVisible(room = 4096): Visible {
  return {
    count: 0,
    box: new Int32Array(room),
    left: new Float32Array(room),
    right: new Float32Array(room),
    rest: new Uint8Array(room),
  };
}

function enlarge(visible: Visible): void {
  const { box, left, right, rest } = visible;
  const room = 2 * box.length;
  visible.box = new Int32Array(room);
  visible.left = new Float32Array(room);
  visible.right = new Float32Array(room);
  visible.rest = new Uint8Array(room);
  visible.box.set(box);
  visible.left.set(left);
  visible.right.set(right);
  visible.rest.set(rest);
}

function add(visible: Visible, box: number, left: number, right: number, rest: 0 | 1): void {
  if (visible.count === visible.box.length) enlarge(visible);
  const at = visible.count++;
  visible.box[at] = box;
  visible.left[at] = left;
  visible.right[at] = right;
  visible.rest[at] = rest;
}

/** The first child of a box that ends after `where`. */
function firstBehind(tree: Tree, box: number, where: number): number {
  let low = tree.childBegin[box];
  let high = tree.childEnd[box];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (tree.start[middle] + tree.size[middle] <= where) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Fills `visible` with the boxes of `extent` that are visible on `width` pixels, down to a depth. */
export function findVisible(tree: Tree, extent: Extent, width: number, depth: number, visible: Visible): void {
  visible.count = 0;
  if (!(tree.size[0] > 0) || !(extent.to > extent.from)) return;
  const scale = width / (extent.to - extent.from);
  const pixel = (size: number) => (size - extent.from) * scale;
  add(visible, 0, pixel(0), pixel(tree.size[0]), 0);
  for (let i = 0; i < visible.count; i++) {
    const box = visible.box[i];
    if (visible.rest[i] || tree.depth[box] >= depth) continue;
    const end = tree.childEnd[box];
    for (let child = firstBehind(tree, box, extent.from); child < end; child++) {
      const { start, size } = tree;
      const left = pixel(start[child]);
      if (left >= width) break;
      if (size[child] * scale < LEAST_PX) {
        const right = pixel(start[end - 1] + size[end - 1]);
        if (right - left >= LEAST_PX) add(visible, child, left, right, 1);
        break;
      }
      add(visible, child, left, pixel(start[child] + size[child]), 0);
    }
  }
}

/** The depth of the deepest visible box. */
export function visibleDepth(tree: Tree, extent: Extent, width: number, visible: Visible): number {
  findVisible(tree, extent, width, tree.deepest, visible);
  return visible.count > 0 ? tree.depth[visible.box[visible.count - 1]] : 0;
}

export function extentOf(tree: Tree, box: number): Extent {
  return { from: tree.start[box], to: tree.start[box] + tree.size[box] };
}

/** The box at a depth that contains `where`; -1 if there is none. */
export function boxAt(tree: Tree, where: number, depth: number): number {
  if (!(where >= 0 && where < tree.size[0])) return -1;
  let box = 0;
  while (tree.depth[box] < depth) {
    const child = firstBehind(tree, box, where);
    if (child >= tree.childEnd[box] || tree.start[child] > where) return -1;
    box = child;
  }
  return box;
}

/** The extent at a step of a zoom, 0 to 1. A point that has the same place in `a` and `b` does not move in between. */
export function between(a: Extent, b: Extent, part: number): Extent {
  const wide = a.to - a.from;
  const narrow = b.to - b.from;
  if (!(wide > 0) || !(narrow > 0)) return b;
  const width = wide * (narrow / wide) ** part;
  const moved = Math.abs(wide - narrow) < 1e-9 * wide ? part : (wide - width) / (wide - narrow);
  const from = a.from + (b.from - a.from) * moved;
  return { from, to: from + width };
}
