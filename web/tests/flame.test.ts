// SPDX-License-Identifier: MIT
// flame.test.ts - the model of the flame graph: search, links, visible boxes, colours, facts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Role } from "../src/data/profile";
import { wholeDataset } from "../src/model/figures/dataset";
import { between, boxAt, extentOf, findVisible, LEAST_PX, newVisible } from "../src/model/flame/boxes";
import {
  assignSlots,
  classesOf,
  contrast,
  legendOf,
  packageName,
  relativeChange,
  SCHEMES,
  SLOTS,
} from "../src/model/flame/colours";
import { announce, factsOf, stackText } from "../src/model/flame/box_texts";
import {
  findMatches,
  findPath,
  keyMatcher,
  nextMatch,
  searchExpression,
  searchProblem,
  writePath,
} from "../src/model/flame/find";
import { keyName, makeTree, type Shape, type Subject, type Tree } from "../src/model/flame/tree";
import { buildProfile, type BuiltSite } from "./lib/build";

const USUAL: Shape = { by: "stack", inverted: false, frames: "usual" };

function subjectOf(sites: BuiltSite[], difference = false): Subject {
  const functions = { memcpy: { role: Role.Library, module: "/lib/libc.so.6" }, f: { full: "ns::f(int)" } };
  const dataset = wholeDataset(buildProfile({ sites, functions, difference }));
  const values = dataset.values("allocated").map((value, i) => (i < dataset.base ? -value : value));
  return { dataset, included: new Uint8Array(dataset.count).fill(1), values, metric: "allocated" };
}

function site(stack: string, bytes: number, more: Partial<BuiltSite> = {}): BuiltSite {
  return { stack: stack.split(" > "), calls: 1, bytes, ...more };
}

const SITES = [
  site("main m.c:1 > f f.c:10 > g g.c:1 > f f.c:20", 60),
  site("main m.c:2 > f f.c:11", 30),
  site("main m.c:3 > h h.c:3 > memcpy", 10, { tag: "copying", thread: "worker" }),
];

function boxCalled(of: Subject, tree: Tree, name: string): number {
  for (let box = 0; box < tree.count; box++) if (keyName(of.dataset.profile, tree.key[box]) === name) return box;
  return -1;
}

function search(of: Subject, tree: Tree, words: string) {
  const expression = searchExpression(words);
  assert.ok(expression);
  return findMatches(tree, keyMatcher(of.dataset.profile, expression));
}

test("a match inside another match counts once", () => {
  const of = subjectOf(SITES);
  const found = search(of, makeTree(of, USUAL), "^f$");
  assert.deepEqual([found.boxes, found.value], [2, 90]);
});

test("a search covers complete names, is case-sensitive if it has a capital, and ignores invalid expressions", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  assert.equal(search(of, tree, "NS::").boxes, 0);
  assert.equal(search(of, tree, "ns::f\\(").boxes, 2);
  assert.equal(search(of, tree, "\\Sain").boxes, 1);
  assert.equal(searchExpression("f("), null);
  assert.equal(searchExpression(""), null);
});

test("the next match wraps around in both directions", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  const found = search(of, tree, "^f$");
  const first = nextMatch(found, -1, 1);
  const second = nextMatch(found, first, 1);
  assert.equal(tree.depth[first] < tree.depth[second], true);
  assert.equal(nextMatch(found, second, 1), first);
  assert.equal(nextMatch(found, first, -1), second);
  assert.equal(nextMatch(search(of, tree, "nothing"), 0, 1), -1);
});

test("a path is found in another reading, or as much of it as exists", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  const path = writePath(of.dataset.profile, tree, boxCalled(of, tree, "g"));
  const again = subjectOf([...SITES].reverse());
  const other = makeTree(again, USUAL);
  assert.equal(findPath(again.dataset.profile, other, path), boxCalled(again, other, "g"));
  const less = subjectOf(SITES.slice(1));
  const fewer = makeTree(less, USUAL);
  assert.equal(findPath(less.dataset.profile, fewer, path), boxCalled(less, fewer, "f"));
  assert.equal(findPath(of.dataset.profile, tree, "nonsense.-3._x"), 0);
  assert.equal(findPath(of.dataset.profile, tree, ""), 0);
});

