// SPDX-License-Identifier: MIT
// plot.ts - a uPlot chart: curves over time, with the allocation rate in a lane of its own below.
//
//   ┌────────────── bytes: 0 … top ───────────────┐
//   │ live (area), RSS (line), layers             │
//   ├──────────────── rate: a lane ───────────────┤
//   └─────────────────────────────────────────────┘
//
// A scene with the same kinds of curves reuses the plot, so that nothing flickers. While the user drags, a new scene
// waits. Colours are names of custom properties, which are looked up at every drawing.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatBytes, formatSetting, formatSpan } from "../../model/figures/format";
import type { Stretch } from "../../model/time/timeline";
import { paintMarks, type Mark } from "./marks";

export type CurveKind = "area" | "step" | "line" | "layer" | "rate" | "rate-line";

export interface Curve {
  kind: CurveKind;
  /** A custom property: "--accent". */
  colour: string;
  dashed?: boolean;
  faint?: boolean;
  values: (number | null | undefined)[];
}

export interface Scene {
  time: number[];
  end: number;
  curves: Curve[];
  top: { bytes: number; rate: number };
  marks: Mark[];
  /** The times where an interval may begin and end; fewer than two: none can be chosen. */
  moments: number[];
  chosen: Stretch | null;
}

export interface PlotEvents {
  /** The user dragged from one time to another. */
  onDrag: (from: number, to: number) => void;
  onWhole: () => void;
  onCursor: (row: number | null) => void;
}

export interface Plot {
  show: (scene: Scene) => void;
  /** Moves the cursor by rows. */
  step: (rows: number) => void;
  redraw: () => void;
  destroy: () => void;
}

const LANE = 0.3; /* of the height of bytes: the lane of rates below their zero */
const LANE_FILLED = 0.19; /* of the whole height: where the highest rate is drawn */
const NARROW = 560;
const DRAG_LEAST = 4;
const FAINT = 0.4;
const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

export function colourOf(property: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(property).trim() || "#888";
}

const stepped = uPlot.paths.stepped?.({ align: 1 });

const KINDS: Record<
  CurveKind,
  { scale: "bytes" | "rate"; path: uPlot.Series.PathBuilder | undefined; width: number; fill: number }
> = {
  area: { scale: "bytes", path: stepped, width: 1.5, fill: 0.22 },
  step: { scale: "bytes", path: stepped, width: 1.5, fill: 0 },
  line: { scale: "bytes", path: stepped, width: 2.5, fill: 0 },
  layer: { scale: "bytes", path: stepped, width: 1, fill: 1 },
  rate: { scale: "rate", path: stepped, width: 0, fill: 0.75 },
  "rate-line": { scale: "rate", path: stepped, width: 1, fill: 0 },
};

/** A colour, "#rrggbb", blended with that of the card. The result is opaque, so that lower layers are not visible. */
function mixed(colour: string, part: number): string {
  const channels = (text: string) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
  const [over, under] = [channels(colour), channels(colourOf("--raised"))];
  const mix = over.map((channel, i) => Math.round(channel * part + under[i] * (1 - part)));
  return mix.some(Number.isNaN) ? colour : `rgb(${mix.join(" ")})`;
}

function seriesOf(curve: Curve, index: number, now: () => Curve): uPlot.Series {
  const kind = KINDS[curve.kind];
  const stroke = () => colourOf(curve.kind === "layer" ? "--raised" : now().colour);
  const strength = () => kind.fill * (now().faint ? FAINT : 1);
  return {
    label: String(index),
    scale: kind.scale,
    width: kind.width,
    points: { show: false },
    stroke,
    fillTo: 0,
    ...(kind.path ? { paths: kind.path } : {}),
    ...(kind.fill > 0 ? { fill: () => mixed(colourOf(now().colour), strength()) } : {}),
    ...(curve.dashed ? { dash: [5, 4] } : {}),
  };
}

const BINARY = Array.from({ length: 54 }, (_, i) => 2 ** i);
const SECONDS = [
  ...[-7, -6, -5, -4, -3, -2, -1, 0].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)),
  ...[
    10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 432800, 864000, 8640000,
  ],
];

const AXIS = { stroke: () => colourOf("--dim"), font: FONT, gap: 4 };
const GRID = { stroke: () => colourOf("--line"), width: 1 };

function timeAxis(): uPlot.Axis {
  return {
    ...AXIS,
    grid: { show: false },
    ticks: { ...GRID, size: 4 },
    size: 30,
    incrs: SECONDS,
    space: 54,
    values: (_, splits) => splits.map((split) => (split === 0 ? "0" : formatSpan(split))),
  };
}

/** On the left, without the part below zero, where the rates are. */
function bytesAxis(): uPlot.Axis {
  const positive = (_: uPlot, splits: number[]) => splits.map((split) => (split < 0 ? null : split));
  return {
    ...AXIS,
    scale: "bytes",
    size: 62,
    space: 28,
    incrs: BINARY,
    filter: positive,
    grid: { ...GRID, filter: positive },
    ticks: { show: false },
    values: (_, splits) => splits.map((split) => (split === null || split < 0 ? null : formatSetting(split))),
  };
}

