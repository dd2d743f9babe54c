// SPDX-License-Identifier: MIT
// walk.ts - moves from one box of the flame graph to another: with arrow keys, and from match to match.

import { nextMatch } from "../../model/flame/find";
import type { Target } from "./layout";
import type { Part } from "./scene";

export const WALKING_KEYS: readonly string[] = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home"];

/** From the function in the middle to its callers or its callees. */
function intoHalf(parts: Part[], up: boolean): Target | null {
  const pane = parts.findIndex((part) => part.up === up);
  const { tree } = parts[pane];
  return tree.childBegin[0] < tree.childEnd[0] ? { pane, box: tree.childBegin[0] } : null;
}

/** Boxes of a level are numbered from left to right. */
function sideways({ tree }: Part, { pane, box }: Target, by: 1 | -1): Target | null {
  const beside = box + by;
  return beside >= 0 && beside < tree.count && tree.depth[beside] === tree.depth[box] ? { pane, box: beside } : null;
}

/** The box that a key leads to; null: none. */
export function step(parts: Part[], from: Target, key: string): Target | null {
  const { pane, box } = from;
  const { tree, up } = parts[pane];
  if (key === "Home") return { pane, box: 0 };
  if (key === "ArrowLeft") return sideways(parts[pane], from, -1);
  if (key === "ArrowRight") return sideways(parts[pane], from, 1);
  if (box === 0 && parts.length > 1) return intoHalf(parts, key === "ArrowUp");
  const outward = (key === "ArrowUp") !== up;
  if (outward) return box > 0 ? { pane, box: tree.parent[box] } : null;
  return tree.childBegin[box] < tree.childEnd[box] ? { pane, box: tree.childBegin[box] } : null;
}

/** The next match in the pane, then in the other pane, then again from the beginning of the first. */
export function walkMatches(parts: Part[], from: Target | null, by: 1 | -1): Target | null {
  const first = from?.pane ?? 0;
  for (let turn = 0; turn <= parts.length; turn++) {
    const pane = (first + turn) % parts.length;
    const { matches, tree } = parts[pane];
    if (!matches || matches.boxes === 0) continue;
    const begin = turn === 0 && from ? from.box : by > 0 ? -1 : tree.count;
    const box = nextMatch(matches, begin, by);
    const around = by > 0 ? box <= begin : box >= begin;
    if (!around) return { pane, box };
  }
  return null;
}

/** Whether a box is visible with the current zoom. */
export function isInside({ tree, zoom }: Part, box: number): boolean {
  const end = (of: number) => tree.start[of] + tree.size[of];
  return end(box) > tree.start[zoom] && tree.start[box] < end(zoom);
}
