// SPDX-License-Identifier: MIT
// narrow.ts - which sites a selection includes: those of a tag, of threads of a name, through some functions and not
// through others.

import type { Profile } from "../../data/profile";
import type { State } from "../../state";
import type { Dataset } from "./dataset";

export type Narrowing = Pick<State, "tag" | "thread" | "focus" | "hide">;

export function isNarrowed(state: Narrowing): boolean {
  return state.tag !== null || state.thread !== null || state.focus.length > 0 || state.hide.length > 0;
}

/** 1 for a tag and all tags below it. A tag comes after its parent. */
export function tagsBelow(profile: Profile, tag: number): Uint8Array {
  const { tags } = profile.header;
  const below = new Uint8Array(tags.length);
  for (let i = 0; i < tags.length; i++) below[i] = i === tag || below[tags[i].parent ?? i] ? 1 : 0;
  return below;
}

/** The functions of some keys, without duplicates; undefined for a key that is not in this profile. */
function resolve(profile: Profile, keys: string[]): (number | undefined)[] {
  return [...new Set(keys)].map((key) => profile.functionOfKey(key));
}

/** By node: how many of the given functions are on the way from the root; each counts once. */
function functionsAbove(profile: Profile, functions: (number | undefined)[]): Uint32Array {
  const { nodes, places } = profile;
  const above = new Uint32Array(nodes.count);
  for (const wanted of functions) {
    const seen = new Uint8Array(nodes.count);
    for (let node = 1; node < nodes.count; node++)
      seen[node] = seen[nodes.parent[node]] || places.function[nodes.place[node]] === wanted ? 1 : 0;
    for (let node = 1; node < nodes.count; node++) above[node] += seen[node];
  }
  return above;
}

/** No stack goes through a function that is not in this profile. If the selection is by functions, sites without a
 * recorded stack are excluded: nobody knows what they go through. */
export function includedSites(dataset: Dataset, state: Narrowing): Uint8Array {
  const { profile } = dataset;
  const included = new Uint8Array(dataset.count).fill(1);
  if (!isNarrowed(state)) return included;
  const tags = state.tag === null ? null : tagsBelow(profile, state.tag);
  const focus = resolve(profile, state.focus);
  const hide = resolve(profile, state.hide);
  const through = focus.length ? functionsAbove(profile, focus) : null;
  const past = hide.length ? functionsAbove(profile, hide) : null;
  for (let i = 0; i < dataset.count; i++) {
    const node = dataset.node[i];
    if (
      (tags && !tags[dataset.tag[i]]) ||
      (state.thread !== null && profile.header.threads[dataset.thread[i]]?.name !== state.thread) ||
      (through && through[node] !== focus.length) ||
      (past && past[node] !== 0) ||
      ((through || past) && profile.sites.stackless[dataset.site(i)])
    )
      included[i] = 0;
  }
  return included;
}
