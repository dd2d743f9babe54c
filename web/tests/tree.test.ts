// SPDX-License-Identifier: MIT
// tree.test.ts - the tree of the flame graph.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Role, type Profile } from "../src/data/profile";
import { wholeDataset, type Dataset } from "../src/model/figures/dataset";
import { extentOf, findVisible, newVisible } from "../src/model/flame/boxes";
import { findMatches, followPath, nextMatch, writePath } from "../src/model/flame/find";
import type { Metric } from "../src/model/figures/metric";
import {
  boxValue,
  keyName,
  makeSandwich,
  makeTree,
  type Shape,
  type Subject,
  type Tree,
} from "../src/model/flame/tree";
import { buildProfile, type BuiltFunction, type BuiltSite } from "./lib/build";

const USUAL: Shape = { by: "stack", inverted: false, frames: "usual" };

const FUNCTIONS: Record<string, BuiltFunction> = {
  malloc: { role: Role.Allocator, module: "/lib/libc.so.6" },
  xmalloc: { role: Role.Allocator },
  _start: { role: Role.Start },
  qsort: { role: Role.Library, module: "/lib/libc.so.6" },
};

function site(stack: string, bytes: number, more: Partial<BuiltSite> = {}): BuiltSite {
  return { stack: stack.split(" > "), calls: 1, bytes, ...more };
}

function subjectOf(dataset: Dataset, metric: Metric = "allocated", included?: Uint8Array): Subject {
  const chosen = included ?? new Uint8Array(dataset.count).fill(1);
  const values = dataset.values(metric).map((value, i) => (chosen[i] ? (i < dataset.base ? -value : value) : 0));
  return { dataset, included: chosen, values, metric };
}

function subject(sites: BuiltSite[], metric: Metric = "allocated", difference = false): Subject {
  return subjectOf(wholeDataset(buildProfile({ sites, functions: FUNCTIONS, difference })), metric);
}

/** One line per box, indented: "main 30". */
function draw(profile: Profile, tree: Tree): string[] {
  const lines: string[] = [];
  const visit = (box: number) => {
    lines.push(`${"  ".repeat(tree.depth[box])}${keyName(profile, tree.key[box])} ${tree.size[box]}`);
    for (let child = tree.childBegin[box]; child < tree.childEnd[box]; child++) visit(child);
  };
  visit(0);
  return lines;
}

function drawn(of: Subject, shape: Partial<Shape> = {}): string[] {
  return draw(of.dataset.profile, makeTree(of, { ...USUAL, ...shape }));
}

/** Which invariant of tree.ts a box, not the root, violates; null: none. */
function broken(tree: Tree, box: number): string | null {
  const parent = tree.parent[box];
  const first = box === tree.childBegin[parent];
  if (!(parent < box)) return "it comes before its parent";
  if (!(tree.childBegin[parent] <= box && box < tree.childEnd[parent])) return "it is not among its parent's children";
  if (tree.depth[box] !== tree.depth[parent] + 1) return "its depth is wrong";
  if (!(tree.size[box] > 0)) return "it has no size";
  if (!(tree.siteBegin[parent] <= tree.siteBegin[box] && tree.siteEnd[box] <= tree.siteEnd[parent])) return "its sites";
  if (!first && tree.size[box] > tree.size[box - 1]) return "a smaller sibling comes before it";
  if (!first && tree.siteBegin[box] !== tree.siteEnd[box - 1]) return "its sites do not follow its sibling's";
  return null;
}

function check(of: Subject, tree: Tree): void {
  const inside = new Float64Array(tree.count);
  for (let box = 1; box < tree.count; box++) {
    const trouble = broken(tree, box);
    if (trouble) assert.fail(`box ${box}: ${trouble}`);
    inside[tree.parent[box]] += tree.size[box];
  }
  assert.ok(inside.every((sum, box) => sum <= tree.size[box] * (1 + 1e-9)));
  assert.equal(new Set(tree.sites).size, tree.sites.length);
  for (const box of [0, 1, tree.count >> 1, tree.count - 1].filter((each) => each < tree.count)) {
    let sum = 0;
    for (let i = tree.siteBegin[box]; i < tree.siteEnd[box]; i++) sum += of.values[tree.sites[i]];
    assert.ok(Math.abs(sum - boxValue(tree, box)) <= 1e-6 * Math.max(1, Math.abs(sum)));
  }
}

