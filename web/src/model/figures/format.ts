// SPDX-License-Identifier: MIT
// format.ts - formats figures as reports do (src/analysis/figure.c).
//
// Two or three significant digits are easy to compare, and an estimate rarely deserves more. Bytes have binary units,
// counts have decimal ones. An error has the unit of its figure, so that the two can be compared without arithmetic.
// The only difference from reports: the minus sign is U+2212, which is as wide as a plus.

import type { Estimate } from "../../data/header";
import type { Unit } from "./metric";

const MINUS = "\u2212";
const MANY = 9999.5; /* of a unit: a larger error has its own unit, 864 B ± 302 KiB */
const SLACK_MATTERS = 0.01; /* of a peak: less does not change the digits that are shown */

interface Scale {
  one: number;
  suffix: string;
}

const BYTE_SCALES: readonly Scale[] = [
  { one: 1, suffix: " B" },
  { one: 2 ** 10, suffix: " KiB" },
  { one: 2 ** 20, suffix: " MiB" },
  { one: 2 ** 30, suffix: " GiB" },
  { one: 2 ** 40, suffix: " TiB" },
  { one: 2 ** 50, suffix: " PiB" },
];

/** Whole numbers stay whole up to a million: "412,918" says more than "413 K" and is hardly longer. */
const COUNT_SCALES: readonly Scale[] = [
  { one: 1, suffix: "" },
  { one: 1e6, suffix: " M" },
  { one: 1e9, suffix: " G" },
  { one: 1e12, suffix: " T" },
];

/** The largest scale in which the value is at least 1, as rounded for display. */
function scaleOf(unit: Unit, value: number): Scale {
  const scales = unit === "bytes" ? BYTE_SCALES : COUNT_SCALES;
  let i = 0;
  while (i + 1 < scales.length && Math.abs(value) >= scales[i + 1].one * 0.9995) i++;
  return scales[i];
}

// --- digits, rounded half to even, as printf does ---

/** Whether the value is exactly between two numbers with so many decimals: only odd multiples of a power of two are. */
function isBetween(size: number, decimals: number): boolean {
  return (size * 2 ** (decimals + 1)) % 2 === 1;
}

/** A non-negative number with so many decimals: "%.*f". */
function fixed(size: number, decimals: number): string {
  if (!isBetween(size, decimals)) return size.toFixed(decimals);
  const below = Math.floor(size * 10 ** decimals);
  return ((below + (below % 2)) / 10 ** decimals).toFixed(decimals);
}

/** A very large number with three significant digits: "%.3g". */
function threeDigits(size: number): string {
  if (!Number.isFinite(size)) return Number.isNaN(size) ? "nan" : "inf";
  const [digits, power] = size.toExponential(2).split("e+");
  return `${digits.replace(/\.?0+$/, "")}e+${power.padStart(2, "0")}`;
}

