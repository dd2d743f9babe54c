// SPDX-License-Identifier: MIT
// search.test.ts - what is typed into the search field, and what is wrong with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { searchExpression, searchProblem } from "../src/model/flame_search";

test("what is no regular expression is said to be none, and why", () => {
  assert.equal(searchProblem("foo.*bar"), null);
  assert.equal(searchProblem(""), null);
  assert.match(searchProblem("foo(") ?? "", /^unterminated group/);
  assert.match(searchProblem("a: [") ?? "", /^unterminated character class/);
  assert.equal(searchExpression("foo("), null);
});
