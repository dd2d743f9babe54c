// SPDX-License-Identifier: MIT
// metric.test.ts - the page's metrics are those of the reader.

import assert from "node:assert/strict";
import { test } from "node:test";
import { METRICS } from "../src/model/figures/metric";
import { givenProfiles, NOTHING_GIVEN, readSource } from "./lib/given";

test("each row of PL_METRICS is a metric of the page, with the same words", { skip: NOTHING_GIVEN }, () => {
  const [table] = /#define PL_METRICS\(X\)(.*\\\n)*.*\n/.exec(readSource("src/reader/profile.h")) ?? [""];
  const rows = [...table.matchAll(/X\(\w+, "(\w+)", "([\w-]+)", "(\w+)", "([^"]+)"\)/g)].map((row) => row.slice(1, 5));
  assert.ok(rows.length > 0, table);
  const ours = METRICS.map(({ key, metric, unit, help }) => [key, metric, unit, help]);
  assert.deepEqual(ours.sort(), rows.sort());
});

test("page data have a figure for each metric of the page, and no others", { skip: NOTHING_GIVEN }, () => {
  const { totals } = givenProfiles()[0].open().header;
  const isFigure = (each: unknown) => each !== null && typeof each === "object" && "error" in each;
  const figures = Object.entries(totals).filter(([, each]) => isFigure(each));
  assert.deepEqual(figures.map(([key]) => key).sort(), METRICS.map(({ key }) => key).sort());
});