function groupDigits(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** 0.03, 2.1, 31.4, 388 */
function decimalsOf(shown: number): number {
  return shown >= 99.95 ? 0 : shown >= 0.95 || shown === 0 ? 1 : 2;
}

function printSize(scale: Scale, size: number): string {
  if (size < 1e15 && (scale.one === 1 || decimalsOf(size) === 0)) return groupDigits(Math.round(size));
  if (!(size < 1e9)) return threeDigits(size); /* damaged figures must not overrun a column */
  return fixed(size, decimalsOf(size));
}

function printScaled(scale: Scale, value: number): string {
  const shown = value / scale.one;
  const whole = Math.abs(shown) < 1e15 && (scale.one === 1 || decimalsOf(Math.abs(shown)) === 0);
  const sign = (whole ? shown <= -0.5 : shown < 0) ? MINUS : "";
  return sign + printSize(scale, Math.abs(shown)) + scale.suffix;
}

// --- figures ---

/** 12.4 MiB, 412,918: a value in its unit, with a minus sign if it is negative. */
export function formatValue(unit: Unit, value: number): string {
  return printScaled(scaleOf(unit, value), value);
}

/** 12.4 MiB */
export function formatBytes(bytes: number): string {
  return formatValue("bytes", bytes);
}

/** 412,918; 1.03 M */
export function formatCount(count: number): string {
  return formatValue("calls", count);
}

/** 1,030,412: every digit */
export function formatExact(count: number): string {
  if (!(count > 0)) return "0";
  return count < 2 ** 64 ? groupDigits(Math.round(count)) : threeDigits(count);
}

/** "+1.2 MiB", "−3 KiB", "0 B" */
export function formatChange(unit: Unit, value: number): string {
  const size = formatValue(unit, Math.abs(value));
  return (value > 0 ? "+" : value < 0 ? MINUS : "") + size;
}

/** 512 KiB: a round number stays one. */
export function formatSetting(bytes: number): string {
  let i = 0;
  while (i + 1 < BYTE_SCALES.length && bytes >= BYTE_SCALES[i + 1].one) i++;
  const { one, suffix } = BYTE_SCALES[i];
  return bytes % one === 0 ? `${bytes / one}${suffix}` : formatBytes(bytes);
}

/** The ending of the noun after a figure: "1 block", "at most 1 block", "2 blocks". */
export function plural(figure: string): string {
  return /(^| )1$/.test(figure) ? "" : "s";
}

/** "1 block", "2 blocks" */
export function counted(figure: string, noun: string): string {
  return `${figure} ${noun}${plural(figure)}`;
}

/** ", to within 256 KiB": how far a peak may be off, if that matters; else "". If it may be off by more than itself,
 * ", at most 5.4 MiB": no more than all that was allocated. */
export function formatSlack(peakBytes: number, slackBytes: number, allocatedBytes: number): string {
  if (!(slackBytes > peakBytes * SLACK_MATTERS)) return "";
  if (slackBytes < peakBytes) return `, to within ${formatBytes(slackBytes)}`;
  return `, at most ${formatBytes(Math.min(peakBytes + slackBytes, allocatedBytes))}`;
}

/** 38.1% */
export function formatPercent(fraction: number): string {
  const known = Number.isFinite(fraction) ? fraction : 0;
  return `${fixed(Math.max(0, Math.min(known, 1)) * 100, 1)}%`;
}

// --- estimates ---

/** Whole numbers are shown without decimals, scaled ones with two at most. */
function readsAsZero(scale: Scale, value: number): boolean {
  return !(value / scale.one >= (scale.one === 1 ? 0.5 : 0.005));
}

/** max(value, 0), but 0 for NaN, like fmax() in C. */
function notNegative(value: number): number {
  return value > 0 ? value : 0;
}

/**
 * The error of an estimate, in the unit of its value: "± 0.3 MiB". An error that would read as zero or as thousands
 * there has its own unit. "" if the figure is exact, or the error is less than half a byte, call or block.
 */
export function formatError(unit: Unit, estimate: Estimate): string {
  const { value, error } = estimate;
  if (!(error > 0)) return "";
  let scale = scaleOf(unit, notNegative(value));
  if (readsAsZero(scale, error) || !(value > 0) || error >= MANY * scale.one) scale = scaleOf(unit, error);
  return readsAsZero(scale, error) ? "" : `± ${printScaled(scale, error)}`;
}

/** The error is as large as the figure, so the true value, or the change, may be zero. */
export function isUnsure({ value, error }: Estimate): boolean {
  return value !== 0 && error >= Math.abs(value);
}

/** Hardly more is known than the upper end: no sample, or an error of thirty times the figure. Not for changes. */
const VAGUE = 30;
export function isVague({ value, error, low, high }: Estimate): boolean {
  return high > 0 && low >= 0 && !(value * VAGUE > error);
}

/** "2.1 MiB ± 0.3 MiB"; "at most 1.2 MiB" if it is vague. */
export function formatEstimate(unit: Unit, estimate: Estimate): string {
  if (isVague(estimate)) return `at most ${formatValue(unit, estimate.high)}`;
  const error = formatError(unit, estimate);
  return formatValue(unit, estimate.value) + (error && ` ${error}`);
}

/** A change with its error: "+2.1 MiB ± 0.3 MiB", "−3 KiB". */
export function formatChangeEstimate(unit: Unit, change: Estimate): string {
  const error = formatError(unit, { ...change, value: Math.abs(change.value) });
  return formatChange(unit, change.value) + (error && ` ${error}`);
}

// --- times ---

const LONG_TIMES = [
  { seconds: 86400, large: "d", small: "h", smallSeconds: 3600 },
  { seconds: 3600, large: "h", small: "min", smallSeconds: 60 },
  { seconds: 60, large: "min", small: "s", smallSeconds: 1 },
] as const;

/** 12.8 s; 3 min 20 s; 2 d 4 h */
export function formatSeconds(seconds: number): string {
  const long = LONG_TIMES.find((time) => seconds >= 2 * time.seconds);
  if (long) {
    const large = Math.floor(seconds / long.seconds);
    const small = Math.floor((seconds - large * long.seconds) / long.smallSeconds);
    return `${large} ${long.large} ${small} ${long.small}`;
  }
  return seconds >= 0.9995 ? `${fixed(seconds, 1)} s` : `${fixed(notNegative(seconds * 1e3), 0)} ms`;
}

const SPANS = [
  { seconds: 1e-9, below: 1e-6, name: "ns" },
  { seconds: 1e-6, below: 1e-3, name: "µs" },
  { seconds: 1e-3, below: 1, name: "ms" },
  { seconds: 1, below: 120, name: "s" },
  { seconds: 60, below: 2 * 3600, name: "min" },
  { seconds: 3600, below: 2 * 86400, name: "h" },
  { seconds: 86400, below: Infinity, name: "d" },
] as const;

/** 1.5 µs; 20 ms; 12.8 s: without trailing zeros. */
export function formatSpan(seconds: number): string {
  if (!(seconds > 0)) return "0";
  const span = SPANS.find(({ below }) => seconds < below * 0.9995) ?? SPANS[SPANS.length - 1];
  const shown = seconds / span.seconds;
  if (shown >= 1e6) return `${threeDigits(shown)} ${span.name}`; /* damaged figures must not overrun a column */
  return `${shown >= 99.95 ? fixed(shown, 0) : String(Math.round(shown * 10) / 10)} ${span.name}`;
}
