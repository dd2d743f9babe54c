// SPDX-License-Identifier: MIT
// sorting.test.ts - sorting, filters, and cells for the clipboard.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  nextSort,
  orderRows,
  parseFilter,
  parseSort,
  plainCell,
  rankTexts,
  rememberTests,
  writeSort,
} from "../src/model/tables/sorting";

const order = (keys: number[], descending = false, keep: ((row: number) => boolean) | null = null) =>
  Array.from(orderRows(keys.length, keys, descending, keep));

test("rows are sorted by their keys, in either direction", () => {
  assert.deepEqual(order([3, 1, 2]), [1, 2, 0]);
  assert.deepEqual(order([3, 1, 2], true), [0, 2, 1]);
  assert.deepEqual(order([-5, 0, 5], true), [2, 1, 0]);
});

test("sorting is stable in either direction", () => {
  assert.deepEqual(order([1, 0, 1, 0, 1]), [1, 3, 0, 2, 4]);
  assert.deepEqual(order([1, 0, 1, 0, 1], true), [0, 2, 4, 1, 3]);
});

test("NaN comes last in either direction, and infinities are beyond all numbers", () => {
  assert.deepEqual(order([NaN, 1, NaN, 0]), [3, 1, 0, 2]);
  assert.deepEqual(order([NaN, 1, NaN, 0], true), [1, 3, 0, 2]);
  assert.deepEqual(order([Infinity, NaN, -Infinity, 1e300]), [2, 3, 0, 1]);
});

test("rows that do not pass the filter are left out", () => {
  assert.deepEqual(order([3, 1, 2], false, (row) => row !== 1), [2, 0]);
});

test("100,000 rows are sorted, and none is lost or duplicated", () => {
  let seed = 1;
  const keys = Float64Array.from({ length: 100_000 }, () => (seed = (seed * 48271) % 2147483647) % 1000);
  const rows = orderRows(keys.length, keys, true, null);
  assert.equal(new Set(rows).size, keys.length);
  for (let i = 1; i < rows.length; i++) {
    const [a, b] = [rows[i - 1], rows[i]];
    assert.ok(keys[a] > keys[b] || (keys[a] === keys[b] && a < b), `at ${i}`);
  }
});

test("texts are ranked regardless of case, numbers in them by value, equal texts equally", () => {
  const texts = ["b10", "B9", "a", "b10"];
  assert.deepEqual(Array.from(rankTexts(texts.length, (row) => texts[row])), [2, 1, 0, 2]);
});

test("an order is written as in the URL, and a second click reverses it", () => {
  assert.deepEqual(parseSort("-live"), { column: "live", descending: true });
  assert.equal(writeSort(parseSort("-live")), "-live");
  assert.equal(writeSort(nextSort(parseSort("-live"), "live", true)), "live");
  assert.equal(writeSort(nextSort(parseSort("-live"), "calls", true)), "-calls");
  assert.equal(writeSort(nextSort(parseSort("-live"), "site", false)), "site");
});

test("a filter is plain text, or a regular expression between slashes", () => {
  assert.equal(parseFilter("  ").test, null);
  assert.equal(parseFilter("A.c").test?.("main a.c"), true);
  assert.equal(parseFilter("a.c").test?.("abc"), false);
  assert.equal(parseFilter("/^A.c$/").test?.("abc"), true);
  assert.equal(parseFilter("/^b/").test?.("abc"), false);
  assert.deepEqual(parseFilter("/(/"), { test: null, invalid: true });
  assert.equal(parseFilter("/").test?.("a/b"), true);
});

test("a text is tested once, however many rows have it", () => {
  let asked = 0;
  const passes = rememberTests((index) => `text ${index}`, (text) => ++asked > 0 && text.endsWith("1"));
  assert.deepEqual([passes(1), passes(2), passes(1), passes(2)], [true, false, true, false]);
  assert.equal(asked, 2);
});

test("a cell is one line, and never a formula", () => {
  assert.equal(plainCell("a\tb\r\nc\0"), "a b c ");
  assert.equal(plainCell("=1+1"), "'=1+1");
  assert.equal(plainCell("＝1"), "'＝1");
  assert.equal(plainCell("main"), "main");
});

test("a spreadsheet does not read a cell that begins with a quote as a quoted one", () => {
  assert.equal(plainCell('"=HYPERLINK(""x"")"'), `'"=HYPERLINK(""x"")"`);
  assert.equal(plainCell('"'), `'"`);
  assert.equal(plainCell("'=1+1"), "''=1+1");
  assert.equal(plainCell("\u2028=1"), "' =1");
  assert.equal(plainCell('operator""_s'), 'operator""_s');
});