test("paths go through tags and threads with any names", () => {
  for (const by of ["tag", "thread"] as const) {
    const of = subjectOf([site("main", 5, { tag: "a.b,c/d&%", thread: "x._-.\ud800<script>" }), site("main", 3)]);
    const tree = makeTree(of, { ...USUAL, by });
    for (let box = 0; box < tree.count; box++)
      assert.equal(findPath(of.dataset.profile, tree, writePath(of.dataset.profile, tree, box)), box);
  }
});

test("boxes that are too narrow become one rest, and are not descended into", () => {
  const many = Array.from({ length: 2000 }, (_, i) => site(`main > narrow${i} > below${i}`, 1));
  const of = subjectOf([site("main > wide > deeper", 2000), ...many]);
  const tree = makeTree(of, USUAL);
  const visible = newVisible(4);
  findVisible(tree, extentOf(tree, 0), 400, tree.deepest, visible);
  const names = Array.from(visible.box.subarray(0, visible.count), (box) => keyName(of.dataset.profile, tree.key[box]));
  assert.deepEqual(names.slice(0, 3), ["all", "main", "wide"]);
  assert.deepEqual(Array.from(visible.rest.subarray(0, visible.count)), [0, 0, 0, 1, 0]);
  assert.equal(visible.right[3] - visible.left[3], 200);
  for (let i = 0; i < visible.count; i++) assert.ok(visible.right[i] - visible.left[i] >= LEAST_PX);
});

test("with a zoom, only boxes inside it are visible, and a point is in the box that is drawn there", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  const h = boxCalled(of, tree, "h");
  const visible = newVisible();
  findVisible(tree, extentOf(tree, h), 300, tree.deepest, visible);
  const names = Array.from(visible.box.subarray(0, visible.count), (box) => keyName(of.dataset.profile, tree.key[box]));
  assert.deepEqual(names, ["all", "main", "h", "memcpy"]);
  findVisible(tree, extentOf(tree, 0), 300, tree.deepest, visible);
  for (let i = 0; i < visible.count; i++) {
    const where = (((visible.left[i] + visible.right[i]) / 2) * tree.size[0]) / 300;
    assert.equal(boxAt(tree, where, tree.depth[visible.box[i]]), visible.box[i]);
  }
  assert.equal(boxAt(tree, 65, 3), -1); /* f's own part */
  assert.equal(boxAt(tree, 100, 0), -1);
});

test("the animation of a zoom begins and ends at the right extents, and stays between them", () => {
  const whole = { from: 0, to: 1000 };
  const part = { from: 600, to: 610 };
  assert.deepEqual(between(whole, part, 0), whole);
  for (const step of [0.25, 0.5, 0.75, 1]) {
    const { from, to } = between(whole, part, step);
    assert.ok(from >= 0 && from <= 600 + 1e-9 && to >= 610 - 1e-9 && to <= 1000);
  }
  assert.ok(Math.abs(between(whole, part, 1).from - 600) < 1e-6);
});

test("text has enough contrast on every colour, in light and in dark", () => {
  for (const scheme of Object.values(SCHEMES)) {
    for (const slot of [null, ...Array(SLOTS).keys()])
      for (const pale of [false, true])
        assert.ok(contrast(scheme.text, scheme.fill(slot, pale)) >= 4.5, `${slot} ${pale}`);
    for (let change = -1; change <= 1; change += 0.125) assert.ok(contrast(scheme.text, scheme.change(change)) >= 4.5);
    assert.ok(contrast(scheme.dimText, scheme.dimFill) >= 4.5);
  }
  assert.ok(Math.abs(contrast([0, 0, 0], [255, 255, 255]) - 21) < 1e-9);
});