test("all lines of a function are one box, boxes are sorted by size, and totals are conserved", () => {
  const of = subject([
    site("main main.c:1 > small a.c:1", 5),
    site("main main.c:2 > parse p.c:10 > malloc", 10),
    site("main main.c:3 > parse p.c:20 > malloc", 20),
  ]);
  assert.deepEqual(drawn(of), ["all 35", "  main 35", "    parse 30", "    small 5"]);
});

test("usual frames exclude allocators and startup code; all frames include both", () => {
  const of = subject([site("_start > main > parse > xmalloc > malloc", 7)]);
  assert.deepEqual(drawn(of), ["all 7", "  main 7", "    parse 7"]);
  assert.deepEqual(drawn(of, { frames: "all" }), [
    "all 7",
    "  _start 7",
    "    main 7",
    "      parse 7",
    "        xmalloc 7",
    "          malloc 7",
  ]);
});

test("inverted, the functions that allocate come first", () => {
  const of = subject([site("main > a > leaf > malloc", 4), site("main > b > leaf > malloc", 6), site("main > b", 1)]);
  assert.deepEqual(drawn(of, { inverted: true }), [
    "all 11",
    "  leaf 10",
    "    b 6",
    "      main 6",
    "    a 4",
    "      main 4",
    "  b 1",
    "    main 1",
  ]);
});

test("grouped by tag, a path of tags precedes the frames, and sites without a tag have a box", () => {
  const of = subject([
    site("main > f", 4, { tag: "request/parse" }),
    site("main > f", 3, { tag: "request" }),
    site("main > f", 1),
  ]);
  assert.deepEqual(drawn(of, { by: "tag" }), [
    "all 8",
    "  request 7",
    "    parse 4",
    "      main 4",
    "        f 4",
    "    main 3",
    "      f 3",
    "  (no tag) 1",
    "    main 1",
    "      f 1",
  ]);
});

test("grouped by thread, threads of one name are one box before the frames", () => {
  const work = [site("work", 4, { thread: "worker" }), site("work", 2, { thread: "worker 2" })];
  const profile = buildProfile({ sites: [...work, site("main", 1)] });
  profile.header.threads[1].name = "worker";
  assert.deepEqual(drawn(subjectOf(wholeDataset(profile)), { by: "thread" }), [
    "all 7",
    "  worker 6",
    "    work 6",
    "  main 1",
    "    main 1",
  ]);
});

test("a site with a value of 0 has no box, but belongs to the parent", () => {
  const of = subject([site("main > f", 9, { live: { blocks: 1, bytes: 9 } }), site("main > f > g", 100)], "live");
  assert.deepEqual(drawn(of), ["all 9", "  main 9", "    f 9"]);
  const tree = makeTree(of, USUAL);
  assert.equal(tree.siteEnd[2] - tree.siteBegin[2], 2);
});

test("excluded sites are in no box", () => {
  const { dataset } = subject([site("main > f", 9), site("main > g", 100)]);
  const of = subjectOf(dataset, "allocated", Uint8Array.of(1, 0));
  assert.deepEqual(drawn(of), ["all 9", "  main 9", "    f 9"]);
});

function functionCalled(profile: Profile, name: string): number {
  let index = 0;
  while (index < profile.functions.count && profile.functionName(index) !== name) index++;
  return index;
}

