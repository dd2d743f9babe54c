// SPDX-License-Identifier: MIT
// state.test.ts - a link contains the selection, and a damaged link does no harm.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as state from "../src/state";
import { COLOURINGS, GROUPINGS, NO_SUCH_TAG, TABS, usualState, type State } from "../src/state";
import { buildProfile } from "./lib/build";

const USUAL = usualState("live");

function profileWith(...tags: string[]) {
  return buildProfile({ sites: tags.map((tag) => ({ stack: ["main"], calls: 1, bytes: 1, tag })) });
}

const KEYS = profileWith("a", "a/b", "c");
const readState = (link: string, usual: State) => state.readState(link, usual, KEYS);
const writeState = (now: State, usual: State) => state.writeState(now, usual, KEYS);

function changed(change: Partial<State>): State {
  return { ...USUAL, ...change };
}

const CHANGES: Partial<State>[] = [
  { metric: "peak" },
  { since: 0, until: 12.75 },
  { since: 1e-9 },
  { search: "^std::.*<a&b=c#d>+ %20é" },
  { tag: 0 },
  { tag: 3, thread: "" },
  { tag: NO_SUCH_TAG },
  { thread: "worker & co" },
  { focus: ["1a", "2b"], hide: ["3c"] },
  { picked: "k1", sandwich: "k2", zoom: "a/b/c" },
  { inverted: true, frames: "all" },
  { sort: "-live", columns: "live,calls", filter: "x y" },
  ...GROUPINGS.map((by) => ({ by })),
  ...COLOURINGS.map((colour) => ({ colour })),
  ...TABS.map((tab) => ({ tab })),
];

test("every selection can be restored from its link", () => {
  for (const change of CHANGES) {
    const state = changed(change);
    assert.deepEqual(readState(`#${writeState(state, USUAL)}`, USUAL), state, JSON.stringify(change));
  }
  const everything = changed(Object.assign({}, ...CHANGES) as Partial<State>);
  assert.deepEqual(readState(writeState(everything, USUAL), USUAL), everything);
});

test("default values are not in the link", () => {
  assert.equal(writeState(USUAL, USUAL), "");
  assert.equal(writeState(changed({ metric: "peak" }), USUAL), "metric=peak");
});

test("a link contains the differences from the defaults, also if these are others", () => {
  const peak = usualState("peak");
  const state = changed({});
  assert.deepEqual(readState(writeState(state, peak), peak), state);
});

test("invalid values are replaced by defaults", () => {
  const values = ["#metric=no", "by=%00", "tag=", "tab=<script>", "inverted=2"];
  const links = [...values, "since=-1&until=NaN", "since=9&until=1", "nonsense", "=&&=", "%E0%A4%A"];
  for (const link of links) assert.deepEqual(readState(link, USUAL), USUAL, link);
});

test("a link to a tag means that tag in profiles of other runs, or none if they do not have it", () => {
  const other = profileWith("new", "c", "a/b");
  const path = (profile: typeof KEYS, tag: number | null) => profile.header.tags[tag ?? NaN]?.path;
  KEYS.header.tags.forEach((_, tag) => {
    const link = state.writeState(changed({ tag }), USUAL, KEYS);
    assert.equal(path(other, state.readState(link, USUAL, other).tag), path(KEYS, tag));
  });
  const link = state.writeState(changed({ tag: 1 }), USUAL, other);
  assert.equal(readState(link, USUAL).tag, NO_SUCH_TAG);
});
