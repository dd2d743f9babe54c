// SPDX-License-Identifier: MIT
// stacks.ts - folds stacks that look the same into the lines of a report, and formats frames.
//
// A line of `plimsoll report` is a site: the program's own function that allocated, the library function that it called
// (if any), and its callers. Stacks that agree in these are one line, whatever their threads, tags and addresses. They
// are folded into a trie that begins at the site's own function and goes outward.

import { Role, type Profile } from "../../data/profile";

/** How many frames distinguish sites, as in reports. */
export const SITE_DEPTH = 6;

/** The longest cycle of mutually recursive functions that is folded. */
const CYCLE_MOST = 8;

const DEEP = 48; /* frames */

const NONE = 0xffffffff;

export interface Folding {
  count: number;
  /** By site of the profile. */
  ofSite: Uint32Array;
  /** The place that the site is named after. */
  place: Uint32Array;
  /** The name (a text) of the library function that it called; 0: none. */
  via: Uint32Array;
  /** Places from `place` outward, at most SITE_DEPTH. */
  path(row: number): number[];
}

/* --- numbers for pairs of numbers --- */

interface Pairs {
  /** The number of the pair (a, b); if it is new, the next number, from 0. */
  find(a: number, b: number): number;
  count(): number;
  first(pair: number): number;
  second(pair: number): number;
}

function newPairs(): Pairs {
  let room = 1 << 12;
  let a = new Uint32Array(room);
  let b = new Uint32Array(room);
  let slots = new Uint32Array(2 * room);
  let count = 0;
  const seek = (x: number, y: number) => {
    let at = (Math.imul(x, 0x9e3779b1) ^ Math.imul(y + 1, 0x85ebca6b)) >>> 0;
    for (at ^= at >>> 15; ; at++) {
      const pair = slots[at & (slots.length - 1)];
      if (pair === 0 || (a[pair - 1] === x && b[pair - 1] === y)) return at & (slots.length - 1);
    }
  };
  const grow = () => {
    room *= 2;
    const [oldA, oldB] = [a, b];
    a = new Uint32Array(room);
    b = new Uint32Array(room);
    a.set(oldA);
    b.set(oldB);
    slots = new Uint32Array(2 * room);
    for (let i = 0; i < count; i++) slots[seek(a[i], b[i])] = i + 1;
  };
  return {
    find(x, y) {
      let slot = seek(x, y);
      if (slots[slot] !== 0) return slots[slot] - 1;
      if (count === room) {
        grow();
        slot = seek(x, y);
      }
      a[count] = x;
      b[count] = y;
      slots[slot] = ++count;
      return count - 1;
    },
    count: () => count,
    first: (pair) => a[pair],
    second: (pair) => b[pair],
  };
}

/* --- one stack --- */

/** Ignores the depth of recursion: if the last places repeat those before them, removes them. */
function foldCycle(places: Uint32Array, count: number): number {
  for (let length = 1; length <= CYCLE_MOST && 2 * length <= count; length++) {
    let same = 0;
    while (same < length && places[count - 1 - same] === places[count - 1 - same - length]) same++;
    if (same === length) return count - length;
  }
  return count;
}

/** A stack, innermost first, without repeated cycles. */
interface Stack {
  places: Uint32Array;
  count: number;
  /** Indexes of the site's `inner` and `own` nodes. */
  inner: number;
  own: number;
  /** It has all usual frames. */
  whole: boolean;
}

function makeRoom(stack: Stack): void {
  const { places } = stack;
  stack.places = new Uint32Array(2 * places.length);
  stack.places.set(places);
}

/** The stack of a site up to its outermost usual frame, or up to `most` frames beyond `own`. */
function expand(profile: Profile, site: number, most: number, stack: Stack): void {
  const { nodes, sites } = profile;
  const outer = sites.outer[site];
  stack.count = stack.inner = stack.own = 0;
  let end = Infinity;
  let node = sites.node[site];
  for (; node !== 0 && stack.count < end; node = node === outer ? 0 : nodes.parent[node]) {
    if (stack.count === stack.places.length) makeRoom(stack);
    stack.places[stack.count] = nodes.place[node];
    if (node === sites.inner[site]) stack.inner = stack.count;
    if (node === sites.own[site]) end = (stack.own = stack.count) + most;
    stack.count = foldCycle(stack.places, stack.count + 1);
  }
  stack.whole = node === 0;
}

/** Keeps the outermost of consecutive library frames, and one frame of a function that calls itself from another line.
 * Returns where the site's path ends. Frames beyond `settled` cannot change the result. */
function foldCallers(profile: Profile, stack: Stack): { end: number; settled: number } {
  const { places, functions } = profile;
  const foreign = (at: number) => {
    const role = functions.role[places.function[stack.places[at]]];
    return role === Role.Library || role === Role.Allocator;
  };
  const name = (at: number) => functions.name[places.function[stack.places[at]]];
  let end = stack.own + 1;
  let at = end;
  for (; at < stack.count && end < stack.own + SITE_DEPTH; at++) {
    if (foreign(at) && at + 1 < stack.count && foreign(at + 1)) continue;
    if (name(at) !== name(end - 1)) stack.places[end++] = stack.places[at];
  }
  return { end, settled: at + CYCLE_MOST };
}

