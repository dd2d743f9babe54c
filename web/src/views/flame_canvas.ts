// SPDX-License-Identifier: MIT
// flame_canvas.ts - the flame graph's element: draws when something has changed, and knows what is where.
//
// The canvas is as large as the part of the graph that can be seen, and stays where it is while the graph scrolls
// behind it: a spacer below it makes up for the rest of its height.

import { EMPTY_LAYOUT, makeLayout, measureRows, rectOf, targetAt } from "./flame_layout";
import type { Layout, Pane, Rect, Target } from "./flame_layout";
import { FONT, paint, type Ink, type Rings } from "./flame_paint";
import { newWriter, type Writer } from "./flame_text";

export interface Scene extends Rings {
  /** A scene of another name begins at its root, wherever the last one was scrolled to. */
  name: string;
  panes: Pane[];
  ink: Ink;
  rowHeight: number;
}

export interface Stand {
  canvas: HTMLCanvasElement;
  scroller: HTMLElement;
  spacer: HTMLElement;
}

export interface Graph {
  /** A zoom glides from where it was, unless the user wants things to keep still. */
  show: (scene: Scene) => void;
  /** Of points and rectangles the corner of the canvas is 0, 0. */
  at: (x: number, y: number) => Target | null;
  rect: (target: Target) => Rect | null;
  /** Scrolls so that the box is there. */
  reveal: (target: Target) => void;
  drawn: () => { target: Target; rect: Rect }[];
  counts: () => { drawn: number; milliseconds: number };
  end: () => void;
}

const GLIDE_MS = 150;
const MOST_PIXELS = 8192;
const MOST_OF_WINDOW = 0.6;

const widthOf = ({ scroller }: Stand) => Math.max(1, scroller.clientWidth);

/** Whether boxes stay where they are. */
function isSameLayout(a: Scene | null, b: Scene): boolean {
  return (
    a?.rowHeight === b.rowHeight &&
    a.panes.length === b.panes.length &&
    a.panes.every((was, i) => {
      const { tree, zoom, up } = b.panes[i];
      return was.tree === tree && was.zoom === zoom && was.up === up;
    })
  );
}

/** The window is as tall as the whole graph, if it can; what a zoom shows does not move what is below it. */
function sizeWindow(stand: Stand, { panes, rowHeight }: Scene): void {
  const { rows } = measureRows(panes, widthOf(stand), () => 0);
  const height = `${Math.min(rows * rowHeight, Math.round(window.innerHeight * MOST_OF_WINDOW))}px`;
  if (stand.scroller.style.height !== height) stand.scroller.style.height = height;
}

/** Makes the canvas as large as what can be seen; returns its height. */
function sizeCanvas({ canvas, scroller, spacer }: Stand, { rows, rowHeight, width }: Layout, ratio: number): number {
  const height = Math.max(1, Math.min(scroller.clientHeight, rows * rowHeight));
  const pixels = [width, height].map((length) => Math.min(MOST_PIXELS, Math.round(length * ratio)));
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
    [canvas.width, canvas.height] = pixels;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  spacer.style.height = `${Math.max(0, rows * rowHeight - height)}px`;
  return height;
}

function scrollToRoot({ scroller }: Stand, { laid, rowHeight }: Layout): void {
  const root = (laid[0]?.row ?? 0) * rowHeight;
  scroller.scrollTop = laid.length > 1 ? root - (scroller.clientHeight - rowHeight) / 2 : root;
}

function scrollTo({ scroller }: Stand, rect: Rect | null): void {
  if (!rect) return;
  const bottom = rect.y + rect.height - scroller.clientHeight;
  if (scroller.scrollTop > rect.y) scroller.scrollTop = rect.y;
  else if (scroller.scrollTop < bottom) scroller.scrollTop = bottom;
}

function scrollToZoom(stand: Stand, layout: Layout): void {
  layout.laid.forEach(({ pane: { zoom } }, pane) => {
    if (zoom > 0) scrollTo(stand, rectOf(layout, { pane, box: zoom }));
  });
}

