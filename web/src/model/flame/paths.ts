// SPDX-License-Identifier: MIT
// paths.ts - the path to each site in the flame graph: the keys of its tags or its thread, then those of its functions.
//
// Sites that differ only in lines share a path. Paths depend neither on metrics nor on the included sites, so they are
// made once per grouping and order of frames.

import type { Profile } from "../../data/profile";
import type { Grouping } from "../../state";

/** A site without a path: its stack does not go through the function whose callers and callees are shown. */
export const NOWHERE = 0xffffffff;

export interface Paths {
  count: number;
  /** By site of the profile. */
  ofSite: Uint32Array;
  /** keys[begin[path]] .. keys[begin[path + 1] - 1], in the order of boxes, without the root. */
  begin: Uint32Array;
  keys: Int32Array;
  /** Every key is less than this. */
  limit: number;
}

/** Frames of sites: nodes from `inner` outward to `stop`, exclusive. */
export interface Span {
  inner: (site: number) => number;
  stop: (site: number) => number;
}

/** The keys that precede the frames of a site. */
export interface Prefixes {
  of: (site: number) => number;
  keys: (prefix: number) => readonly number[];
}

export const NO_PREFIX: Prefixes = { of: () => 0, keys: () => [] };

export type KeyKind = "function" | "tag" | "thread";

/** One number for a function, a tag or a thread (the first of its name): functions come first, threads last. */
export function keyOf(profile: Profile, kind: KeyKind, index: number): number {
  if (kind === "function") return index;
  return profile.functions.count + index + (kind === "thread" ? profile.header.tags.length : 0);
}

function keyLimit({ functions, header }: Profile): number {
  return functions.count + header.tags.length + header.threads.length + 1;
}

/* --- prefixes --- */

/** By thread: the first one of the same name. */
function firstOfName(profile: Profile): Uint32Array {
  const known = new Map<string, number>();
  return Uint32Array.from(profile.header.threads, ({ name }, index) => {
    if (!known.has(name)) known.set(name, index);
    return known.get(name) ?? index;
  });
}

/** Keys of a tag and of its parents, outermost first. Sites without a tag are in one box, too. */
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

export function prefixesOf(profile: Profile, by: Grouping): Prefixes {
  const { sites, header } = profile;
  if (by === "tag") {
    const keys = header.tags.map((_, tag) => tagKeys(profile, tag));
    return { of: (site) => sites.tag[site], keys: (tag) => keys[tag] ?? [] };
  }
  if (by === "thread") {
    const first = firstOfName(profile);
    const keys = header.threads.map((_, thread) => [keyOf(profile, "thread", thread)]);
    return { of: (site) => first[sites.thread[site]] ?? 0, keys: (thread) => keys[thread] ?? [] };
  }
  return NO_PREFIX;
}

/* --- walking --- */

/** The nodes in a form that is fast to walk. */
export interface Trail {
  /** By node: its parent and its function, side by side. */
  links: Int32Array;
  depth: Uint32Array;
}

const trailsKnown = new WeakMap<Profile["nodes"], Trail>();

export function trailOf({ nodes, places }: Profile): Trail {
  let trail = trailsKnown.get(nodes);
  if (!trail) {
    trail = { links: new Int32Array(2 * nodes.count), depth: new Uint32Array(nodes.count) };
    const { links, depth } = trail;
    for (let node = 1; node < nodes.count; node++) {
      links[2 * node] = nodes.parent[node];
      links[2 * node + 1] = places.function[nodes.place[node]];
      depth[node] = depth[nodes.parent[node]] + 1;
    }
    trailsKnown.set(nodes, trail);
  }
  return trail;
}

/** The buffer that paths are written to; a path's hash is computed while it is written. */
interface Writing {
  trail: Trail;
  keys: Int32Array;
  to: number;
  hash: number;
}

const HASH_BEGIN = 0x811c9dc5 | 0;
const mix = (hash: number, key: number) => Math.imul(hash ^ key, 0x01000193) ^ (hash >>> 15);

