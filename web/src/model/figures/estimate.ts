// SPDX-License-Identifier: MIT
// estimate.ts - computes figures with 95% confidence intervals from sums over samples, as src/reader/estimate.c does.
//
// V, a sum of weights, comes with S, its estimated variance. Measured in units of the spread s = S/V it behaves like a
// Poisson count, so the ends of the interval are those of a Poisson count (mid-P, in closed form), times s:
//
//     V + s (2z² + 1)/6 ± z √(S + s²/2)            z = 1.96
//
// docs/maths.md has the derivation, and says where it is wrong.
//
// Invariant: low <= value <= high, and low == value == high iff nothing had to be estimated.

import type { Estimate } from "../../data/header";

const Z = 1.959963984540054; /* 95% of a normal distribution lie within ± Z standard deviations */
const RULE_OF_THREE = 2.995732273553991; /* -log 0.05 */
const ROUNDING = 1e-10; /* a difference smaller than this, relative to the minuend, is a rounding error */

/** An estimate of objects or of bytes, from samples. */
export interface Sampled {
  value: number;
  variance: number;
}

/** The number of samples, and the number of objects that they represent. */
export interface Samples {
  objects: number;
  samples: number;
}

/** An exact figure. Sums come from a file that may contain anything: what is no positive number counts as 0. */
export function exactly(value: number): Estimate {
  const known = value > 0 && Number.isFinite(value) ? value : 0;
  return { value: known, error: 0, low: known, high: known };
}

/**
 * There is no sample, and each would have had this spread: the rule of three, since exp(-3) is 5%. The logarithm is for
 * large blocks: if p = 0.99, two unseen blocks are practically impossible; if p = 0.9, one unseen block is possible.
 */
export function nothingSeen(spread: number, unit: number): Estimate {
  const high = RULE_OF_THREE * (unit > 0 ? unit / Math.log1p(unit / spread) : spread);
  return Number.isFinite(high) ? { value: 0, error: high, low: 0, high } : exactly(0);
}

/** The upper (z > 0) or lower end of the interval. */
function limit(value: number, variance: number, spread: number, z: number): number {
  return value + (spread * (2 * z * z + 1)) / 6 + z * Math.sqrt(variance + (spread * spread) / 2);
}

/**
 * If weights differ, the true value is further above V than below: if V is low because a heavy sample is missing, S is
 * too low as well. So the upper end uses a larger spread. It grows with how uneven the samples are (effective <
 * samples), and with how uncertain that is if samples are few.
 */
function upperSpread(spread: number, effective: number, samples: number): number {
  const even = Math.min(Math.max(effective, 1), samples);
  return spread * (1 + 1 / Math.sqrt(even) + (1 - even / samples));
}

const LIMIT_OF_ONE = 0.04657; /* the plain lower limit of a count of 1 */
const STEEPNESS = 1.5;

/** The lower end for something that is shown because it has samples: 0 if it has one. See estimate.c. */
function lowerLimit(value: number, variance: number, spread: number): number {
  const low = Math.max(limit(value, variance, spread, -Z), 0);
  const factor = -Math.expm1(-STEEPNESS * (low / spread - LIMIT_OF_ONE));
  return Math.min(Math.max(low * factor, 0), value);
}

/** `unit` is the mean size of the objects; `heavy` is the spread of the heavy samples, 0 if unknown. */
function interval(sampled: Sampled, samples: number, spread: number, unit: number, heavy: number): Estimate {
  const { value, variance } = sampled;
  const effective = variance / (spread * (spread + unit));
  const low = lowerLimit(value, variance, spread);
  const high = limit(value, variance, Math.max(upperSpread(spread, effective, samples), heavy), Z);
  return Number.isFinite(high) ? { value, error: (high - low) / 2, low, high } : exactly(value);
}

/**
 * The spread of the uncertain part alone. Blocks sampled with certainty (weight 1) add to V and not to S, and would
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

/** A part without samples need not be empty: samples of the whole say how much one sample would have represented. */
export function noneSeenOf(whole: Sampled, of: Samples, heavy: number): Estimate {
  if (!canEstimate(whole, of)) return exactly(0);
  return nothingSeen(Math.max(spreadOf(whole, of), heavy), whole.value / of.objects);
}

/** Adds a counted part, which is certain: the interval is that of the samples. */
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
 * The mean spread weighted by variance; S/V is the mean weighted by value. The two are far apart if few heavy samples
 * make the variance and thousands of light ones make the value.
 */
export function heavySpread(skew: number, variance: number): number {
  const heavy = skew / variance;
  return Number.isFinite(heavy) ? heavy : 0;
}

function withEnds(value: number, low: number, high: number): Estimate {
  return { value, low, high, error: value > 0 ? (high - low) / 2 : high };
}

/** Beside the samples, blocks may exist of which none was sampled: the upper end is not below that. */
export function allowForTheHidden(estimate: Estimate, hidden: number): Estimate {
  const { value, low, high } = estimate;
  return value + hidden > high ? withEnds(value, low, value + hidden) : estimate;
}

/** The true peak may have been at another moment, with so much more or less. */
export function allowForTheMoment(estimate: Estimate, more: number, less: number): Estimate {
  if (!(more > 0) && !(less > 0)) return estimate;
  return withEnds(estimate.value, Math.max(estimate.low - less, 0), estimate.high + more);
}

/** `from` - `what`, without rounding errors: sums of the same samples in another order differ in their last bits. */
export function restOf(from: number, what: number): number {
  const rest = from - what;
  return rest > from * ROUNDING ? rest : 0;
}

/** The difference of two independent figures. */
export function subtract(from: Estimate, what: Estimate): Estimate {
  const value = from.value - what.value;
  return {
    value,
    error: Math.hypot(from.error, what.error),
    low: value - Math.hypot(from.value - from.low, what.high - what.value),
    high: value + Math.hypot(from.high - from.value, what.value - what.low),
  };
}

/** The growth of a figure that only grows: the earlier samples are in both, so their error cancels. */
export function subtractEarlier(later: Estimate, earlier: Estimate): Estimate {
  const value = later.value - earlier.value;
  const error = Math.sqrt(Math.max(later.error ** 2 - earlier.error ** 2, 0));
  return { value, error, low: value - error, high: value + error };
}
