// SPDX-License-Identifier: MIT
// tree.ts - what the flame graph draws: sites merged by the functions on the way to them.
//
// Boxes are numbered level by level, largest children first, so that
//   - a box comes after its parent, and box 0 is the root,
//   - the children of a box are consecutive, and so are the sites in it: [begin, end),
//   - looking for the boxes that are wide enough to be seen ends at the first that is not.
// A box without size is no box; its sites belong to the one it would be in.
//
// Invariants: children's sizes never exceed their parent's; ranges of sites nest; the root has every site that is
// included, once (a sandwich: every site that goes through its function).
//
// Sizes are never negative, values can be. They are the same for what a program did, and differ for changes: there a
// leaf is as large as the larger of its sides, or as its change.

import type { Profile } from "../data/profile";
import type { Grouping } from "../state";
import { newBranches, ROOT_KEY, type Branches } from "./branches";
import type { Dataset } from "./dataset";
import type { Metric } from "./metric";

export type Widths = "value" | "larger" | "change";

/** The figures that a tree is made of. */
export interface Subject {
  dataset: Dataset;
  included: Uint8Array;
  /** By site; what is compared with is negative. */
  values: Float64Array;
  metric: Metric;
}

export interface Shape {
  by: Grouping;
  inverted: boolean;
  frames: "usual" | "all";
}

export interface Tree {
  count: number;
  parent: Uint32Array;
  depth: Uint16Array;
  /** What the box is: see keyOf and readKey. */
  key: Int32Array;
  size: Float64Array;
  /** Where it begins: the sizes of everything to the left of it. */
  start: Float64Array;
  before: Float64Array;
  after: Float64Array;
  childBegin: Uint32Array;
  childEnd: Uint32Array;
  siteBegin: Uint32Array;
  siteEnd: Uint32Array;
  sites: Uint32Array;
  deepest: number;
  widths: Widths;
  /** The frames of a site (nodes of the profile), in the order of its boxes from `level` on. */
  frames: (site: number) => { level: number; nodes: number[] };
}

export type Key = { kind: "root" } | { kind: "function" | "tag" | "thread"; index: number };

/** Functions, then tags, then threads (the first of each name): one number says which. */
export function readKey(profile: Profile, key: number): Key {
  const functions = profile.functions.count;
  const tags = profile.header.tags.length;
  if (key < 0) return { kind: "root" };
  if (key < functions) return { kind: "function", index: key };
  return key < functions + tags
    ? { kind: "tag", index: key - functions }
    : { kind: "thread", index: key - functions - tags };
}

export function keyOf(profile: Profile, kind: "function" | "tag" | "thread", index: number): number {
  if (kind === "function") return index;
  return profile.functions.count + index + (kind === "thread" ? profile.header.tags.length : 0);
}

export function keyName(profile: Profile, key: number): string {
  const what = readKey(profile, key);
  if (what.kind === "root") return "all";
  if (what.kind === "function") return profile.functionName(what.index);
  if (what.kind === "thread") return profile.header.threads[what.index]?.name || "(no name)";
  return profile.header.tags[what.index]?.name || "(no tag)";
}

export function widthsOf(kind: Dataset["kind"], metric: Metric): Widths {
  if (kind === "difference") return "larger";
  return kind === "interval" && (metric === "live" || metric === "blocks") ? "change" : "value";
}

export function boxValue(tree: Tree, box: number): number {
  return tree.after[box] - tree.before[box];
}

/* --- where frames begin and end --- */

interface Ends {
  inner: Uint32Array;
  /** Frames outside of it are left out; 0: none is. */
  outer: Uint32Array;
}

function endsOf(dataset: Dataset, frames: Shape["frames"]): Ends {
  if (frames === "usual") return { inner: dataset.inner, outer: dataset.outer };
  return { inner: dataset.node, outer: new Uint32Array(dataset.count) };
}

/** From `inner` outward. */
function walkOut(profile: Profile, inner: number, outer: number): number[] {
  const { parent } = profile.nodes;
  const nodes: number[] = [];
  for (let node = inner; node !== 0; node = parent[node]) {
    nodes.push(node);
    if (node === outer) break;
  }
  return nodes;
}

