// SPDX-License-Identifier: MIT
// branches.ts - a tree while it grows: a branch is known by its parent and a number, and is made when first asked for.
//
// Half a million branches are asked for several times in a tenth of a second, so: two columns, and a table of open
// addressing that holds branch + 1. A parent comes before its children; branch 0 is the root.

export interface Branches {
  count(): number;
  parent(): Uint32Array;
  key(): Int32Array;
  child(parent: number, key: number): number;
}

export const ROOT_KEY = -1;

const mix = (parent: number, key: number) => {
  const hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b);
  return Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
};

export function newBranches(expected: number): Branches {
  let room = 1024;
  while (room < expected) room *= 2;
  let parents = new Uint32Array(room);
  let keys = new Int32Array(room);
  let slots = new Uint32Array(2 * room);
  let shift = Math.clz32(slots.length - 1);
  let count = 1;
  keys[0] = ROOT_KEY;

  const grow = () => {
    room *= 2;
    const wider = new Uint32Array(room);
    wider.set(parents);
    parents = wider;
    const longer = new Int32Array(room);
    longer.set(keys);
    keys = longer;
    slots = new Uint32Array(2 * room);
    shift = Math.clz32(slots.length - 1);
    const mask = slots.length - 1;
    for (let i = 1; i < count; i++) {
      let slot = mix(parents[i], keys[i]) >>> shift;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = i + 1;
    }
  };

  const child = (parent: number, key: number) => {
    const mask = slots.length - 1;
    let slot = mix(parent, key) >>> shift;
    for (let found = slots[slot]; found !== 0; found = slots[slot]) {
      if (parents[found - 1] === parent && keys[found - 1] === key) return found - 1;
      slot = (slot + 1) & mask;
    }
    const branch = count++;
    parents[branch] = parent;
    keys[branch] = key;
    slots[slot] = branch + 1;
    if (count === room) grow();
    return branch;
  };

  return {
    count: () => count,
    parent: () => parents.subarray(0, count),
    key: () => keys.subarray(0, count),
    child,
  };
}
