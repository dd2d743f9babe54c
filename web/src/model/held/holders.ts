// SPDX-License-Identifier: MIT
// holders.ts - what holds the heap, as a tree for a treemap: roots, the sites whose blocks they retain, and below these
// the sites whose blocks they retain in turn.

import type { Holder } from "../../data/header";
import type { BoxSource } from "../tags/treemap";

export interface HeldTree extends BoxSource {
  parent: Uint32Array;
  /** Bytes of each item without what is below. */
  self: Float64Array;
  /** With what is below. */
  bytes: Float64Array;
  blocks: Float64Array;
  /** Index in the list of holders; -1: the whole. */
  holder: Int32Array;
}

/** Item 0 is the whole. Steps of ways are no items. */
export function heldTree(holders: readonly Holder[]): HeldTree {
  const listed = holders.flatMap((holder, index) => (holder.kind === "way" ? [] : [index]));
  const item = new Map(listed.map((index, i) => [index, i + 1]));
  const count = listed.length + 1;
  const tree: HeldTree = {
    parent: new Uint32Array(count),
    self: new Float64Array(count),
    bytes: new Float64Array(count),
    blocks: new Float64Array(count),
    holder: new Int32Array(count).fill(-1),
  };
  listed.forEach((index, i) => {
    const { parent, bytes, blocks } = holders[index];
    tree.parent[i + 1] = parent === null ? 0 : (item.get(parent) ?? 0);
    tree.self[i + 1] = tree.bytes[i + 1] = bytes;
    tree.blocks[i + 1] = blocks;
    tree.holder[i + 1] = index;
  });
  for (let i = count - 1; i > 0; i--) {
    tree.bytes[tree.parent[i]] += tree.bytes[i];
    tree.blocks[tree.parent[i]] += tree.blocks[i];
  }
  return tree;
}

/** From the root on, this one included. */
export function lineOf(holders: readonly Holder[], index: number): number[] {
  const line: number[] = [];
  for (let at: number | null = index; at !== null; at = holders[at].parent) line.unshift(at);
  return line;
}

/** A shortest way from a root to one of the blocks; empty if none is known. */
export function wayTo(holders: readonly Holder[], index: number): number[] {
  const { way } = holders[index];
  return way === null ? [] : lineOf(holders, way);
}
