// SPDX-License-Identifier: MIT
// find.ts - finds boxes of the flame graph: by a search, and by the path that a link has.
//
// A path is the steps from the root, joined by ".": a function is its key, a tag is "-" and its number, a thread is "_"
// and its name. In callers and callees, the first step is "callers" or "callees". If the box of a link does not exist
// any more, the path is followed as far as it goes.

import type { Profile } from "../../data/profile";
import { boxValue, keyName, readKey, type Tree } from "./tree";

export interface Matches {
  /** By box. */
  found: Uint8Array;
  /** By box: it is closed and does not match, but has a match inside. */
  holding: Uint8Array;
  /** How many boxes match. A box that is `holding` counts as one; `more`: there may be more inside. */
  boxes: number;
  more: boolean;
  /** The total of all matches; a match inside another one counts once. */
  size: number;
  value: number;
}

/** null: the search is empty, or not a valid expression (yet). It is case-sensitive if it has a capital letter. */
export function searchExpression(search: string): RegExp | null {
  if (search === "") return null;
  try {
    return new RegExp(search, /[A-Z]/.test(search.replace(/\\./g, "")) ? "" : "i");
  } catch {
    return null;
  }
}

/** The browser's message on an invalid expression, such as "unterminated group"; null: it is valid. */
export function searchProblem(search: string): string | null {
  try {
    new RegExp(search);
    return null;
  } catch (error) {
    const said = error instanceof Error ? error.message : "";
    const why = said.slice(said.lastIndexOf(": ") + 1).trim();
    return why.charAt(0).toLowerCase() + why.slice(1);
  }
}

function fullName(profile: Profile, key: number): string {
  const what = readKey(profile, key);
  return what.kind === "function" ? profile.text(profile.functions.full[what.index]) : keyName(profile, key);
}

/** Whether a key matches, by its complete name or by the shorter one that is shown; cached. */
export function keyMatcher(profile: Profile, expression: RegExp): (key: number) => boolean {
  const known: (boolean | undefined)[] = [];
  return (key) => {
    if (key < 0) return false;
    return (known[key] ??= expression.test(fullName(profile, key)) || expression.test(keyName(profile, key)));
  };
}

/** Adds the matches inside a closed box; `counted`: the sum includes the whole box already. */
function lookInside(tree: Tree, box: number, matches: (key: number) => boolean, sum: Matches, counted: boolean): void {
  const inside = tree.trunk.sumInside(tree, box, matches);
  if (!(inside.size > 0)) return;
  sum.more = true;
  if (!sum.found[box]) sum.boxes += sum.holding[box] = 1;
  if (counted) return;
  sum.size += inside.size;
  sum.value += inside.value;
}

export function findMatches(tree: Tree, matches: (key: number) => boolean): Matches {
  const found = new Uint8Array(tree.count);
  const holding = new Uint8Array(tree.count);
  const within = new Uint8Array(tree.count);
  const sum: Matches = { found, holding, boxes: 0, more: false, size: 0, value: 0 };
  for (let box = 0; box < tree.count; box++) {
    const around = box > 0 ? within[tree.parent[box]] : 0;
    const matched = matches(tree.key[box]) ? 1 : 0;
    found[box] = matched;
    within[box] = around | matched;
    sum.boxes += matched;
    if (matched && !around) {
      sum.size += tree.size[box];
      sum.value += boxValue(tree, box);
    }
    if (tree.closed[box]) lookInside(tree, box, matches, sum, within[box] === 1);
  }
  return sum;
}

/** The next match after `box` (step -1: before it), wrapping around; -1 if there is none. */
export function nextMatch(matches: Matches, box: number, step: 1 | -1): number {
  const { found, holding } = matches;
  for (let i = 1; i <= found.length; i++) {
    const at = (((box + step * i) % found.length) + found.length) % found.length;
    if (found[at] || holding[at]) return at;
  }
  return -1;
}

const BETWEEN = ".";

function writeStep(profile: Profile, key: number): string {
  const what = readKey(profile, key);
  if (what.kind === "root") return "";
  if (what.kind === "function") return profile.functionKey(what.index);
  if (what.kind === "tag") return `-${what.index}`;
  const name = profile.header.threads[what.index]?.name ?? "";
  return `_${encodeURIComponent(name.replace(/\p{Cs}/gu, "\ufffd")).replaceAll(BETWEEN, "%2E")}`;
}

/** Boxes from below the root to `box`. */
export function wayTo(tree: Tree, box: number): number[] {
  const way: number[] = [];
  for (let at = box; at !== 0; at = tree.parent[at]) way.unshift(at);
  return way;
}

export function writePath(profile: Profile, tree: Tree, box: number): string {
  return wayTo(tree, box)
    .map((each) => writeStep(profile, tree.key[each]))
    .join(BETWEEN);
}

/** The child of a box that a step leads to; -1: there is none. */
function findStep(profile: Profile, tree: Tree, box: number, step: string): number {
  for (let child = tree.childBegin[box]; child < tree.childEnd[box]; child++)
    if (writeStep(profile, tree.key[child]) === step) return child;
  return -1;
}

export function findPath(profile: Profile, tree: Tree, path: string): number {
  let box = 0;
  for (const step of path.split(BETWEEN)) {
    const child = findStep(profile, tree, box, step);
    if (child < 0) break;
    box = child;
  }
  return box;
}

/** The same, but opens closed boxes on the way and the last one. */
export function followPath(profile: Profile, tree: Tree, path: string): { tree: Tree; box: number } {
  let at = tree.lookInto(0);
  for (const step of path.split(BETWEEN)) {
    if (at.tree.closed[at.box]) at = at.tree.lookInto(at.box);
    const child = findStep(profile, at.tree, at.box, step);
    if (child < 0) break;
    at = { tree: at.tree, box: child };
  }
  return at.tree.lookInto(at.box);
}
