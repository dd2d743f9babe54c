// SPDX-License-Identifier: MIT
// canvas.ts - the canvas of the flame graph: redraws it after changes, and finds the box at a position.
//
// The canvas is only as large as the visible part of the graph, and does not move while the graph scrolls. A spacer
// below it gives the scroller the height of the whole graph.

import {
  EMPTY_LAYOUT,
  makeLayout,
  measureRows,
  rectOf,
  targetAt,
  type Layout,
  type Pane,
  type Rect,
  type Target,
} from "./layout";
import { FONT, paint, type Ink, type Rings } from "./paint";
import { newWriter, type Writer } from "./text";

export interface Scene extends Rings {
  /** If the name changes, the graph is scrolled to its root. */
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
  /** A zoom is animated, unless the user prefers reduced motion. */
  show: (scene: Scene) => void;
  /** Points and rectangles are relative to the top left corner of the canvas. */
  at: (x: number, y: number) => Target | null;
  rect: (target: Target) => Rect | null;
  /** Scrolls so that the box is visible. */
  reveal: (target: Target) => void;
  drawn: () => { target: Target; rect: Rect }[];
  counts: () => { drawn: number; milliseconds: number };
  end: () => void;
}

const GLIDE_MS = 150;
const MOST_PIXELS = 8192;
const MOST_OF_WINDOW = 0.6;

const widthOf = ({ scroller }: Stand) => Math.max(1, scroller.clientWidth);

/** Whether all boxes keep their positions. */
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

/** The scroller is as tall as the unzoomed graph, up to a limit. A zoom keeps that height, so nothing below moves. */
function sizeWindow(stand: Stand, { panes, rowHeight }: Scene): void {
  const { rows } = measureRows(panes, widthOf(stand), () => 0);
  const height = `${Math.min(rows * rowHeight, Math.round(window.innerHeight * MOST_OF_WINDOW))}px`;
  if (stand.scroller.style.height !== height) stand.scroller.style.height = height;
}

/** Makes the canvas as large as the visible part; returns its height. */
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

/** All drawn boxes. With callers and callees, the root is in both panes, and is listed once. */
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

/** Draws, and returns how many milliseconds it took. */
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

/** Calls `resized` and `scrolled` when that happens to the scroller, until the function that it returns is called. */
function watch(scroller: HTMLElement, resized: () => void, scrolled: () => void): () => void {
  const watcher = new ResizeObserver(resized);
  watcher.observe(scroller);
  scroller.addEventListener("scroll", scrolled, { passive: true });
  return () => {
    watcher.disconnect();
    scroller.removeEventListener("scroll", scrolled);
  };
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

  const resized = () => {
    if (scene && (widthOf(stand) !== layout.width || layout.part >= 1)) layOut(scene, false);
    redraw();
  };
  const unwatch = watch(stand.scroller, resized, redraw);

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
      unwatch();
      cancelAnimationFrame(frame);
    },
  };
}
