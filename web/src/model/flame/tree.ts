// SPDX-License-Identifier: MIT
// tree.ts - the boxes of the flame graph: sites merged by the functions of their stacks.
//
// Boxes are numbered level by level, largest children first, so that
//   - a box comes after its parent, and box 0 is the root,
//   - the children of a box are consecutive, and so are the sites in it: [begin, end),
//   - a search for boxes that are wide enough to be visible ends at the first that is not.
// There are no boxes of size 0; their sites belong to the parent.
//
// If there are many stacks, boxes too narrow to be visible are not made: their parent is closed, until the user zooms
// into it (tree.lookInto). A closed box has the same figures as an open one.
//
// Invariants: children's sizes never exceed their parent's (except for rounding); ranges of sites nest; the root has
// every included site once (with callers and callees: every site through the function); a box that takes at least
// NARROWEST of the root is open.
//
// Sizes are never negative, values can be. For the figures of one run, they are equal. For changes, the size of a leaf
// is the larger of its two sides, or the absolute change.

import type { Profile } from "../../data/profile";
import type { Grouping } from "../../state";
import { grow, isClosed, listCells, newCells, type Cells, type Weights } from "./cells";
import type { Dataset } from "../figures/dataset";
import type { Metric } from "../figures/metric";
import { keyOf, keysIn, makePaths, NO_PREFIX, NOWHERE, prefixesOf, type KeyKind, type Paths, type Span } from "./paths";

export { keyOf };

export type Widths = "value" | "larger" | "change";

/** The figures that a tree is made from. */
export interface Subject {
  dataset: Dataset;
  included: Uint8Array;
  /** By site; negative for sites before dataset.base. */
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
  /** The function, tag or thread of the box: see keyOf and readKey. */
  key: Int32Array;
  size: Float64Array;
  /** Where it begins: the sum of the sizes to the left of it. */
  start: Float64Array;
  before: Float64Array;
  after: Float64Array;
  childBegin: Uint32Array;
  childEnd: Uint32Array;
  /** 1: there are boxes in it that have not been made. */
  closed: Uint8Array;
  siteBegin: Uint32Array;
  siteEnd: Uint32Array;
  sites: Uint32Array;
  /** The depth of the deepest box, including boxes that have not been made. */
  deepest: number;
  widths: Widths;
  /** The frames of a site (nodes of the profile), in the order of its boxes from `level` on. */
  frames: (site: number) => { level: number; nodes: number[] };
  /** Shared by trees that differ only in which boxes are open. */
  trunk: Trunk;
  /** Returns this tree, or one with more boxes, in which all boxes are open that are visible if `box` has the whole
   * width; and the number of the box in it. */
  lookInto: (box: number) => { tree: Tree; box: number };
}

export interface Trunk {
  /** The keys of all boxes, open or not, for any metric: colours are assigned from these. */
  keys: () => readonly number[];
  /** The sum of the paths in a closed box that have a matching key below it. */
  sumInside: (tree: Tree, box: number, matches: (key: number) => boolean) => { size: number; value: number };
}

export type Key = { kind: "root" } | { kind: KeyKind; index: number };

const ROOT_KEY = -1;

export function readKey(profile: Profile, key: number): Key {
  const functions = profile.functions.count;
  const tags = profile.header.tags.length;
  if (key < 0) return { kind: "root" };
  if (key < functions) return { kind: "function", index: key };
  return key < functions + tags
    ? { kind: "tag", index: key - functions }
    : { kind: "thread", index: key - functions - tags };
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
  /** Frames outside of this node are hidden; 0: none. */
  outer: Uint32Array;
}

