// SPDX-License-Identifier: MIT
// format.test.ts - figures are formatted as in reports: compares thousands of them with the output of figure.c.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/model/figures/format";
import { NOTHING_GIVEN, readGiven } from "./lib/given";

type Write = (value: number, error: number, high: number) => string;

const WRITERS: Record<string, Write> = {
  bytes: format.formatBytes,
  count: format.formatCount,
  seconds: format.formatSeconds,
  span: format.formatSpan,
  percent: format.formatPercent,
  exact: format.formatExact,
  setting: format.formatSetting,
  slack: format.formatSlack,
  "estimate-bytes": (value, error, high) => format.formatEstimate("bytes", { value, error, low: 0, high }),
  "estimate-count": (value, error, high) => format.formatEstimate("blocks", { value, error, low: 0, high }),
};

test("every figure is formatted as by figure.c", { skip: NOTHING_GIVEN }, () => {
  const lines = readGiven("figures.txt").trimEnd().split("\n");
  const wrong = lines.filter((line) => {
    const [name, value, error, high, text] = line.split("\t");
    return WRITERS[name](Number(value), Number(error), Number(high)).replace("\u2212", "-") !== text;
  });
  assert.ok(lines.length > 5000, `${lines.length} lines`);
  assert.deepEqual(new Set(lines.map((line) => line.split("\t")[0])), new Set(Object.keys(WRITERS)));
  const shown = wrong.slice(0, 10).map((line) => {
    const [name, value, error, high] = line.split("\t");
    return `${line}: ${WRITERS[name](Number(value), Number(error), Number(high))}`;
  });
  assert.equal(wrong.length, 0, `${wrong.length} are wrong:\n${shown.join("\n")}`);
});

test("ties are rounded to even", () => {
  assert.equal(format.formatBytes(1280), "1.2 KiB");
  assert.equal(format.formatBytes(1408), "1.4 KiB");
  assert.equal(format.formatBytes(1.75 * 2 ** 20), "1.8 MiB");
});

test("changes have a sign, and zero has none", () => {
  assert.equal(format.formatChange("bytes", 1.2 * 2 ** 20), "+1.2 MiB");
  assert.equal(format.formatChange("bytes", -3 * 1024), "\u22123.0 KiB");
  assert.equal(format.formatChange("calls", 0), "0");
  const change = { value: -2 * 2 ** 20, error: 2 ** 18, low: 0, high: 0 };
  assert.equal(format.formatChangeEstimate("bytes", change), "\u22122.0 MiB ± 0.25 MiB");
  assert.equal(format.formatChangeEstimate("calls", { value: 7, error: 0, low: 7, high: 7 }), "+7");
});

test("an exact figure has no error, and one without a sample is written as \"at most\"", () => {
  assert.equal(format.formatEstimate("bytes", { value: 2048, error: 0, low: 2048, high: 2048 }), "2.0 KiB");
  assert.equal(format.formatEstimate("blocks", { value: 0, error: 5, low: 0, high: 5 }), "at most 5");
  assert.equal(format.formatEstimate("blocks", { value: 1, error: 50859, low: 1, high: 50860 }), "at most 50,860");
  assert.equal(format.formatEstimate("blocks", { value: 1, error: 9, low: 1, high: 19 }), "1 ± 9");
  assert.equal(format.formatEstimate("blocks", { value: 0, error: 0, low: 0, high: 0 }), "0");
});

test("a noun after a figure has the right ending", () => {
  assert.deepEqual(["1", "at most 1", "2", "11", "1 M", "1,001"].map(format.plural), ["", "", "s", "s", "s", "s"]);
});

test("NaN, infinities and huge numbers are written as short texts", () => {
  const { formatBytes, formatCount, formatSeconds, formatSpan, formatExact } = format;
  for (const value of [NaN, Infinity, -Infinity, 1e300])
    for (const write of [formatBytes, formatCount, formatSeconds, formatSpan, formatExact])
      assert.ok(write(value).length < 48);
  assert.equal(format.formatPercent(NaN), "0.0%");
});