/** By node: its function. The root's is that of nothing. */
function functionsOfNodes(profile: Profile): Int32Array {
  const { nodes, places } = profile;
  const functions = new Int32Array(nodes.count);
  for (let node = 1; node < nodes.count; node++) functions[node] = places.function[nodes.place[node]];
  functions[0] = ROOT_KEY;
  return functions;
}

/* --- what comes in front of the frames --- */

/** By thread: the first one of the same name. */
function firstOfName(profile: Profile): Uint32Array {
  const known = new Map<string, number>();
  return Uint32Array.from(profile.header.threads, ({ name }, index) => {
    if (!known.has(name)) known.set(name, index);
    return known.get(name) ?? index;
  });
}

/** Keys of a tag and of those around it, outermost first. What has no tag is in one box, too. */
function tagKeys(profile: Profile, tag: number): number[] {
  const { tags } = profile.header;
  const keys: number[] = [];
  let at: number | null = tag;
  while (at !== null && tags[at]?.kind !== "root" && keys.length < tags.length) {
    keys.unshift(keyOf(profile, "tag", at));
    at = tags[at]?.parent ?? null;
  }
  return keys.length > 0 ? keys : [keyOf(profile, "tag", tag)];
}

interface Groups {
  of: Uint32Array;
  count: number;
  keys: (group: number) => number[];
}

function groupsOf(dataset: Dataset, by: Grouping): Groups {
  const { profile } = dataset;
  if (by === "tag")
    return { of: dataset.tag, count: profile.header.tags.length, keys: (tag) => tagKeys(profile, tag) };
  if (by === "thread") {
    const first = firstOfName(profile);
    return {
      of: dataset.thread.map((thread) => first[thread] ?? 0),
      count: profile.header.threads.length,
      keys: (thread) => [keyOf(profile, "thread", thread)],
    };
  }
  return { of: new Uint32Array(dataset.count), count: 1, keys: () => [] };
}

/** `sites` in the order of their numbers in `by`, which are below `limit`; equal ones stay as they are. */
function sortBy(sites: Uint32Array, by: Uint32Array, limit: number): Uint32Array {
  const at = new Uint32Array(limit + 2);
  for (const site of sites) at[by[site] + 1]++;
  for (let i = 0; i < limit; i++) at[i + 1] += at[i];
  const sorted = new Uint32Array(sites.length);
  for (const site of sites) sorted[at[by[site]]++] = site;
  return sorted;
}

function listIncluded(included: Uint8Array): Uint32Array {
  let count = 0;
  for (let i = 0; i < included.length; i++) count += included[i];
  const sites = new Uint32Array(count);
  count = 0;
  for (let i = 0; i < included.length; i++) if (included[i]) sites[count++] = i;
  return sites;
}

/* --- growing --- */

const NOWHERE = 0xffffffff;

/**
 * Leads from a site's frames to its branch. What was found for a node stays valid as long as sites come from the same
 * group and begin at the same frame, so that all of them together take one step for each node.
 */
function planter(profile: Profile, branches: Branches, inverted: boolean) {
  const { parent, count } = profile.nodes;
  const functions = functionsOfNodes(profile);
  const branchOf = new Uint32Array(count);
  const known = new Uint32Array(count);
  let way = new Uint32Array(256);
  let era = 0;
  const forward = (base: number, inner: number, outer: number) => {
    let length = 0;
    let node = inner;
    let branch = base;
    for (; node !== 0; node = parent[node]) {
      if (known[node] === era) {
        branch = branchOf[node];
        break;
      }
      if (length === way.length) {
        const longer = new Uint32Array(2 * length);
        longer.set(way);
        way = longer;
      }
      way[length++] = node;
      if (node === outer) break;
    }
    while (length > 0) {
      node = way[--length];
      branch = branches.child(branch, functions[node]);
      branchOf[node] = branch;
      known[node] = era;
    }
    return branch;
  };
  const backward = (base: number, inner: number, outer: number) => {
    if (known[inner] === era) return branchOf[inner];
    let branch = base;
    for (let node = inner; node !== 0; node = parent[node]) {
      branch = branches.child(branch, functions[node]);
      if (node === outer) break;
    }
    branchOf[inner] = branch;
    known[inner] = era;
    return branch;
  };
  return { forget: () => void era++, plant: inverted ? backward : forward };
}