/** On the right: the highest rate only, and not even that on a narrow screen. */
function rateAxis(scene: () => Scene, isNarrow: () => boolean): uPlot.Axis {
  return {
    ...AXIS,
    scale: "rate",
    side: 1,
    size: () => (isNarrow() ? 8 : 68),
    grid: { show: false },
    ticks: { show: false },
    splits: () => [0, scene().top.rate],
    values: (_, splits) => splits.map((split) => (isNarrow() || !(split > 0) ? null : `${formatBytes(split)}/s`)),
  };
}

function formOf(scene: Scene): string {
  return scene.curves.map((curve) => curve.kind + (curve.dashed ? "-" : "")).join() + (scene.moments.length > 1);
}

function dataOf(scene: Scene): uPlot.AlignedData {
  return [scene.time, ...scene.curves.map((curve) => curve.values)];
}

function sizeOf(host: HTMLElement): { width: number; height: number } {
  const width = Math.max(200, host.clientWidth);
  return { width, height: width < NARROW ? 190 : 240 };
}

function optionsOf(host: HTMLElement, scene: () => Scene, hooks: uPlot.Hooks.Arrays): uPlot.Options {
  const first = scene();
  const bytes = () => scene().top.bytes || 1;
  const rate = () => scene().top.rate || 1;
  return {
    ...sizeOf(host),
    padding: [20, 4, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      points: { show: false },
      drag: { x: first.moments.length > 1, y: false, setScale: false, dist: DRAG_LEAST },
      bind: { dblclick: () => null },
    },
    scales: {
      x: { time: false, range: () => [0, scene().end || 1] },
      bytes: { range: () => [-LANE * bytes(), bytes() * 1.02] },
      rate: { range: () => [0, rate() / LANE_FILLED] },
    },
    axes: [timeAxis(), bytesAxis(), rateAxis(scene, () => host.clientWidth < NARROW)],
    series: [{}, ...first.curves.map((curve, index) => seriesOf(curve, index, () => scene().curves[index] ?? curve))],
    hooks,
  };
}

/** Places the rectangle over the chosen interval. */
function placeChosen(plot: uPlot, chosen: Stretch | null): void {
  const left = chosen ? plot.valToPos(chosen.since, "x") : 0;
  const width = chosen ? plot.valToPos(chosen.until, "x") - left : 0;
  plot.setSelect({ left, top: 0, width, height: chosen ? plot.over.clientHeight : 0 }, false);
}

/** What the plot calls when it draws, and when the user moves the pointer or drags. */
function hooksOf(scene: () => Scene, isDragging: () => boolean, events: PlotEvents): uPlot.Hooks.Arrays {
  return {
    draw: [(plot) => paintMarks(plot, scene(), colourOf, FONT)],
    setCursor: [
      ({ cursor: { left, idx } }) => events.onCursor(left !== undefined && left >= 0 ? (idx ?? null) : null),
    ],
    setSelect: [
      (plot) => {
        const { left, width } = plot.select;
        if (isDragging() && width > 0) events.onDrag(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
      },
    ],
    setSize: [(plot) => placeChosen(plot, scene().chosen)],
  };
}

/** Moves the cursor by rows. Without a cursor, it begins at one of the ends. */
function moveCursor(plot: uPlot, time: number[], rows: number): void {
  const last = time.length - 1;
  const at = plot.cursor.idx ?? (rows > 0 ? -1 : last + 1);
  const row = Math.min(last, Math.max(0, at + rows));
  plot.setCursor({ left: plot.valToPos(time[row], "x"), top: 0 });
}

export function createPlot(host: HTMLElement, first: Scene, events: PlotEvents): Plot {
  let scene = first;
  let form = "";
  let plot: uPlot | null = null;
  let dragging = false;
  let waiting: Scene | null = null;

  const hooks = hooksOf(
    () => scene,
    () => dragging,
    events,
  );
  const beginDrag = (event: MouseEvent) => (dragging = event.button === 0);
  const endDrag = () => {
    if (!dragging) return;
    dragging = false;
    if (waiting) show(waiting);
    else if (plot) placeChosen(plot, scene.chosen);
  };
  const create = () => {
    plot?.destroy();
    form = formOf(scene);
    plot = new uPlot(
      optionsOf(host, () => scene, hooks),
      dataOf(scene),
      host,
    );
    plot.over.addEventListener("mousedown", beginDrag, true);
    plot.over.addEventListener("dblclick", events.onWhole);
    placeChosen(plot, scene.chosen);
  };
  const show = (next: Scene) => {
    waiting = dragging ? next : null;
    if (dragging) return;
    scene = next;
    if (!plot || form !== formOf(scene)) return create();
    plot.setData(dataOf(scene));
    placeChosen(plot, scene.chosen);
  };
  const resize = new ResizeObserver(() => {
    const size = sizeOf(host);
    if (plot && (plot.width !== size.width || plot.height !== size.height)) plot.setSize(size);
  });
  create();
  resize.observe(host);
  window.addEventListener("mouseup", endDrag); /* runs after uPlot's own listener, which is on the document */
  return {
    show,
    step: (rows) => plot && moveCursor(plot, scene.time, rows),
    redraw: () => plot?.redraw(false, true),
    destroy: () => {
      resize.disconnect();
      window.removeEventListener("mouseup", endDrag);
      plot?.destroy();
    },
  };
}