test("callers and callees are of all lines of a function, and recursion counts once", () => {
  const of = subject([
    site("main > a > f f.c:1 > x", 8),
    site("main > b > f f.c:2 > y", 4),
    site("main > b > f f.c:2 > f f.c:3 > y", 2),
    site("main > c", 100),
  ]);
  const { profile } = of.dataset;
  const { callers, callees } = makeSandwich(of, functionCalled(profile, "f"), "usual");
  assert.deepEqual(draw(profile, callees), ["f 14", "  x 8", "  y 4", "  f 2", "    y 2"]);
  assert.deepEqual(draw(profile, callers), ["f 14", "  a 8", "    main 8", "  b 6", "    main 6"]);
  check(of, callers);
  check(of, callees);
});

test("callers of a usually hidden function are shown", () => {
  const of = subject([site("_start > main > parse > malloc", 8), site("_start > main > list > xmalloc > malloc", 2)]);
  const { profile } = of.dataset;
  const { callers, callees } = makeSandwich(of, functionCalled(profile, "malloc"), "usual");
  assert.deepEqual(draw(profile, callees), ["malloc 10"]);
  assert.deepEqual(draw(profile, callers).slice(0, 3), ["malloc 10", "  parse 8", "    main 8"]);
});

test("callers and callees of an unknown function are empty", () => {
  const of = subject([site("main > f", 9)]);
  const { callers, callees } = makeSandwich(of, -2, "usual");
  assert.equal(callers.size[0] + callees.size[0], 0);
});

test("in a difference, a leaf is as large as its larger side, and values are changes", () => {
  const of = subject(
    [
      site("main > grew", 10, { before: true }),
      site("main > gone", 7, { before: true }),
      site("main > grew", 30),
      site("main > new", 2),
    ],
    "allocated",
    true,
  );
  const tree = makeTree(of, USUAL);
  const { profile } = of.dataset;
  assert.deepEqual(draw(profile, tree), ["all 39", "  main 39", "    grew 30", "    gone 7", "    new 2"]);
  assert.deepEqual(Array.from(tree.after).slice(2), [30, 0, 2]);
  assert.deepEqual(Array.from(tree.before).slice(2), [10, 7, 0]);
  assert.equal(boxValue(tree, 0), 15);
  check(of, tree);
});

/** A dataset like that of a time interval. */
function interval(before: BuiltSite[], after: BuiltSite[], metric: Metric): Subject {
  const sites = [...before.map((each) => ({ ...each, before: true })), ...after];
  const dataset = wholeDataset(buildProfile({ sites, functions: FUNCTIONS, difference: true }));
  return subjectOf({ ...dataset, kind: "interval" }, metric);
}

test("in a time interval, boxes are allocated bytes, or the absolute change of live memory", () => {
  const live = (bytes: number): Partial<BuiltSite> => ({ live: { blocks: 1, bytes } });
  const still = site("main > still", 5, live(5));
  const before = [site("main > grew", 10, live(10)), site("main > shrank", 9, live(9)), still];
  const after = [site("main > grew", 40, live(30)), site("main > shrank", 9, live(3)), still];
  assert.deepEqual(drawn(interval(before, after, "allocated")), ["all 30", "  main 30", "    grew 30"]);
  const of = interval(before, after, "live");
  assert.deepEqual(drawn(of), ["all 26", "  main 26", "    grew 20", "    shrank 6"]);
  assert.equal(boxValue(makeTree(of, USUAL), 0), 14);
});