/** By site of `sites`: its branch. */
function plantAll(
  branches: Branches,
  dataset: Dataset,
  inverted: boolean,
  sites: Uint32Array,
  ends: Ends,
  groups: Groups,
): Uint32Array {
  const { profile } = dataset;
  const { forget, plant } = planter(profile, branches, inverted);
  const order = sortBy(sortBy(sites, ends.outer, profile.nodes.count), groups.of, groups.count);
  const branchOf = new Uint32Array(dataset.count).fill(NOWHERE);
  let group = -1;
  let outer = -1;
  let base = 0;
  for (const site of order) {
    if (groups.of[site] !== group || ends.outer[site] !== outer) {
      group = groups.of[site];
      outer = ends.outer[site];
      base = groups.keys(group).reduce(branches.child, 0);
      forget();
    }
    branchOf[site] = plant(base, ends.inner[site], outer);
  }
  return branchOf;
}

export function makeTree(subject: Subject, shape: Shape): Tree {
  const { dataset } = subject;
  const { profile } = dataset;
  const ends = endsOf(dataset, shape.frames);
  const groups = groupsOf(dataset, shape.by);
  const sites = listIncluded(subject.included);
  const branches = newBranches(profile.nodes.count);
  const branchOf = plantAll(branches, dataset, shape.inverted, sites, ends, groups);
  const frames = (site: number) => {
    const nodes = walkOut(profile, ends.inner[site], ends.outer[site]);
    return { level: 1 + groups.keys(groups.of[site]).length, nodes: shape.inverted ? nodes : nodes.reverse() };
  };
  return arrange(subject, branches, branchOf, sites, frames);
}

export interface Sandwich {
  function: number;
  /** Both have the function as their root. */
  callers: Tree;
  callees: Tree;
}

/** By node: the outermost one on the way to it, it included, that is of the function; 0: there is none. */
function outermostOf(profile: Profile, wanted: number): Uint32Array {
  const { nodes, places } = profile;
  const outermost = new Uint32Array(nodes.count);
  for (let node = 1; node < nodes.count; node++)
    outermost[node] = outermost[nodes.parent[node]] || (places.function[nodes.place[node]] === wanted ? node : 0);
  return outermost;
}

/** Where `outer` is 0 nothing is left out; else the function has to be at or below it. */
function isWithin(profile: Profile, node: number, outer: number): boolean {
  if (outer === 0) return true;
  for (let at = node; at !== 0; at = profile.nodes.parent[at]) if (at === outer) return true;
  return false;
}

/**
 * Of each site: the frames of the function's callers, or of its callees, itself included. Frames that are left out as a
 * rule are shown where they are asked for: malloc's callers.
 */
function endsOfHalf(
  dataset: Dataset,
  outermost: Uint32Array,
  sites: Uint32Array,
  frames: Shape["frames"],
  up: boolean,
): Ends {
  const { profile } = dataset;
  const usual = endsOf(dataset, frames);
  const all = endsOf(dataset, "all");
  const half = { inner: new Uint32Array(dataset.count), outer: new Uint32Array(dataset.count) };
  for (const site of sites) {
    const middle = outermost[usual.inner[site]];
    const ends = middle !== 0 && isWithin(profile, middle, usual.outer[site]) ? usual : all;
    half.inner[site] = up ? outermost[dataset.node[site]] : ends.inner[site];
    half.outer[site] = up ? ends.outer[site] : outermost[dataset.node[site]];
  }
  return half;
}