function makeRoom(writing: Writing, more: number): void {
  const { keys, to } = writing;
  if (to + more <= keys.length) return;
  writing.keys = new Int32Array(Math.max(2 * keys.length, to + more));
  writing.keys.set(keys);
}

function writePrefix(writing: Writing, prefix: readonly number[]): void {
  makeRoom(writing, prefix.length);
  for (const key of prefix) {
    writing.keys[writing.to++] = key;
    writing.hash = mix(writing.hash, key);
  }
}

function writeFrames(writing: Writing, inner: number, stop: number, outward: boolean): void {
  const { links, depth } = writing.trail;
  const length = Math.max(0, depth[inner] - depth[stop]);
  makeRoom(writing, length);
  const { keys } = writing;
  const step = outward ? 1 : -1;
  let at = outward ? writing.to : writing.to + length - 1;
  let hash = writing.hash;
  let node = inner;
  for (let i = 0; i < length; i++, at += step) {
    const key = links[2 * node + 1];
    keys[at] = key;
    hash = mix(hash, key);
    node = links[2 * node];
  }
  writing.to += length;
  writing.hash = hash;
}

/** Finds duplicate paths: a hash table with open addressing, which contains path + 1. */
function newRegister(most: number, begin: Uint32Array) {
  let room = 1024;
  while (room < 2 * most) room *= 2;
  const slots = new Uint32Array(room);
  const hashes = new Int32Array(most);
  const equals = (keys: Int32Array, path: number, from: number, to: number) => {
    if (begin[path + 1] - begin[path] !== to - from) return false;
    for (let a = begin[path], b = from; b < to; a++, b++) if (keys[a] !== keys[b]) return false;
    return true;
  };
  /** The known path that equals the keys written from `from` on; if there is none, they become path `count`. */
  return ({ keys, hash, to }: Writing, from: number, count: number): number => {
    let slot = Math.imul(hash, 0x9e3779b1) >>> Math.clz32(room - 1);
    for (; slots[slot] !== 0; slot = (slot + 1) & (room - 1)) {
      const path = slots[slot] - 1;
      if (hashes[path] === hash && equals(keys, path, from, to)) return path;
    }
    slots[slot] = count + 1;
    hashes[count] = hash;
    return count;
  };
}

const keysKnown = new WeakMap<Paths, readonly number[]>();

/** All keys, without duplicates. */
export function keysIn(paths: Paths): readonly number[] {
  let keys = keysKnown.get(paths);
  if (!keys) {
    const known = new Uint8Array(paths.limit);
    for (let i = 0; i < paths.keys.length; i++) known[paths.keys[i]] = 1;
    keys = Array.from(known.keys()).filter((key) => known[key] === 1);
    keysKnown.set(paths, keys);
  }
  return keys;
}

/** Paths of some sites; `outward`: the innermost frame comes first. */
export function makePaths(
  profile: Profile,
  sites: Iterable<number>,
  span: Span,
  prefixes: Prefixes,
  outward: boolean,
): Paths {
  const most = profile.sites.count;
  const ofSite = new Uint32Array(most).fill(NOWHERE);
  const begin = new Uint32Array(most + 1);
  const register = newRegister(most, begin);
  const writing: Writing = { trail: trailOf(profile), keys: new Int32Array(32 * most + 1024), to: 0, hash: 0 };
  let count = 0;
  for (const site of sites) {
    const from = begin[count];
    writing.to = from;
    writing.hash = HASH_BEGIN;
    writePrefix(writing, prefixes.keys(prefixes.of(site)));
    writeFrames(writing, span.inner(site), span.stop(site), outward);
    const path = register(writing, from, count);
    ofSite[site] = path;
    if (path === count) begin[++count] = writing.to;
  }
  return { count, ofSite, begin, keys: writing.keys.subarray(0, begin[count]), limit: keyLimit(profile) };
}
