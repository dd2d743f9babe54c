// SPDX-License-Identifier: MIT
// paint.ts - paints a layout of boxes onto a canvas.

import { findVisible } from "../../model/flame/boxes";
import { formatExact } from "../../model/figures/format";
import {
  depthsBetween,
  extentNow,
  rectOf,
  rowOf,
  type Laid,
  type Layout,
  type Pane,
  type Rect,
  type Target,
} from "./layout";
import type { Writer } from "./text";

export interface Ink {
  text: string;
  dimText: string;
  dimFill: string;
  back: string;
  accent: string;
  mark: string;
}

/** The outlined boxes. */
export interface Rings {
  focus: Target | null;
  hover: Target | null;
}

export interface Brush {
  context: CanvasRenderingContext2D;
  writer: Writer;
  ink: Ink;
}

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif';
const TEXT_LEAST_PX = 22;
const REST_TEXT_PX = 60;
const FIGURE_LEAST_PX = 60;
const FIGURE_GAP = 14;
const MARGIN = 5;
const GAP_FROM_PX = 3;
const MORE_PX = 30; /* the width of the button on the focused box */

/** Paints the part of the graph that begins at `top` and is `height` pixels tall. */
export function paint(brush: Brush, layout: Layout, rings: Rings, top: number, height: number): void {
  const { context, ink } = brush;
  context.fillStyle = ink.back;
  context.fillRect(0, 0, layout.width, height);
  layout.laid.forEach((laid, index) => {
    const focused = rings.focus?.pane === index ? rings.focus.box : -1;
    paintPane(brush, layout, laid, focused, top, height);
  });
  for (const [target, thick] of [[rings.hover, 1], [rings.focus, 2]] as const) {
    const rect = target && rectOf(layout, target);
    if (rect && rect.width > 0) outline(context, ink.text, { ...rect, y: rect.y - top, width: rect.width + 1 }, thick);
  }
}

function paintPane(brush: Brush, layout: Layout, laid: Laid, focused: number, top: number, height: number): void {
  const { pane, visible } = laid;
  const { tree } = pane;
  const depths = depthsBetween(layout, laid, top, top + height);
  findVisible(tree, extentNow(layout, laid), layout.width, depths.most, visible);
  const rect: Rect = { x: 0, y: 0, width: 0, height: layout.rowHeight };
  for (let i = 0; i < visible.count; i++) {
    const box = visible.box[i];
    if (tree.depth[box] < depths.least) continue;
    rect.x = Math.max(0, visible.left[i]);
    rect.width = Math.min(layout.width, visible.right[i]) - rect.x;
    rect.y = rowOf(laid, tree.depth[box]) * layout.rowHeight - top;
    if (rect.width <= 0) continue;
    if (visible.rest[i]) paintRest(brush, rect, tree.childEnd[tree.parent[box]] - box);
    else paintBox(brush, pane, box, rect, box === focused);
  }
}

/** Boxes are one pixel apart, unless they are too narrow for that. */
function fillBox({ context }: Brush, colour: string, { x, y, width, height }: Rect): void {
  context.fillStyle = colour;
  context.fillRect(x, y, width > GAP_FROM_PX ? width - 1 : width, height - 1);
}

function paintBox(brush: Brush, pane: Pane, box: number, rect: Rect, focused: boolean): void {
  const { context, ink } = brush;
  const { tree, found, picked, framed } = pane;
  const dim = (found !== null && !found[box]) || tree.depth[box] < tree.depth[pane.zoom];
  fillBox(brush, dim ? ink.dimFill : pane.fill(box), rect);
  if (found?.[box]) markFound(brush, rect);
  if ((picked >= 0 && tree.key[box] === picked) || (framed && box === 0)) outline(context, ink.accent, rect, 2);
  if (rect.width < TEXT_LEAST_PX) return;
  context.fillStyle = dim ? ink.dimText : ink.text;
  writeBox(brush, pane, box, rect, rect.width - 2 * MARGIN - (focused ? MORE_PX : 0));
}

function writeBox({ context, writer }: Brush, pane: Pane, box: number, rect: Rect, room: number): void {
  const name = writer.fit(pane.name(box), room);
  if (name === "") return;
  const middle = rect.y + rect.height / 2;
  context.fillText(name, rect.x + MARGIN, middle);
  const left = room - writer.width(name);
  if (left < FIGURE_LEAST_PX) return;
  const figure = pane.figure(box);
  const width = writer.width(figure);
  if (width + FIGURE_GAP < left) context.fillText(figure, rect.x + MARGIN + room - width, middle);
}

function paintRest(brush: Brush, rect: Rect, count: number): void {
  const { context, writer, ink } = brush;
  fillBox(brush, ink.dimFill, rect);
  if (rect.width < REST_TEXT_PX) return;
  context.fillStyle = ink.dimText;
  const text = writer.fit(`${formatExact(count)} more, too narrow to draw`, rect.width - 2 * MARGIN);
  context.fillText(text, rect.x + MARGIN, rect.y + rect.height / 2);
}

/** Matches have an edge, not only a colour; narrow ones are filled with its colour. */
function markFound({ context, ink }: Brush, { x, y, width, height }: Rect): void {
  context.fillStyle = ink.mark;
  if (width <= GAP_FROM_PX) context.fillRect(x, y, Math.max(1, width), height - 1);
  else context.fillRect(x, y + height - 4, width - 1, 3);
}

function outline(context: CanvasRenderingContext2D, colour: string, rect: Rect, thick: number): void {
  const { x, y, width, height } = rect;
  context.strokeStyle = colour;
  context.lineWidth = thick;
  const inside = thick / 2;
  context.strokeRect(x + inside, y + inside, Math.max(1, width - 1 - thick), height - 1 - thick);
}