/** Callers and callees of a function, wherever it is. One that calls itself is taken where it was called first. */
export function makeSandwich(subject: Subject, wanted: number, frames: Shape["frames"]): Sandwich {
  const { dataset } = subject;
  const outermost = outermostOf(dataset.profile, wanted);
  const sites = listIncluded(subject.included).filter((site) => outermost[dataset.node[site]] !== 0);
  const makeHalf = (up: boolean) => {
    const branches = newBranches(0);
    const ends = endsOfHalf(dataset, outermost, sites, frames, up);
    const branchOf = plantAll(branches, dataset, up, sites, ends, groupsOf(dataset, "stack"));
    const framesOf = (site: number) => {
      const nodes = walkOut(dataset.profile, ends.inner[site], ends.outer[site]);
      return { level: 0, nodes: up ? nodes : nodes.reverse() };
    };
    return cutRoot(arrange(subject, branches, branchOf, sites, framesOf), wanted);
  };
  return { function: wanted, callers: makeHalf(true), callees: makeHalf(false) };
}

/** The root of a half has one child, which is the function: that becomes the root. */
function cutRoot(tree: Tree, wanted: number): Tree {
  const root = tree.key.slice(0, 1).fill(wanted);
  if (tree.count < 2) return { ...tree, key: root };
  const less = (column: Uint32Array) => column.subarray(1).map((box) => (box > 0 ? box - 1 : 0));
  return {
    ...tree,
    count: tree.count - 1,
    parent: less(tree.parent),
    depth: tree.depth.subarray(1).map((depth) => depth - 1),
    key: tree.key.subarray(1),
    size: tree.size.subarray(1),
    start: tree.start.subarray(1),
    before: tree.before.subarray(1),
    after: tree.after.subarray(1),
    childBegin: less(tree.childBegin),
    childEnd: less(tree.childEnd),
    siteBegin: tree.siteBegin.subarray(1),
    siteEnd: tree.siteEnd.subarray(1),
    deepest: tree.deepest - 1,
  };
}

/* --- arranging --- */

interface Weights {
  size: Float64Array;
  before: Float64Array;
  after: Float64Array;
}

const OWN_SIZE: Record<Widths, (before: number, after: number) => number> = {
  value: (before, after) => Math.max(0, after - before),
  larger: (before, after) => Math.max(before, after),
  change: (before, after) => Math.abs(after - before),
};

/** What each branch has, with everything in it. */
function weigh(subject: Subject, branches: Branches, branchOf: Uint32Array, sites: Uint32Array): Weights {
  const { values, dataset } = subject;
  const count = branches.count();
  const before = new Float64Array(count);
  const after = new Float64Array(count);
  const size = new Float64Array(count);
  for (const site of sites) {
    if (site < dataset.base) before[branchOf[site]] -= values[site];
    else after[branchOf[site]] += values[site];
  }
  const own = OWN_SIZE[widthsOf(dataset.kind, subject.metric)];
  for (let i = 0; i < count; i++) size[i] = own(before[i], after[i]);
  const parent = branches.parent();
  for (let i = count - 1; i > 0; i--) {
    size[parent[i]] += size[i];
    before[parent[i]] += before[i];
    after[parent[i]] += after[i];
  }
  return { size, before, after };
}

const FEW = 12;

/** Sorts list[from] to list[to - 1]. Most lists are short: they are sorted where they are. */
function sortLargestFirst(list: Uint32Array, from: number, to: number, size: Float64Array, key: Int32Array): void {
  if (to - from > FEW) {
    list.subarray(from, to).sort((a, b) => size[b] - size[a] || key[a] - key[b]);
    return;
  }
  for (let i = from + 1; i < to; i++) {
    const item = list[i];
    let at = i;
    for (; at > from; at--) {
      const other = list[at - 1];
      if (size[other] > size[item] || (size[other] === size[item] && key[other] < key[item])) break;
      list[at] = other;
    }
    list[at] = item;
  }
}

/** By branch: its children that have a size, in `child` from begin[branch] to begin[branch + 1]. */
function childrenOf(branches: Branches, size: Float64Array): { begin: Uint32Array; child: Uint32Array } {
  const count = branches.count();
  const parent = branches.parent();
  const begin = new Uint32Array(count + 1);
  for (let i = 1; i < count; i++) if (size[i] > 0) begin[parent[i] + 1]++;
  for (let i = 0; i < count; i++) begin[i + 1] += begin[i];
  const child = new Uint32Array(begin[count]);
  const filled = begin.slice();
  for (let i = 1; i < count; i++) if (size[i] > 0) child[filled[parent[i]]++] = i;
  return { begin, child };
}