test("a name has the same colour in every run, and names share a colour only if there are too many", () => {
  const names = ["libc.so.6", "server", "libz.so.1", "libssl.so.3", "libcrypto.so.3", "libpython3.11.so.1.0"];
  const slots = assignSlots(names);
  assert.deepEqual(assignSlots([...names].reverse()), slots);
  assert.equal(new Set(slots.values()).size, names.length);
  assert.equal(assignSlots(Array.from({ length: 100 }, (_, i) => `m${i}`)).size, 100);
});

test("a package is the namespace, or the directory, or the module", () => {
  assert.equal(packageName("std::vector<int>::push_back", "bits/vector.h", "app"), "std");
  assert.equal(packageName("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "", "app"), "alloc");
  assert.equal(packageName("Map<int>::get", "", "app"), "Map");
  assert.equal(packageName("parse_line", "src/parse.c", "app"), "src");
  assert.equal(packageName("parse_line", "parse.c", "app"), "app");
});

test("by tag, a box has the colour of a tag if all of it has that tag; the legend is sorted by area", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  const classes = classesOf(of.dataset.profile, tree, "tag", of);
  const name = (box: string) => classes.names[classes.of(boxCalled(of, tree, box))];
  assert.deepEqual([name("main"), name("h"), name("g")], ["several tags", "copying", "(no tag)"]);
  const modules = legendOf(of.dataset.profile, tree, classesOf(of.dataset.profile, tree, "module", of), 1);
  assert.deepEqual([modules.rows[0].name, modules.rows[0].pale, modules.others], ["program", false, 1]);
});

test("a relative change is from -1 (gone) to 1 (new)", () => {
  const before = [site("gone", 5, { before: true }), site("half", 4, { before: true })];
  const of = subjectOf([...before, site("half", 8), site("new", 3)], true);
  const tree = makeTree(of, USUAL);
  const change = (name: string) => relativeChange(tree, boxCalled(of, tree, name));
  assert.deepEqual([change("gone"), change("half"), change("new")], [-1, 0.5, 1]);
});

test("facts include the complete name, module, file, lines, shares and figures", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  const totals = of.dataset.profile.header.totals;
  const facts = factsOf(of, tree, boxCalled(of, tree, "f"), totals);
  assert.deepEqual([facts.name, facts.where, facts.note], ["ns::f(int)", "program · f.c:10, 11", ""]);
  const texts = Object.fromEntries(facts.facts.map(({ label, text }) => [label, text]));
  assert.equal(texts["of all"], "90.0%");
  assert.equal(texts["self"], "30 B");
  assert.equal(texts["calls"], "2");
  assert.equal(texts["mean size"], "45 B");
  assert.match(announce(of, tree, boxCalled(of, tree, "h")), /^h, 10 B, 10\.0%, depth 2 of 4, 1 inside$/);
});

test("the facts of the root say if the total differs from the sum of sites", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  const { totals } = of.dataset.profile.header;
  const counted = { ...totals, alloc_space: { value: 120, error: 0, low: 120, high: 120 } };
  assert.match(factsOf(of, tree, 0, counted).note, /sum of sites.*120 B/);
  assert.equal(factsOf(of, tree, 1, counted).note, "");
});

test("a copied stack is innermost first, one frame per line, also in the inverted graph", () => {
  const of = subjectOf(SITES);
  const tree = makeTree(of, USUAL);
  assert.equal(stackText(of, tree, boxCalled(of, tree, "g"), true), "g g.c:1\nns::f(int) f.c:10\nmain m.c:1");
  const inverted = makeTree(of, { ...USUAL, inverted: true });
  assert.equal(stackText(of, inverted, boxCalled(of, inverted, "g"), false), "ns::f(int) f.c:20\ng g.c:1");
});

test("an invalid regular expression has a message that says why", () => {
  assert.equal(searchProblem("foo.*bar"), null);
  assert.equal(searchProblem(""), null);
  assert.match(searchProblem("foo(") ?? "", /^unterminated group/);
  assert.match(searchProblem("a: [") ?? "", /^unterminated character class/);
  assert.equal(searchExpression("foo("), null);
});