/** Writes the site's path into `stack`, from `own` to the returned end. Walks all of a deep stack only if needed. */
function findPath(profile: Profile, site: number, stack: Stack): number {
  expand(profile, site, DEEP, stack);
  let path = foldCallers(profile, stack);
  if (!stack.whole && path.settled >= stack.count) {
    expand(profile, site, Infinity, stack);
    path = foldCallers(profile, stack);
  }
  return path.end;
}

/* --- all of them --- */

const foldings = new WeakMap<Profile, Folding>();

function makeFolding(profile: Profile): Folding {
  const { sites, places, functions } = profile;
  const trie = newPairs(); /* (parent in the trie + 1, place) */
  const rows = newPairs(); /* (end of the path in the trie, name of the library function) */
  const rowOfNode = new Uint32Array(profile.nodes.count).fill(NONE);
  const ofSite = new Uint32Array(sites.count);
  const stack: Stack = { places: new Uint32Array(256), count: 0, inner: 0, own: 0, whole: false };
  const fold = (site: number) => {
    const end = findPath(profile, site, stack);
    const via = stack.own > stack.inner ? functions.name[places.function[stack.places[stack.own - 1]]] : 0;
    let at = 0;
    for (let i = stack.own; i < end; i++) at = trie.find(at, stack.places[i]) + 1;
    return rows.find(Math.max(0, at - 1), via);
  };
  for (let site = 0; site < sites.count; site++) {
    const node = sites.node[site];
    if (rowOfNode[node] === NONE) rowOfNode[node] = fold(site);
    ofSite[site] = rowOfNode[node];
  }
  const path = (row: number) => {
    const found: number[] = [];
    for (let at = rows.first(row) + 1; at !== 0; at = trie.first(at - 1)) found.push(trie.second(at - 1));
    return found.reverse();
  };
  const place = new Uint32Array(rows.count());
  const via = new Uint32Array(rows.count());
  for (let row = 0; row < rows.count(); row++) {
    let at = rows.first(row);
    while (trie.first(at) !== 0) at = trie.first(at) - 1;
    place[row] = trie.second(at);
    via[row] = rows.second(row);
  }
  return { count: rows.count(), ofSite, place, via, path };
}

/** Computed once for a profile. */
export function foldSites(profile: Profile): Folding {
  let folding = foldings.get(profile);
  if (!folding) foldings.set(profile, (folding = makeFolding(profile)));
  return folding;
}

const sitesAtNodes = new WeakMap<Profile, Int32Array>();

/** A site whose stack ends at `node`; -1 if there is none. */
function siteAt(profile: Profile, node: number): number {
  let sites = sitesAtNodes.get(profile);
  if (!sites) {
    sitesAtNodes.set(profile, (sites = new Int32Array(profile.nodes.count).fill(-1)));
    for (let site = 0; site < profile.sites.count; site++) sites[profile.sites.node[site]] = site;
  }
  return sites[node] ?? -1;
}

/** The `own` node of a site whose stack ends at `node`. */
export function ownNodeOf(profile: Profile, node: number): number {
  const site = siteAt(profile, node);
  return site < 0 ? node : profile.sites.own[site];
}

/** The row of foldSites() for the stack that ends at `node`; -1 if there is none. */
export function siteRowAt(profile: Profile, node: number): number {
  const site = siteAt(profile, node);
  return site < 0 ? -1 : foldSites(profile).ofSite[site];
}

/** The library function that was called at the site whose stack ends at `node`; "" for none. */
export function viaAt(profile: Profile, node: number): string {
  const row = siteRowAt(profile, node);
  return row < 0 ? "" : profile.text(foldSites(profile).via[row]);
}

/** "← parse_line ← main": the callers in a path. */
export function printCallers(profile: Profile, path: number[]): string {
  return path.slice(1).map((place) => `← ${placeName(profile, place)}`).join(" ");
}

/** The places of the site whose stack ends at `node`, from its own outward. */
export function pathAt(profile: Profile, node: number): number[] {
  const row = siteRowAt(profile, node);
  return row < 0 ? [] : foldSites(profile).path(row);
}

/** The callers of the site whose stack ends at `node`. */
export function callersAt(profile: Profile, node: number): string {
  return printCallers(profile, pathAt(profile, node));
}

/* --- as texts --- */

/** Nodes from one outward, innermost first. */
export function stackNodes(profile: Profile, node: number): number[] {
  const nodes: number[] = [];
  for (let at = node; at !== 0; at = profile.nodes.parent[at]) nodes.push(at);
  return nodes;
}

/** "src/index.c:212"; "" if unknown. */
export function placeLocation(profile: Profile, place: number): string {
  const file = profile.text(profile.functions.file[profile.places.function[place]]);
  const line = profile.places.line[place];
  return file !== "" && line > 0 ? `${file}:${line}` : file;
}

/** The same; if the file is unknown, the module: "[libfoo.so]". */
export function placeOrigin(profile: Profile, place: number): string {
  const module = profile.moduleName(profile.functions.module[profile.places.function[place]]);
  return placeLocation(profile, place) || (module && `[${module}]`);
}

export function placeName(profile: Profile, place: number): string {
  return profile.functionName(profile.places.function[place]);
}

/** A stack as text, innermost first: name, file and line, one frame per line. */
export function printStack(profile: Profile, node: number): string {
  const lines = stackNodes(profile, node).map((each) => {
    const place = profile.nodes.place[each];
    const location = placeLocation(profile, place);
    return profile.text(profile.functions.full[profile.places.function[place]]) + (location && `  ${location}`);
  });
  return lines.join("\n");
}
