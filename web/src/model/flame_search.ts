// SPDX-License-Identifier: MIT
// flame_search.ts - which boxes of a flame graph a search finds, and what they have together.

import type { Profile } from "../data/profile";
import { boxValue, keyName, readKey, type Tree } from "./tree";

export interface Matches {
  /** By box. */
  found: Uint8Array;
  /** By box: it is closed, not found itself, and something in it would be. */
  holding: Uint8Array;
  /** Those that hold something count as one; then there may be more. */
  boxes: number;
  more: boolean;
  /** Of all that was found; what is found within something found counts once. */
  size: number;
  value: number;
}

/** null: nothing is searched for, or it is no expression yet. Capitals are told from small letters if there are any. */
export function searchExpression(search: string): RegExp | null {
  if (search === "") return null;
  try {
    return new RegExp(search, /[A-Z]/.test(search.replace(/\\./g, "")) ? "" : "i");
  } catch {
    return null;
  }
}

/** Why it is no expression, in the browser's words: "unterminated group"; null: it is one. */
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

/** Whether what a key stands for is found, by its full name or the shorter one that is shown. Each is asked once. */
export function keyMatcher(profile: Profile, expression: RegExp): (key: number) => boolean {
  const known: (boolean | undefined)[] = [];
  return (key) => {
    if (key < 0) return false;
    return (known[key] ??= expression.test(fullName(profile, key)) || expression.test(keyName(profile, key)));
  };
}

/** Adds what a closed box would show if it were open; `counted`: what it has is in the sum already. */
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

/** The next one after `box` (before it: step -1), around the end; -1 if there is none. */
export function nextMatch(matches: Matches, box: number, step: 1 | -1): number {
  const { found, holding } = matches;
  for (let i = 1; i <= found.length; i++) {
    const at = (((box + step * i) % found.length) + found.length) % found.length;
    if (found[at] || holding[at]) return at;
  }
  return -1;
}