/** A generator with a fixed seed. */
function random(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** A random dataset of so many nodes, with only the columns that a tree needs. */
function randomSubject(nodes: number, sites: number, functions: number): Subject {
  const roll = random(7);
  const base = buildProfile({ sites: [site("main", 1)] });
  const parent = new Uint32Array(nodes);
  for (let i = 1; i < nodes; i++) parent[i] = roll(4) === 0 ? roll(i) : Math.max(0, i - 1 - roll(3));
  const profile: Profile = {
    ...base,
    functions: { ...base.functions, count: functions },
    places: {
      count: nodes,
      function: Uint32Array.from({ length: nodes }, () => roll(functions)),
      line: new Uint32Array(nodes),
    },
    nodes: { count: nodes, parent: capDepth(parent, 20), place: Uint32Array.from({ length: nodes }, (_, i) => i) },
  };
  const node = Uint32Array.from({ length: sites }, () => 1 + roll(nodes - 1));
  const zeros = new Uint32Array(sites);
  const columns = { count: sites, node, inner: node, outer: zeros, own: node, thread: zeros, tag: zeros };
  profile.sites = { ...base.sites, ...columns };
  const values = Float64Array.from({ length: sites }, () => roll(1000));
  const dataset: Dataset = {
    ...wholeDataset(base),
    ...columns,
    profile,
    values: () => values,
  };
  return subjectOf(dataset);
}

function capDepth(parent: Uint32Array, most: number): Uint32Array {
  const depth = new Uint8Array(parent.length);
  for (let i = 1; i < parent.length; i++) {
    if (depth[parent[i]] >= most) parent[i] = 0;
    depth[i] = depth[parent[i]] + 1;
  }
  return parent;
}

test("trees of 200,000 random nodes are consistent, also inverted", () => {
  const of = randomSubject(200_000, 30_000, 3000);
  const total = of.values.reduce((sum, value) => sum + value, 0);
  for (const inverted of [false, true]) {
    const tree = makeTree(of, { ...USUAL, inverted });
    check(of, tree);
    assert.equal(tree.size[0], total);
    assert.equal(tree.sites.length, of.dataset.count);
  }
  const { callers, callees } = makeSandwich(of, 17, "all");
  check(of, callers);
  check(of, callees);
  assert.equal(callers.size[0], callees.size[0]);
});

/* --- closed boxes --- */

const SOME = 1000; /* a small limit of boxes, so that most are closed */

/** The path to a box, as keys. */
function wayOf(tree: Tree, box: number): string {
  const way: number[] = [];
  for (let at = box; at !== 0; at = tree.parent[at]) way.push(tree.key[at]);
  return way.reverse().join(" ");
}

/** The figures and sites of a box, and whether it has boxes inside. */
function figures(tree: Tree, box: number): string {
  const sites = Array.from(tree.sites.subarray(tree.siteBegin[box], tree.siteEnd[box])).sort((a, b) => a - b);
  const more = tree.closed[box] === 1 || tree.childBegin[box] < tree.childEnd[box];
  return [tree.size[box], tree.start[box], tree.before[box], tree.after[box], more, sites.join()].join(" ");
}

function figuresByWay(tree: Tree): Map<string, string> {
  return new Map(Array.from({ length: tree.count }, (_, box) => [wayOf(tree, box), figures(tree, box)]));
}

/** The paths and positions of the boxes that are visible if `zoom` has the whole width. */
function seen(tree: Tree, zoom: number): string[] {
  const visible = newVisible();
  findVisible(tree, extentOf(tree, zoom), 1500, tree.deepest, visible);
  return Array.from({ length: visible.count }, (_, i) =>
    [wayOf(tree, visible.box[i]), visible.rest[i], visible.left[i], visible.right[i]].join(" "),
  );
}

/** The narrowest closed box. */
function findClosed(tree: Tree): number {
  let box = tree.count - 1;
  while (box > 0 && !tree.closed[box]) box--;
  return box;
}

const manyStacks = () => randomSubject(40_000, 30_000, 300);

test("with many stacks, only some boxes are made; they include all visible ones, with the right figures", () => {
  const of = manyStacks();
  for (const inverted of [false, true]) {
    const shape = { ...USUAL, inverted };
    const whole = makeTree(of, shape, Infinity);
    const some = makeTree(of, shape, SOME);
    check(of, some);
    assert.ok(some.count < 0.8 * whole.count, `${some.count} of ${whole.count}`);
    assert.equal(whole.closed.includes(1), false);
    assert.equal(some.deepest, whole.deepest);
    const all = figuresByWay(whole);
    for (const [way, known] of figuresByWay(some)) if (all.get(way) !== known) assert.fail(`box ${way}`);
    assert.deepEqual(seen(some, 0), seen(whole, 0));
  }
});

test("opening a closed box gives the boxes of the whole tree, also repeatedly", () => {
  const of = manyStacks();
  const whole = makeTree(of, { ...USUAL, inverted: true }, Infinity);
  const all = figuresByWay(whole);
  const boxOfWay = new Map(Array.from({ length: whole.count }, (_, box) => [wayOf(whole, box), box]));
  let tree = makeTree(of, { ...USUAL, inverted: true }, SOME);
  for (let turn = 0; turn < 5; turn++) {
    const box = findClosed(tree);
    const way = wayOf(tree, box);
    assert.ok(box > 0);
    const opened = tree.lookInto(box);
    assert.equal(wayOf(opened.tree, opened.box), way);
    assert.ok(opened.tree.count > tree.count);
    assert.equal(opened.tree.trunk, tree.trunk);
    assert.deepEqual(seen(opened.tree, opened.box), seen(whole, boxOfWay.get(way) ?? 0));
    assert.equal(opened.tree.lookInto(opened.box).tree, opened.tree);
    tree = opened.tree;
  }
  check(of, tree);
  for (const [way, known] of figuresByWay(tree)) if (all.get(way) !== known) assert.fail(`box ${way}`);
});

test("trees of callers and callees have closed boxes, too", () => {
  const of = manyStacks();
  const whole = makeSandwich(of, 17, "all", Infinity);
  const some = makeSandwich(of, 17, "all", 10);
  for (const half of ["callers", "callees"] as const) {
    check(of, some[half]);
    assert.deepEqual(seen(some[half], 0), seen(whole[half], 0));
    const all = figuresByWay(whole[half]);
    for (const [way, known] of figuresByWay(some[half])) if (all.get(way) !== known) assert.fail(`${half}: box ${way}`);
  }
});

test("a search finds matches in closed boxes, and leads into them", () => {
  const of = manyStacks();
  const whole = makeTree(of, USUAL, Infinity);
  const some = makeTree(of, USUAL, SOME);
  for (const wanted of [3, 17, 200]) {
    const matches = (key: number) => key === wanted;
    const all = findMatches(whole, matches);
    const found = findMatches(some, matches);
    assert.deepEqual([found.size, found.value], [all.size, all.value]);
    assert.deepEqual([all.more, found.more], [false, true]);
    assert.ok(found.boxes <= all.boxes);
    const holding = found.holding.indexOf(1);
    assert.ok(holding > 0 && some.closed[holding] === 1);
    assert.equal(nextMatch(found, holding - 1, 1), holding);
    const { tree, box } = some.lookInto(holding);
    const inside = findMatches(tree, matches).found;
    const end = tree.start[box] + tree.size[box];
    assert.ok(inside.some((yes, at) => yes === 1 && tree.start[at] >= tree.start[box] && tree.start[at] < end));
  }
});

test("a link leads through closed boxes", () => {
  const of = manyStacks();
  const whole = makeTree(of, USUAL, Infinity);
  const named = { ...of.dataset.profile, functionKey: (index: number) => `f${index}` };
  const path = writePath(named, whole, whole.count - 1);
  const { tree, box } = followPath(named, makeTree(of, USUAL, SOME), path);
  assert.equal(wayOf(tree, box), wayOf(whole, whole.count - 1));
  assert.equal(figures(tree, box), figures(whole, whole.count - 1));
  assert.equal(followPath(named, tree, "nonsense").box, 0);
});

test("in a difference, closed boxes have the same figures as open ones", () => {
  const of = manyStacks();
  const compared: Subject = {
    ...of,
    dataset: { ...of.dataset, kind: "difference", base: of.dataset.count >> 1 },
    values: of.values.map((value, i) => (i < of.dataset.count >> 1 ? -value : value)),
  };
  const all = figuresByWay(makeTree(compared, USUAL, Infinity));
  const some = makeTree(compared, USUAL, SOME);
  assert.ok(some.closed.includes(1));
  for (const [way, known] of figuresByWay(some)) if (all.get(way) !== known) assert.fail(`box ${way}`);
});