type Levels = Pick<Tree, "parent" | "depth" | "key" | "size" | "start" | "childBegin"> & { order: Uint32Array };

/** Boxes, level by level. order: the branch of each; childBegin has one more, for the end of the last. */
function makeLevels(branches: Branches, size: Float64Array): Levels {
  const { begin, child } = childrenOf(branches, size);
  const keys = branches.key();
  const count = child.length + 1;
  const levels: Levels = {
    order: new Uint32Array(count),
    parent: new Uint32Array(count),
    depth: new Uint16Array(count),
    key: new Int32Array(count),
    size: new Float64Array(count),
    start: new Float64Array(count),
    childBegin: new Uint32Array(count + 1).fill(count),
  };
  const { order, parent, depth, key, start, childBegin } = levels;
  key[0] = keys[0];
  levels.size[0] = size[0];
  let length = 1;
  for (let box = 0; box < count; box++) {
    const from = begin[order[box]];
    const to = begin[order[box] + 1];
    childBegin[box] = length;
    if (to - from > 1) sortLargestFirst(child, from, to, size, keys);
    let at = start[box];
    for (let i = from; i < to; i++) {
      const branch = child[i];
      order[length] = branch;
      parent[length] = box;
      depth[length] = depth[box] + 1;
      key[length] = keys[branch];
      levels.size[length] = size[branch];
      start[length++] = at;
      at += size[branch];
    }
  }
  return levels;
}

/** By branch: its box, or that of the one around it which has a size. */
function boxesOf(branches: Branches, order: Uint32Array): Uint32Array {
  const parent = branches.parent();
  const box = new Uint32Array(branches.count()).fill(NOWHERE);
  for (let i = 0; i < order.length; i++) box[order[i]] = i;
  for (let i = 1; i < box.length; i++) if (box[i] === NOWHERE) box[i] = box[parent[i]];
  return box;
}

/** Ranges of sites that nest: a box's own come first, then those of its children, in their order. */
function rangeSites(parent: Uint32Array, childBegin: Uint32Array, boxOf: (site: number) => number, sites: Uint32Array) {
  const count = parent.length;
  const own = new Uint32Array(count);
  for (const site of sites) own[boxOf(site)]++;
  const within = own.slice();
  for (let i = count - 1; i > 0; i--) within[parent[i]] += within[i];
  const begin = new Uint32Array(count);
  const end = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    end[i] = begin[i] + within[i];
    let at = begin[i] + own[i];
    for (let child = childBegin[i]; child < childBegin[i + 1]; child++) {
      begin[child] = at;
      at += within[child];
    }
  }
  const next = begin.slice();
  const ranged = new Uint32Array(sites.length);
  for (const site of sites) ranged[next[boxOf(site)]++] = site;
  return { begin, end, sites: ranged };
}

function pick(column: Float64Array, order: Uint32Array): Float64Array {
  const picked = new Float64Array(order.length);
  for (let i = 0; i < order.length; i++) picked[i] = column[order[i]];
  return picked;
}

function arrange(
  subject: Subject,
  branches: Branches,
  branchOf: Uint32Array,
  sites: Uint32Array,
  frames: Tree["frames"],
): Tree {
  const weights = weigh(subject, branches, branchOf, sites);
  const { order, childBegin, ...levels } = makeLevels(branches, weights.size);
  const count = order.length;
  const compared = subject.dataset.base > 0;
  const boxOfBranch = boxesOf(branches, order);
  const ranges = rangeSites(levels.parent, childBegin, (site) => boxOfBranch[branchOf[site]], sites);
  return {
    ...levels,
    count,
    before: compared ? pick(weights.before, order) : new Float64Array(count),
    after: compared ? pick(weights.after, order) : levels.size /* nothing is negative, nothing cut off */,
    childBegin: childBegin.subarray(0, count),
    childEnd: childBegin.subarray(1, count + 1),
    siteBegin: ranges.begin,
    siteEnd: ranges.end,
    sites: ranges.sites,
    deepest: levels.depth[count - 1],
    widths: widthsOf(subject.dataset.kind, subject.metric),
    frames,
  };
}
