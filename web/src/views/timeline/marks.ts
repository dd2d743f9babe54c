// SPDX-License-Identifier: MIT
// marks.ts - what is drawn over the curves: the peak, events, and ticks where an interval may begin and end.

import type uPlot from "uplot";

export interface Mark {
  seconds: number;
  text: string;
  /** A triangle at this height; null: a line from top to bottom. */
  bytes: number | null;
}

interface Marked {
  marks: Mark[];
  moments: number[];
}

type Colours = (property: string) => string;

interface Pen {
  plot: uPlot;
  ctx: CanvasRenderingContext2D;
  ratio: number;
  colours: Colours;
}

/** The position of a text beside x: to its right or to its left, but within the plot. */
export function placeBeside(x: number, width: number, gap: number, left: number, right: number): number {
  const at = x + gap + width < right ? x + gap : x - gap - width;
  return Math.max(left, Math.min(at, right - width));
}

/** Writes a text beside x, with a halo that separates it from curves. */
function writeBeside(pen: Pen, text: string, x: number, y: number): void {
  const { ctx, ratio, plot } = pen;
  const { left, width } = plot.bbox;
  const at = placeBeside(x, ctx.measureText(text).width, 8 * ratio, left, left + width);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.lineWidth = 4 * ratio;
  ctx.lineJoin = "round";
  ctx.strokeStyle = pen.colours("--raised");
  ctx.strokeText(text, at, y);
  ctx.fillStyle = pen.colours("--text");
  ctx.fillText(text, at, y);
}

function paintTriangle(pen: Pen, x: number, y: number): void {
  const { ctx, ratio } = pen;
  ctx.fillStyle = pen.colours("--mark");
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - 5 * ratio, y - 9 * ratio);
  ctx.lineTo(x + 5 * ratio, y - 9 * ratio);
  ctx.fill();
}

function paintLine(pen: Pen, x: number): void {
  const { ctx, ratio, plot } = pen;
  ctx.strokeStyle = pen.colours("--dim");
  ctx.lineWidth = ratio;
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  ctx.beginPath();
  ctx.moveTo(x, plot.bbox.top);
  ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
}

function paintMark(pen: Pen, mark: Mark, line: number): void {
  const { plot, ratio } = pen;
  const x = plot.valToPos(mark.seconds, "x", true);
  if (mark.bytes !== null) {
    const y = plot.valToPos(mark.bytes, "bytes", true);
    paintTriangle(pen, x, y);
    writeBeside(pen, mark.text, x, y - 6 * ratio);
    return;
  }
  paintLine(pen, x);
  writeBeside(pen, mark.text, x, plot.bbox.top + (8 + 15 * line) * ratio);
}

/** Small ticks at the foot of the chart. */
function paintMoments(pen: Pen, moments: readonly number[]): void {
  const { ctx, ratio, plot } = pen;
  const foot = plot.bbox.top + plot.bbox.height;
  ctx.strokeStyle = pen.colours("--accent");
  ctx.lineWidth = 2 * ratio;
  ctx.beginPath();
  for (const seconds of moments) {
    const x = plot.valToPos(seconds, "x", true);
    ctx.moveTo(x, foot);
    ctx.lineTo(x, foot + 5 * ratio);
  }
  ctx.stroke();
}

/** The line between bytes and the lane of rates. */
function paintZero(pen: Pen): void {
  const { ctx, ratio, plot } = pen;
  const y = Math.round(plot.valToPos(0, "bytes", true));
  ctx.strokeStyle = pen.colours("--dim");
  ctx.lineWidth = ratio;
  ctx.beginPath();
  ctx.moveTo(plot.bbox.left, y);
  ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
  ctx.stroke();
}

export function paintMarks(plot: uPlot, marked: Marked, colours: Colours, font: string): void {
  const { ctx } = plot;
  const ratio = devicePixelRatio || 1;
  const pen: Pen = { plot, ctx, ratio, colours };
  ctx.save();
  ctx.setLineDash([]); /* the last curve may have set one */
  ctx.font = font.replace(/^\d+px/, `${11 * ratio}px`);
  paintZero(pen);
  paintMoments(pen, marked.moments);
  const high = ({ bytes }: Mark) => bytes !== null && plot.valToPos(bytes, "bytes", true) < plot.bbox.top + 24 * ratio;
  let lines = marked.marks.some(high) ? 1 : 0;
  for (const mark of marked.marks) paintMark(pen, mark, mark.bytes === null ? lines++ : 0);
  ctx.restore();
}
