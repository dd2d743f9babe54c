// SPDX-License-Identifier: MIT
// layout.ts - the positions of boxes in a flame graph: rows and pixels, without drawing.
//
// A pane is a tree that grows downward or upward from a row; callers and callees are two panes around the same row.
// While a zoom is animated, a pane shows an extent between two others.

import {
  between,
  boxAt,
  extentOf,
  LEAST_PX,
  newVisible,
  visibleDepth,
  type Extent,
  type Visible,
} from "../../model/flame/boxes";
import type { Tree } from "../../model/flame/tree";

export interface Pane {
  tree: Tree;
  up: boolean;
  /** The box that has the whole width. */
  zoom: number;
  fill: (box: number) => string;
  name: (box: number) => string;
  figure: (box: number) => string;
  /** By box: it matches the search; null: there is no search. */
  found: Uint8Array | null;
  /** The key of the picked function; -1: none. */
  picked: number;
  /** The root has a frame around it, because it is the subject. */
  framed: boolean;
}

export interface Target {
  pane: number;
  box: number;
}

export interface Rect {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A pane with its position. */
export interface Laid {
  pane: Pane;
  /** The extent that it shows, and the one that it showed before. */
  extent: Extent;
  before: Extent;
  /** The row of the root. */
  row: number;
  visible: Visible;
}

export interface Layout {
  laid: Laid[];
  rows: number;
  rowHeight: number;
  width: number;
  /** The progress of the animation from `before`, 0 to 1. */
  part: number;
}

export const EMPTY_LAYOUT: Layout = { laid: [], rows: 1, rowHeight: 1, width: 1, part: 1 };

const scratch = newVisible();

/** How many rows are visible above that of the roots, and in all, with the given zoom. */
export function measureRows(panes: Pane[], width: number, zoomOf: (pane: Pane) => number) {
  let above = 0;
  let below = 0;
  for (const pane of panes) {
    const depth = visibleDepth(pane.tree, extentOf(pane.tree, zoomOf(pane)), width, scratch);
    if (pane.up) above = Math.max(above, depth);
    else below = Math.max(below, depth);
  }
  return { above, rows: above + 1 + below };
}

/** The extent that a pane shows now. */
export function extentNow({ part }: Layout, { before, extent }: Laid): Extent {
  return part >= 1 ? extent : between(before, extent, 1 - (1 - part) ** 3);
}

/** `glides`: animates from what the old layout shows of the same trees. */
export function makeLayout(panes: Pane[], rowHeight: number, width: number, old: Layout, glides: boolean): Layout {
  const { above, rows } = measureRows(panes, width, (pane) => pane.zoom);
  const laid = panes.map((pane, i): Laid => {
    const extent = extentOf(pane.tree, pane.zoom);
    const last = old.laid[i];
    const before = glides && last?.pane.tree.trunk === pane.tree.trunk ? extentNow(old, last) : extent;
    return { pane, extent, before, row: above, visible: last?.visible ?? newVisible() };
  });
  return { laid, rows, rowHeight, width, part: glides ? 0 : 1 };
}

export function rowOf({ pane, row }: Laid, depth: number): number {
  return pane.up ? row - depth : row + depth;
}

/** The range of depths of a pane between two heights. */
export function depthsBetween({ rowHeight }: Layout, { pane, row }: Laid, top: number, bottom: number) {
  const first = Math.floor(top / rowHeight);
  const last = Math.ceil(bottom / rowHeight);
  return pane.up
    ? { least: Math.max(0, row - last), most: row - first }
    : { least: Math.max(0, first - row), most: last - row };
}

/** The box at a point of the whole graph; null: none, or too narrow to be visible. */
export function targetAt(layout: Layout, x: number, y: number): Target | null {
  const row = Math.floor(y / layout.rowHeight);
  for (let pane = layout.laid.length - 1; pane >= 0; pane--) {
    const laid = layout.laid[pane];
    const depth = laid.pane.up ? laid.row - row : row - laid.row;
    if (depth < 0) continue;
    const { from, to } = extentNow(layout, laid);
    const box = boxAt(laid.pane.tree, from + (x / layout.width) * (to - from), depth);
    const seen = box >= 0 && (laid.pane.tree.size[box] * layout.width) / (to - from) >= LEAST_PX;
    return seen ? { pane, box } : null;
  }
  return null;
}

/** The position of a box in the whole graph, clipped at the edges. */
export function rectOf(layout: Layout, target: Target): Rect | null {
  const laid = layout.laid[target.pane];
  if (!laid || target.box >= laid.pane.tree.count) return null;
  const { tree } = laid.pane;
  const { from, to } = extentNow(layout, laid);
  const scale = layout.width / (to - from);
  const left = Math.max(0, (tree.start[target.box] - from) * scale);
  const right = Math.min(layout.width, (tree.start[target.box] + tree.size[target.box] - from) * scale);
  const y = rowOf(laid, tree.depth[target.box]) * layout.rowHeight;
  return { x: left, y, width: right - left, height: layout.rowHeight };
}
