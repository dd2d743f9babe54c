// SPDX-License-Identifier: MIT
// estimate.ts - from sums over samples to figures with 95% intervals: the mathematics of src/reader/estimate.c.
//
// V, a sum of weights, comes with S, its estimated variance. Measured in units of the spread s = S/V it behaves like a
// Poisson count, so the ends of the interval are those of a Poisson count (mid-P, in closed form), times s:
//
//     V + s (2z² + 1)/6 ± z √(S + s²/2)            z = 1.96
//
// docs/maths.md has the derivation, and where it is a lie.
//
// Invariant: low <= value <= high, and low == value == high iff nothing had to be estimated.

import type { Estimate } from "../data/header";

const Z = 1.959963984540054; /* 95% of a normal distribution lie within */
const RULE_OF_THREE = 2.995732273553991; /* -log 0.05 */
const ROUNDING = 1e-10; /* what is this much smaller than what was subtracted from is rounding, not memory */

/** What samples stand for, of objects or of bytes. */
export interface Sampled {
  value: number;
  variance: number;
}

/** Samples, and the objects that they stand for. */
export interface Samples {
  objects: number;
  samples: number;
}

/** A figure that is known. Sums come from a file that may hold anything: what is no figure counts as nothing. */
export function exactly(value: number): Estimate {
  const known = value > 0 && Number.isFinite(value) ? value : 0;
  return { value: known, error: 0, low: known, high: known };
}

/**
 * No sample, where each would have had this spread: the rule of three, as exp(-3) is 5%. Large blocks are the reason
 * for the logarithm: with p = 0.99 a second unseen block is out of the question, with p = 0.9 the first one is not.
 */
export function nothingSeen(spread: number, unit: number): Estimate {
  const high = RULE_OF_THREE * (unit > 0 ? unit / Math.log1p(unit / spread) : spread);
  return Number.isFinite(high) ? { value: 0, error: high, low: 0, high } : exactly(0);
}

/** The end of the interval on the side of z. */
function limit(value: number, variance: number, spread: number, z: number): number {
  return value + (spread * (2 * z * z + 1)) / 6 + z * Math.sqrt(variance + (spread * spread) / 2);
}

/**
 * When weights differ, the truth is further above V than below: a V that is low for want of a heavy sample has too low
 * an S with it. So the upper end takes a larger spread, by how uneven the samples are (effective < samples) and by how
 * little so few samples can tell of it.
 */
function upperSpread(spread: number, effective: number, samples: number): number {
  const even = Math.min(Math.max(effective, 1), samples);
  return spread * (1 + 1 / Math.sqrt(even) + (1 - even / samples));
}

/** `unit` is the mean size of what is counted; `heavy` the heavy samples' spread, 0 if not known. */
function interval(sampled: Sampled, samples: number, spread: number, unit: number, heavy: number): Estimate {
  const { value, variance } = sampled;
  const effective = variance / (spread * (spread + unit));
  const low = Math.min(Math.max(limit(value, variance, spread, -Z), 0), value);
  const high = limit(value, variance, Math.max(upperSpread(spread, effective, samples), heavy), Z);
  return Number.isFinite(high) ? { value, error: (high - low) / 2, low, high } : exactly(value);
}

/**
 * The spread of the uncertain part alone. Blocks taken with certainty (weight 1) add to V and not to S, and would
 * dilute S/V. The share of uncertain blocks is (objects - samples) / objects.
 */
function spreadOf({ value, variance }: Sampled, { objects, samples }: Samples): number {
  const plain = variance / value;
  const unseen = objects - samples;
  if (!(unseen > ROUNDING * objects)) return plain;
  return Math.max(plain, (variance * objects) / (value * unseen) - value / objects);
}

function canEstimate({ value, variance }: Sampled, { samples }: Samples): boolean {
  return value > 0 && variance > 0 && samples > 0;
}

export function estimateSampled(sampled: Sampled, of: Samples, heavy: number): Estimate {
  if (!canEstimate(sampled, of)) return exactly(sampled.value);
  return interval(sampled, of.samples, spreadOf(sampled, of), sampled.value / of.objects, heavy);
}

/** No sample of a part does not mean none of it: samples of the whole tell how much one more would have stood for. */
export function noneSeenOf(whole: Sampled, of: Samples, heavy: number): Estimate {
  if (!canEstimate(whole, of)) return exactly(0);
  return nothingSeen(Math.max(spreadOf(whole, of), heavy), whole.value / of.objects);
}

/** What was counted is certain, and the interval is that of the samples. */
export function withExact(exact: number, sampled: Estimate): Estimate {
  const certain = exactly(exact).value;
  if (!(certain > 0)) return sampled;
  return {
    value: certain + sampled.value,
    error: (sampled.high - sampled.low) / 2,
    low: certain + sampled.low,
    high: certain + sampled.high,
  };
}

/**
 * The spread where the variance comes from: S/V is its mean over the figure, this is its mean over the variance. They
 * are far apart where few heavy samples make the variance, and thousands of light ones the figure.
 */
export function heavySpread(skew: number, variance: number): number {
  const heavy = skew / variance;
  return Number.isFinite(heavy) ? heavy : 0;
}

/** As much as three samples would have stood for may hide behind the want of one. */
export function widen(estimate: Estimate, spread: number): Estimate {
  const high = estimate.high + RULE_OF_THREE * spread;
  return { ...estimate, high, error: (high - estimate.low) / 2 };
}

/** What is left of a sum; sums of the same samples in another order differ in their last bits. */
export function restOf(from: number, what: number): number {
  const rest = from - what;
  return rest > from * ROUNDING ? rest : 0;
}

/** Of two figures that have nothing to do with each other. */
export function subtract(from: Estimate, what: Estimate): Estimate {
  const value = from.value - what.value;
  return {
    value,
    error: Math.hypot(from.error, what.error),
    low: value - Math.hypot(from.value - from.low, what.high - what.value),
    high: value + Math.hypot(from.high - from.value, what.value - what.low),
  };
}

/** Of a figure that only grows, later and earlier: what was sampled before is in both, and takes its error with it. */
export function subtractEarlier(later: Estimate, earlier: Estimate): Estimate {
  const value = later.value - earlier.value;
  const error = Math.sqrt(Math.max(later.error ** 2 - earlier.error ** 2, 0));
  return { value, error, low: value - error, high: value + error };
}
