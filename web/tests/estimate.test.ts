// SPDX-License-Identifier: MIT
// estimate.test.ts - intervals: worked examples, and what must hold for all of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Estimate } from "../src/data/header";
import * as estimate from "../src/model/estimate";
import { subtractEstimates } from "../src/model/figures";

const EXACT_7: Estimate = { value: 7, error: 0, low: 7, high: 7 };

function inOrder({ low, value, high, error }: Estimate): boolean {
  return low >= 0 && low <= value && value <= high && error >= 0;
}

test("one sample of malloc(16) stands for 6,554 calls, and for 306 at least", () => {
  const weight = 6554;
  const sampled = { value: weight, variance: weight * (weight - 1) };
  const one = estimate.estimateSampled(sampled, { objects: weight, samples: 1 }, 0);
  assert.equal(one.value, weight);
  assert.ok(Math.abs(one.low - 306) < 1, `${one.low}`);
  assert.ok(one.high > 5 * weight, `${one.high}`);
});

test("the interval closes as samples accumulate, and as weights approach 1", () => {
  const spread = (samples: number, weight: number) => {
    const value = samples * weight;
    const sampled = { value, variance: value * (weight - 1) };
    const { low, high } = estimate.estimateSampled(sampled, { objects: value, samples }, 0);
    return (high - low) / value;
  };
  assert.ok(spread(10, 100) > spread(100, 100) && spread(100, 100) > spread(10000, 100));
  assert.ok(spread(100, 100) > spread(100, 1.1) && spread(100, 1.0001) < 0.01);
});

test("low, value and high are in order, whatever the sums", () => {
  for (const value of [0.1, 1, 1000, 1e12])
    for (const variance of [1e-6, 1, 1e6, 1e24])
      for (const samples of [1, 3, 1e6])
        for (const heavy of [0, 10, 1e9]) {
          const got = estimate.estimateSampled({ value, variance }, { objects: value, samples }, heavy);
          assert.ok(inOrder(got), JSON.stringify({ value, variance, samples, heavy, got }));
        }
});

test("what is no figure counts as nothing", () => {
  for (const value of [NaN, Infinity, -1, 0])
    assert.deepEqual(estimate.exactly(value), { value: 0, error: 0, low: 0, high: 0 });
  assert.deepEqual(estimate.nothingSeen(Infinity, 0), estimate.exactly(0));
  const damaged = estimate.estimateSampled({ value: 5, variance: Infinity }, { objects: 5, samples: 2 }, 0);
  assert.deepEqual(damaged, estimate.exactly(5));
});

test("without a sample the rule of three says how much there may be", () => {
  const none = estimate.nothingSeen(1000, 0);
  assert.equal(none.value, 0);
  assert.ok(Math.abs(none.high - 2995.7) < 0.1);
  assert.ok(estimate.nothingSeen(1000, 1e6).high > 1e5, "of large blocks, a part of one");
});

test("what was counted is certain, and moves the interval of the rest", () => {
  const rest = { value: 10, error: 5, low: 6, high: 16 };
  assert.deepEqual(estimate.withExact(0, rest), rest);
  assert.deepEqual(estimate.withExact(100, rest), { value: 110, error: 5, low: 106, high: 116 });
});

test("what rounding leaves of a subtraction is nothing", () => {
  assert.equal(estimate.restOf(0.1 + 0.2, 0.3), 0);
  assert.equal(estimate.restOf(5, 3), 2);
  assert.equal(estimate.restOf(3, 5), 0);
});

test("errors of two runs add up as squares do", () => {
  const after = { value: 100, error: 3, low: 97, high: 103 };
  const before = { value: 60, error: 4, low: 56, high: 64 };
  assert.deepEqual(subtractEstimates(after, before, "alloc_space", false), { value: 40, error: 5, low: 35, high: 45 });
  assert.deepEqual(subtractEstimates(after, before, "inuse_space", true), { value: 40, error: 5, low: 35, high: 45 });
});

test("of one run, what was sampled before takes its error with it", () => {
  const after = { value: 100, error: 5, low: 95, high: 105 };
  const before = { value: 60, error: 4, low: 56, high: 64 };
  assert.deepEqual(subtractEstimates(after, before, "alloc_space", true), { value: 40, error: 3, low: 37, high: 43 });
  assert.deepEqual(subtractEstimates(before, after, "alloc_objects", true).error, 0);
});

test("of a stretch of time no peak is known", () => {
  for (const key of ["peak_space", "peak_objects", "temp_objects"] as const)
    assert.deepEqual(subtractEstimates(EXACT_7, EXACT_7, key, true), { value: 0, error: 0, low: 0, high: 0 });
});
