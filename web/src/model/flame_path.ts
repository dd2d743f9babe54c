// SPDX-License-Identifier: MIT
// flame_path.ts - how the way to a box of the flame graph is spelled, for links.
//
// The steps from the root, joined by ".": a function is its key, a tag "-" and its number, a thread "_" and its name.
// In a sandwich the first step is "callers" or "callees". Who follows a way that is no longer there gets as far as it
// leads.

import type { Profile } from "../data/profile";
import { readKey, type Tree } from "./tree";

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

/** The same, through what is closed, and with the end of the way open. */
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