function endsOf({ sites }: Profile, frames: Shape["frames"]): Ends {
  if (frames === "usual") return { inner: sites.inner, outer: sites.outer };
  return { inner: sites.node, outer: new Uint32Array(sites.count) };
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

/* --- weighing --- */

const OWN_SIZE: Record<Widths, (before: number, after: number) => number> = {
  value: (before, after) => Math.max(0, after - before),
  larger: (before, after) => Math.max(before, after),
  change: (before, after) => Math.abs(after - before),
};

/** Sites of the dataset that are included, by path: site[begin[path]] .. site[begin[path + 1] - 1]. */
interface Occupants {
  begin: Uint32Array;
  site: Uint32Array;
}

function occupy({ dataset, included }: Subject, paths: Paths): Occupants {
  const pathOf = new Uint32Array(dataset.count).fill(NOWHERE);
  const begin = new Uint32Array(paths.count + 1);
  for (let site = 0; site < dataset.count; site++) {
    if (!included[site]) continue;
    const path = paths.ofSite[dataset.site(site)];
    pathOf[site] = path;
    if (path !== NOWHERE) begin[path + 1]++;
  }
  for (let path = 0; path < paths.count; path++) begin[path + 1] += begin[path];
  const next = begin.slice();
  const site = new Uint32Array(begin[paths.count]);
  for (let i = 0; i < dataset.count; i++) if (pathOf[i] !== NOWHERE) site[next[pathOf[i]]++] = i;
  return { begin, site };
}

function weigh({ dataset, values, metric }: Subject, paths: Paths, occupants: Occupants): Weights {
  const before = new Float64Array(paths.count);
  const after = new Float64Array(paths.count);
  const size = dataset.base > 0 ? new Float64Array(paths.count) : after;
  const own = OWN_SIZE[widthsOf(dataset.kind, metric)];
  for (let path = 0; path < paths.count; path++) {
    for (let i = occupants.begin[path]; i < occupants.begin[path + 1]; i++) {
      const site = occupants.site[i];
      if (site < dataset.base) before[path] -= values[site];
      else after[path] += values[site];
    }
    size[path] = own(before[path], after[path]);
  }
  return { size, before: dataset.base > 0 ? before : null, after };
}

/** The paths that have an included site. */
function listOccupied(occupants: Occupants): Uint32Array {
  const list = new Uint32Array(occupants.begin.length - 1);
  let count = 0;
  for (let path = 0; path < list.length; path++)
    if (occupants.begin[path] < occupants.begin[path + 1]) list[count++] = path;
  return list.slice(0, count);
}

function deepestOf(paths: Paths, weights: Weights): number {
  let deepest = 0;
  for (let path = 0; path < paths.count; path++)
    if (weights.size[path] > 0) deepest = Math.max(deepest, paths.begin[path + 1] - paths.begin[path]);
  return deepest;
}

/* --- arranging --- */

/** As a fraction of the zoomed box: half a pixel of a very wide screen. */
const NARROWEST = 1 / 8192;

/** If there cannot be more boxes than this, all are made, whatever their size. */
export const AT_ONCE = 1 << 18;

/** What the trees of one trunk are made from. */
interface Making {
  cells: Cells;
  occupants: Occupants;
  deepest: number;
  widths: Widths;
  frames: Tree["frames"];
  atOnce: number;
  trunk: Trunk;
  latest: { tree: Tree; boxOf: Uint32Array } | null;
}

/** Opens the cells that are visible if `cell` has the whole width. */
function open({ cells, deepest, atOnce }: Making, cell: number): void {
  const most = (cells.end[cell] - cells.begin[cell]) * deepest;
  grow(cells, cell, most <= atOnce ? 0 : cells.size[cell] * NARROWEST);
}

/** Sites in the order of their paths, and how many sites there are before each path. */
function placeSites(order: Uint32Array, { begin, site }: Occupants): { sites: Uint32Array; ahead: Uint32Array } {
  const sites = new Uint32Array(site.length);
  const ahead = new Uint32Array(order.length + 1);
  let at = 0;
  for (let i = 0; i < order.length; i++) {
    for (let each = begin[order[i]]; each < begin[order[i] + 1]; each++) sites[at++] = site[each];
    ahead[i + 1] = at;
  }
  return { sites, ahead };
}

type Columns = Omit<Tree, "sites" | "deepest" | "widths" | "frames" | "trunk" | "lookInto">;

function newColumns(count: number): Columns {
  return {
    count,
    parent: new Uint32Array(count),
    depth: new Uint16Array(count),
    key: new Int32Array(count),
    size: new Float64Array(count),
    start: new Float64Array(count),
    before: new Float64Array(count),
    after: new Float64Array(count),
    childBegin: new Uint32Array(count),
    childEnd: new Uint32Array(count),
    closed: new Uint8Array(count),
    siteBegin: new Uint32Array(count),
    siteEnd: new Uint32Array(count),
  };
}

/** Writes the boxes of cells in the order of `list`; `ahead` is the number of sites before each path. */
function writeBoxes(columns: Columns, cells: Cells, list: Uint32Array, ahead: Uint32Array): void {
  let next = 1;
  for (let box = 0; box < list.length; box++) {
    const cell = list[box];
    columns.depth[box] = cells.depth[cell];
    columns.key[box] = cells.key[cell];
    columns.size[box] = cells.size[cell];
    columns.before[box] = cells.before[cell];
    columns.after[box] = cells.after[cell];
    columns.siteBegin[box] = ahead[cells.begin[cell]];
    columns.siteEnd[box] = ahead[cells.end[cell]];
    columns.closed[box] = isClosed(cells, cell) ? 1 : 0;
    columns.childBegin[box] = next;
    let at = columns.start[box];
    for (const end = next + cells.children[cell]; next < end; next++) {
      columns.parent[next] = box;
      columns.start[next] = at;
      at += cells.size[list[next]];
    }
    columns.childEnd[box] = next;
  }
}

/** A tree of all cells. */
function arrange(making: Making): { tree: Tree; boxOf: Uint32Array } {
  const { cells, occupants, widths, deepest, frames, trunk } = making;
  const list = listCells(cells);
  const { sites, ahead } = placeSites(cells.order, occupants);
  const columns = newColumns(list.length);
  writeBoxes(columns, cells, list, ahead);
  const boxOf = new Uint32Array(list.length);
  for (let box = 0; box < list.length; box++) boxOf[list[box]] = box;
  const look = (box: number) => lookInto(making, list[box]);
  return { tree: { ...columns, sites, deepest, widths, frames, trunk, lookInto: look }, boxOf };
}

function lookInto(making: Making, cell: number): { tree: Tree; box: number } {
  open(making, cell);
  if (making.latest?.tree.count !== making.cells.count) making.latest = arrange(making);
  return { tree: making.latest.tree, box: making.latest.boxOf[cell] };
}

/** Whether a path has a matching key below a depth. */
function goesThrough({ begin, keys }: Paths, path: number, depth: number, matches: (key: number) => boolean): boolean {
  for (let i = begin[path] + depth; i < begin[path + 1]; i++) if (matches(keys[i])) return true;
  return false;
}

function newTrunk(cells: Cells, pathOf: (site: number) => number): Trunk {
  const { paths, weights } = cells;
  return {
    keys: () => keysIn(paths),
    sumInside: (tree, box, matches) => {
      const sum = { size: 0, value: 0 };
      let last = NOWHERE;
      for (let i = tree.siteBegin[box]; i < tree.siteEnd[box]; i++) {
        const path = pathOf(tree.sites[i]);
        if (path === last) continue; /* sites of a path are consecutive */
        last = path;
        if (!(weights.size[path] > 0) || !goesThrough(paths, path, tree.depth[box], matches)) continue;
        sum.size += weights.size[path];
        sum.value += weights.after[path] - (weights.before?.[path] ?? 0);
      }
      return sum;
    },
  };
}

function makeFromPaths(
  subject: Subject,
  paths: Paths,
  rootKey: number,
  frames: Tree["frames"],
  atOnce: number,
): Tree {
  const { dataset } = subject;
  const occupants = occupy(subject, paths);
  const weights = weigh(subject, paths, occupants);
  const cells = newCells(paths, weights, listOccupied(occupants), rootKey);
  const widths = widthsOf(dataset.kind, subject.metric);
  const trunk = newTrunk(cells, (site) => paths.ofSite[dataset.site(site)]);
  const deepest = deepestOf(paths, weights);
  return lookInto({ cells, occupants, deepest, widths, frames, atOnce, trunk, latest: null }, 0).tree;
}

/* --- of stacks --- */

const pathsKnown = new WeakMap<Profile, Map<string, Paths>>();

function* all(count: number): Iterable<number> {
  for (let i = 0; i < count; i++) yield i;
}

function pathsOf(profile: Profile, { by, inverted, frames }: Shape, { inner, outer }: Ends): Paths {
  const known = pathsKnown.get(profile) ?? new Map<string, Paths>();
  pathsKnown.set(profile, known);
  const name = `${by} ${inverted} ${frames}`;
  let paths = known.get(name);
  if (!paths) {
    const { parent } = profile.nodes;
    const span: Span = { inner: (site) => inner[site], stop: (site) => parent[outer[site]] };
    paths = makePaths(profile, all(profile.sites.count), span, prefixesOf(profile, by), inverted);
    known.set(name, paths);
  }
  return paths;
}

export function makeTree(subject: Subject, shape: Shape, atOnce = AT_ONCE): Tree {
  const { dataset } = subject;
  const { profile } = dataset;
  const ends = endsOf(profile, shape.frames);
  const prefixes = prefixesOf(profile, shape.by);
  const frames = (index: number) => {
    const site = dataset.site(index);
    const nodes = walkOut(profile, ends.inner[site], ends.outer[site]);
    return { level: 1 + prefixes.keys(prefixes.of(site)).length, nodes: shape.inverted ? nodes : nodes.reverse() };
  };
  return makeFromPaths(subject, pathsOf(profile, shape, ends), ROOT_KEY, frames, atOnce);
}

/* --- of callers and callees --- */

export interface Sandwich {
  function: number;
  /** Both have the function as their root. */
  callers: Tree;
  callees: Tree;
}

/** By node: the outermost node of the function on the way from the root to it, inclusive; 0: none. */
function outermostOf(profile: Profile, wanted: number): Uint32Array {
  const { nodes, places } = profile;
  const outermost = new Uint32Array(nodes.count);
  for (let node = 1; node < nodes.count; node++)
    outermost[node] = outermost[nodes.parent[node]] || (places.function[nodes.place[node]] === wanted ? node : 0);
  return outermost;
}

/** Whether `node` is `outer` or below it. If `outer` is 0, no frame is hidden. */
function isWithin(profile: Profile, node: number, outer: number): boolean {
  if (outer === 0) return true;
  for (let at = node; at !== 0; at = profile.nodes.parent[at]) if (at === outer) return true;
  return false;
}

/**
 * For each site, the frames of the function's callers or callees, with the function itself. Usually hidden frames are
 * shown if the function is one of them: malloc's callers.
 */
function endsOfHalf(
  profile: Profile,
  outermost: Uint32Array,
  through: Uint32Array,
  frames: Shape["frames"],
  up: boolean,
): Ends {
  const { node, count } = profile.sites;
  const usual = endsOf(profile, frames);
  const every = endsOf(profile, "all");
  const half = { inner: new Uint32Array(count), outer: new Uint32Array(count) };
  for (const site of through) {
    const middle = outermost[usual.inner[site]];
    const ends = middle !== 0 && isWithin(profile, middle, usual.outer[site]) ? usual : every;
    half.inner[site] = up ? outermost[node[site]] : ends.inner[site];
    half.outer[site] = up ? ends.outer[site] : outermost[node[site]];
  }
  return half;
}

/** The paths of callers or callees. The function itself is the root, so it is not in them. */
function pathsOfHalf(profile: Profile, { inner, outer }: Ends, through: Uint32Array, up: boolean): Paths {
  const { parent } = profile.nodes;
  const callers: Span = { inner: (site) => parent[inner[site]], stop: (site) => parent[outer[site]] };
  const callees: Span = { inner: (site) => inner[site], stop: (site) => outer[site] };
  return makePaths(profile, through, up ? callers : callees, NO_PREFIX, up);
}

/** Callers and callees of a function in all stacks. If it is recursive, its outermost frame counts. */
export function makeSandwich(subject: Subject, wanted: number, frames: Shape["frames"], atOnce = AT_ONCE): Sandwich {
  const { dataset } = subject;
  const { profile } = dataset;
  const outermost = outermostOf(profile, wanted);
  const { node, count } = profile.sites;
  const through = Uint32Array.from(all(count)).filter((site) => outermost[node[site]] !== 0);
  const makeHalf = (up: boolean) => {
    const ends = endsOfHalf(profile, outermost, through, frames, up);
    const framesOf = (index: number) => {
      const site = dataset.site(index);
      const nodes = walkOut(profile, ends.inner[site], ends.outer[site]);
      return { level: 0, nodes: up ? nodes : nodes.reverse() };
    };
    return makeFromPaths(subject, pathsOfHalf(profile, ends, through, up), wanted, framesOf, atOnce);
  };
  return { function: wanted, callers: makeHalf(true), callees: makeHalf(false) };
}
