// SPDX-License-Identifier: MIT
// estimate.test.ts - confidence intervals: worked examples and invariants.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Estimate } from "../src/data/header";
import * as estimate from "../src/model/figures/estimate";
import { subtractEstimates } from "../src/model/figures/figures";

const EXACT_7: Estimate = { value: 7, error: 0, low: 7, high: 7 };

function inOrder({ low, value, high, error }: Estimate): boolean {
  return low >= 0 && low <= value && value <= high && error >= 0;
}

test("one sample of malloc(16) represents 6,554 calls, and says nothing about how few there may be", () => {
  const weight = 6554;
  const sampled = { value: weight, variance: weight * (weight - 1) };
  const one = estimate.estimateSampled(sampled, { objects: weight, samples: 1 }, 0);
  assert.equal(one.value, weight);
  assert.ok(one.low < 1, `${one.low}`);
  assert.ok(one.high > 5 * weight, `${one.high}`);
});

test("the interval narrows as samples accumulate, and as weights approach 1", () => {
  const spread = (samples: number, weight: number) => {
    const value = samples * weight;
    const sampled = { value, variance: value * (weight - 1) };
    const { low, high } = estimate.estimateSampled(sampled, { objects: value, samples }, 0);
    return (high - low) / value;
  };
  assert.ok(spread(10, 100) > spread(100, 100) && spread(100, 100) > spread(10000, 100));
  assert.ok(spread(100, 100) > spread(100, 1.1) && spread(100, 1.0001) < 0.01);
});

test("low, value and high are in order for any sums", () => {
  for (const value of [0.1, 1, 1000, 1e12])
    for (const variance of [1e-6, 1, 1e6, 1e24])
      for (const samples of [1, 3, 1e6])
        for (const heavy of [0, 10, 1e9]) {
          const got = estimate.estimateSampled({ value, variance }, { objects: value, samples }, heavy);
          assert.ok(inOrder(got), JSON.stringify({ value, variance, samples, heavy, got }));
        }
});

test("values that are not positive finite numbers count as 0", () => {
  for (const value of [NaN, Infinity, -1, 0])
    assert.deepEqual(estimate.exactly(value), { value: 0, error: 0, low: 0, high: 0 });
  assert.deepEqual(estimate.nothingSeen(Infinity, 0), estimate.exactly(0));
  const damaged = estimate.estimateSampled({ value: 5, variance: Infinity }, { objects: 5, samples: 2 }, 0);
  assert.deepEqual(damaged, estimate.exactly(5));
});

test("without a sample, the rule of three gives the upper end", () => {
  const none = estimate.nothingSeen(1000, 0);
  assert.equal(none.value, 0);
  assert.ok(Math.abs(none.high - 2995.7) < 0.1);
  assert.ok(estimate.nothingSeen(1000, 1e6).high > 1e5, "a part of one large block");
});

test("a counted part shifts the interval of the sampled part", () => {
  const rest = { value: 10, error: 5, low: 6, high: 16 };
  assert.deepEqual(estimate.withExact(0, rest), rest);
  assert.deepEqual(estimate.withExact(100, rest), { value: 110, error: 5, low: 106, high: 116 });
});

test("rounding errors of a subtraction count as 0", () => {
  assert.equal(estimate.restOf(0.1 + 0.2, 0.3), 0);
  assert.equal(estimate.restOf(5, 3), 2);
  assert.equal(estimate.restOf(3, 5), 0);
});

test("the squares of the errors of two runs add up", () => {
  const after = { value: 100, error: 3, low: 97, high: 103 };
  const before = { value: 60, error: 4, low: 56, high: 64 };
  assert.deepEqual(subtractEstimates(after, before, "alloc_space", false), { value: 40, error: 5, low: 35, high: 45 });
  assert.deepEqual(subtractEstimates(after, before, "inuse_space", true), { value: 40, error: 5, low: 35, high: 45 });
});

test("within one run, the error of earlier samples cancels", () => {
  const after = { value: 100, error: 5, low: 95, high: 105 };
  const before = { value: 60, error: 4, low: 56, high: 64 };
  assert.deepEqual(subtractEstimates(after, before, "alloc_space", true), { value: 40, error: 3, low: 37, high: 43 });
  assert.deepEqual(subtractEstimates(before, after, "alloc_objects", true).error, 0);
});

test("the peak is unknown for a time interval", () => {
  for (const key of ["peak_space", "peak_objects", "temp_objects"] as const)
    assert.deepEqual(subtractEstimates(EXACT_7, EXACT_7, key, true), { value: 0, error: 0, low: 0, high: 0 });
});