/** Every box that was drawn. The root of a sandwich is in both panes, and is told of once. */
function listDrawn(layout: Layout, top: number): { target: Target; rect: Rect }[] {
  return layout.laid.flatMap(({ visible }, pane) => {
    const found: { target: Target; rect: Rect }[] = [];
    for (let i = 0; i < visible.count; i++) {
      const target = { pane, box: visible.box[i] };
      const twice = target.box === 0 && pane + 1 < layout.laid.length;
      const rect = visible.rest[i] || twice ? null : rectOf(layout, target);
      if (rect) found.push({ target, rect: { ...rect, y: rect.y - top } });
    }
    return found;
  });
}

/** Draws, and returns how long that took. */
function drawOnce(
  stand: Stand,
  layout: Layout,
  scene: Scene,
  context: CanvasRenderingContext2D,
  writer: Writer,
): number {
  const clock = performance.now();
  const ratio = window.devicePixelRatio || 1;
  const height = sizeCanvas(stand, layout, ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = FONT;
  context.textBaseline = "middle";
  paint({ context, writer, ink: scene.ink }, layout, scene, stand.scroller.scrollTop, height);
  return performance.now() - clock;
}

export function newGraph(stand: Stand, onDrawn: () => void): Graph {
  const context = stand.canvas.getContext("2d", { alpha: false });
  let scene: Scene | null = null;
  let layout = EMPTY_LAYOUT;
  let writer: Writer | null = null;
  let begun = 0;
  let frame = 0;
  let milliseconds = -1;

  const redraw = () => {
    if (frame === 0) frame = requestAnimationFrame(draw);
  };
  const draw = () => {
    frame = 0;
    if (!scene || !context) return;
    if (layout.part < 1) layout.part = Math.min(1, (performance.now() - begun) / GLIDE_MS);
    context.font = FONT;
    writer ??= newWriter(context);
    const first = milliseconds < 0;
    milliseconds = drawOnce(stand, layout, scene, context, writer);
    if (first) performance.mark("plimsoll-drawn");
    if (layout.part < 1) redraw();
    onDrawn();
  };
  const layOut = (next: Scene, glides: boolean) => {
    sizeWindow(stand, next);
    layout = makeLayout(next.panes, next.rowHeight, widthOf(stand), layout, glides);
    begun = performance.now();
    sizeCanvas(stand, layout, window.devicePixelRatio || 1);
  };
  const show = (next: Scene) => {
    const sameScene = scene?.name === next.name;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (isSameLayout(scene, next)) layout.laid.forEach((laid, i) => (laid.pane = next.panes[i]));
    else {
      layOut(next, sameScene && !still);
      if (sameScene) scrollToZoom(stand, layout);
    }
    if (!sameScene) scrollToRoot(stand, layout);
    scene = next;
    redraw();
  };

  const watcher = new ResizeObserver(() => {
    if (scene && (widthOf(stand) !== layout.width || layout.part >= 1)) layOut(scene, false);
    redraw();
  });
  watcher.observe(stand.scroller);
  stand.scroller.addEventListener("scroll", redraw, { passive: true });

  return {
    show,
    at: (x, y) => targetAt(layout, x, y + stand.scroller.scrollTop),
    rect: (target) => {
      const rect = rectOf(layout, target);
      return rect && { ...rect, y: rect.y - stand.scroller.scrollTop };
    },
    reveal: (target) => scrollTo(stand, rectOf(layout, target)),
    drawn: () => listDrawn(layout, stand.scroller.scrollTop),
    counts: () => ({ drawn: layout.laid.reduce((sum, { visible }) => sum + visible.count, 0), milliseconds }),
    end: () => {
      watcher.disconnect();
      stand.scroller.removeEventListener("scroll", redraw);
      cancelAnimationFrame(frame);
    },
  };
}
