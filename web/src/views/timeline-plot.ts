// SPDX-License-Identifier: MIT
// timeline-plot.ts - a chart of uPlot that shows scenes: curves over time with the rate in a lane of its own below.
//
//   ┌────────────── bytes: 0 … top ───────────────┐
//   │ live (area), RSS (line), layers             │  what would dwarf these is apart:
//   │                                             │  it has a scale of its own
//   ├──────────────── rate: a lane ───────────────┤
//   └─────────────────────────────────────────────┘
//
// A scene of the same form as the one before goes into the same plot, so that nothing flickers. While somebody drags, a
// new scene waits. Colours are names of custom properties, looked up whenever something is drawn.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatBytes, formatSetting, formatSpan } from "../model/format";
import type { Stretch } from "../model/timeline";
import { paintMarks, type Mark } from "./timeline-marks";

export type CurveKind = "area" | "step" | "line" | "layer" | "apart" | "rate" | "rate-line";

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
  top: { bytes: number; rate: number; apart: number };
  marks: Mark[];
  /** Where an interval may begin and end; fewer than two: none can be chosen. */
  moments: number[];
  chosen: Stretch | null;
}

export interface PlotEvents {
  /** Somebody dragged from one time to another. */
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

const LANE = 0.3; /* of the height of bytes: what lies below their zero */
const LANE_FILLED = 0.19; /* of the whole height: the highest rate */
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
  { scale: "bytes" | "apart" | "rate"; path: uPlot.Series.PathBuilder | undefined; width: number; fill: number }
> = {
  area: { scale: "bytes", path: stepped, width: 1.5, fill: 0.22 },
  step: { scale: "bytes", path: stepped, width: 1.5, fill: 0 },
  line: { scale: "bytes", path: stepped, width: 2.5, fill: 0 },
  layer: { scale: "bytes", path: stepped, width: 1, fill: 1 },
  apart: { scale: "apart", path: stepped, width: 1.5, fill: 0 },
  rate: { scale: "rate", path: stepped, width: 0, fill: 0.75 },
  "rate-line": { scale: "rate", path: stepped, width: 1, fill: 0 },
};

/** Some of a colour, "#rrggbb", on that of the card. It covers what is below: layers do not shine through. */
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

function axesOf(scene: () => Scene, isNarrow: () => boolean): uPlot.Axis[] {
  const stroke = () => colourOf("--dim");
  const grid = { stroke: () => colourOf("--line"), width: 1 };
  const positive = (splits: number[]) => splits.map((split) => (split < 0 ? null : split));
  return [
    {
      stroke,
      font: FONT,
      grid: { show: false },
      ticks: { ...grid, size: 4 },
      gap: 4,
      size: 30,
      incrs: SECONDS,
      space: 54,
      values: (_, splits) => splits.map((split) => (split === 0 ? "0" : formatSpan(split))),
    },
    {
      scale: "bytes",
      stroke,
      font: FONT,
      gap: 4,
      size: 62,
      space: 28,
      incrs: BINARY,
      filter: (_, splits) => positive(splits),
      grid: { ...grid, filter: (_, splits) => positive(splits) },
      ticks: { show: false },
      values: (_, splits) => splits.map((split) => (split === null || split < 0 ? null : formatSetting(split))),
    },
    {
      scale: "apart",
      side: 1,
      stroke: () => colourOf("--grew"),
      font: FONT,
      gap: 4,
      size: 0 /* its labels are above those of rates, in their column */,
      space: 28,
      incrs: BINARY,
      filter: (_, splits) => positive(splits),
      grid: { show: false },
      ticks: { show: false },
      values: (_, splits) =>
        splits.map((split) => (isNarrow() || !(split > 0) || !(scene().top.apart > 0) ? null : formatSetting(split))),
    },
    {
      scale: "rate",
      side: 1,
      stroke,
      font: FONT,
      gap: 4,
      size: () => (isNarrow() ? 8 : 68),
      grid: { show: false },
      ticks: { show: false },
      splits: () => [0, scene().top.rate],
      values: (_, splits) => splits.map((split) => (isNarrow() || !(split > 0) ? null : `${formatBytes(split)}/s`)),
    },
  ];
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
  const apart = () => scene().top.apart || 1;
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
      apart: { range: () => [-LANE * apart(), apart() * 1.02] },
    },
    axes: axesOf(scene, () => host.clientWidth < NARROW),
    series: [{}, ...first.curves.map((curve, index) => seriesOf(curve, index, () => scene().curves[index] ?? curve))],
    hooks,
  };
}

/** The rectangle over what is chosen. */
function placeChosen(plot: uPlot, chosen: Stretch | null): void {
  const left = chosen ? plot.valToPos(chosen.since, "x") : 0;
  const width = chosen ? plot.valToPos(chosen.until, "x") - left : 0;
  plot.setSelect({ left, top: 0, width, height: chosen ? plot.over.clientHeight : 0 }, false);
}

export function createPlot(host: HTMLElement, first: Scene, events: PlotEvents): Plot {
  let scene = first;
  let form = "";
  let plot: uPlot | null = null;
  let dragging = false;
  let waiting: Scene | null = null;

  const hooks: uPlot.Hooks.Arrays = {
    draw: [(self) => paintMarks(self, scene, colourOf, FONT)],
    setCursor: [
      (self) =>
        events.onCursor(self.cursor.left !== undefined && self.cursor.left >= 0 ? (self.cursor.idx ?? null) : null),
    ],
    setSelect: [
      (self) => {
        const { left, width } = self.select;
        if (dragging && width > 0) events.onDrag(self.posToVal(left, "x"), self.posToVal(left + width, "x"));
      },
    ],
    setSize: [(self) => placeChosen(self, scene.chosen)],
  };
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
  const step = (rows: number) => {
    if (!plot) return;
    const last = scene.time.length - 1;
    const at = plot.cursor.idx ?? (rows > 0 ? -1 : last + 1);
    const row = Math.min(last, Math.max(0, at + rows));
    plot.setCursor({ left: plot.valToPos(scene.time[row], "x"), top: 0 });
  };
  create();
  resize.observe(host);
  window.addEventListener("mouseup", endDrag); /* on its way up, behind uPlot's own on the document */
  return {
    show,
    step,
    redraw: () => plot?.redraw(false, true),
    destroy: () => {
      resize.disconnect();
      window.removeEventListener("mouseup", endDrag);
      plot?.destroy();
    },
  };
}
