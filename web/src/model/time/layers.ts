// SPDX-License-Identifier: MIT
// layers.ts - who held the heap over time: at the start, at the times of header.snapshots, and at the end.
//
// A snapshot names the sites that held most. Unnamed sites, and those that are not among the heaviest layers, form one
// more layer, so that all layers together are the live memory.

import type { Profile } from "../../data/profile";
import { siteValues } from "../figures/figures";
import { foldSites } from "../tables/stacks";

export type LayersBy = "site" | "tag";

export const LAYERS = 8;

export interface Layer {
  /** The same in every reading of the profile. */
  key: string;
  /** Of the function, or of the tag. */
  index: number;
  name: string;
  /** At each of the known times. */
  bytes: Float64Array;
}

export interface Layers {
  layers: Layer[];
  others: Float64Array;
}

/** The times at which the heap's composition is known. `snapshot[i]` is that of time i + 1; time 0 is the start. */
export interface Known {
  time: number[];
  snapshot: number[];
}

export function knownMoments(profile: Profile): Known {
  const { snapshots, process } = profile.header;
  const order = snapshots.map((_, index) => index).sort((a, b) => snapshots[a].time_s - snapshots[b].time_s);
  const times = order.map((index) => snapshots[index].time_s);
  const last = times.at(-1) ?? 0;
  return { time: [0, ...times, Math.max(process.duration_s, last)], snapshot: order };
}

/** By snapshot: its index in the known times. */
function momentOfSnapshot(known: Known): Uint32Array {
  const moment = new Uint32Array(known.snapshot.length);
  known.snapshot.forEach((snapshot, i) => (moment[snapshot] = i + 1));
  return moment;
}

export function totalAt(profile: Profile, known: Known = knownMoments(profile)): Float64Array {
  const total = new Float64Array(known.time.length);
  known.snapshot.forEach((snapshot, i) => (total[i + 1] = profile.header.snapshots[snapshot].live_bytes));
  total[total.length - 1] = profile.header.totals.inuse_space.value;
  return total;
}

/** Bytes held by group and known time: row `group` begins at group * moments. */
function sumGroups(profile: Profile, known: Known, group: Uint32Array, groups: number): Float64Array {
  const { shares, sites } = profile;
  const moments = known.time.length;
  const held = new Float64Array(groups * moments);
  const moment = momentOfSnapshot(known);
  for (let i = 0; i < shares.site.length; i++)
    held[group[shares.site[i]] * moments + moment[shares.snapshot[i]]] += shares.bytes[i];
  const live = siteValues(sites.amounts, "inuse_space");
  for (let site = 0; site < sites.count; site++) held[group[site] * moments + moments - 1] += live[site];
  return held;
}

/** The groups that ever held most, heaviest first. */
function heaviest(held: Float64Array, groups: number, moments: number): number[] {
  const most = new Float64Array(groups);
  for (let i = 0; i < held.length; i++) {
    const group = Math.floor(i / moments);
    if (held[i] > most[group]) most[group] = held[i];
  }
  const found: number[] = [];
  for (let group = 0; group < groups; group++) if (most[group] > 0) found.push(group);
  return found.sort((a, b) => most[b] - most[a] || a - b).slice(0, LAYERS);
}

/** The function that a site is named after. */
export function ownFunctions(profile: Profile): Uint32Array {
  const { sites, nodes, places } = profile;
  const own = new Uint32Array(sites.count);
  for (let site = 0; site < sites.count; site++)
    own[site] = places.function[nodes.place[sites.own[site] || sites.node[site]]];
  return own;
}

export function tagName(profile: Profile, tag: number): string {
  const { tags } = profile.header;
  if (tags[tag]?.kind === "root") return "(no tag)";
  return tags[tag]?.path ?? tags[tag]?.name ?? "";
}

/** How sites are grouped into layers. */
interface Groups {
  count: number;
  ofSite: Uint32Array;
  describe: (group: number) => Omit<Layer, "bytes">;
}

function groupByTag(profile: Profile): Groups {
  const describe = (index: number) => ({ key: tagName(profile, index), index, name: tagName(profile, index) });
  return { count: profile.header.tags.length, ofSite: profile.sites.tag, describe };
}

/** By the function that a site is named after and the library function that it called, as in the table of sites. */
function groupBySite(profile: Profile): Groups {
  const folding = foldSites(profile);
  const known = new Map<string, number>();
  const owner: number[] = [];
  const via: number[] = [];
  const ofRow = new Uint32Array(folding.count);
  for (let row = 0; row < folding.count; row++) {
    const index = profile.places.function[folding.place[row]];
    const key = `${index} ${folding.via[row]}`;
    const group = known.get(key) ?? owner.length;
    if (group === owner.length) {
      known.set(key, group);
      owner.push(index);
      via.push(folding.via[row]);
    }
    ofRow[row] = group;
  }
  const describe = (group: number) => {
    const index = owner[group];
    const called = via[group] > 0 ? ` → ${profile.text(via[group])}` : "";
    return { key: profile.functionKey(index) + called, index, name: profile.functionName(index) + called };
  };
  return { count: owner.length, ofSite: folding.ofSite.map((row) => ofRow[row]), describe };
}

export function makeLayers(profile: Profile, by: LayersBy): Layers {
  const known = knownMoments(profile);
  const moments = known.time.length;
  const groups = by === "site" ? groupBySite(profile) : groupByTag(profile);
  const held = sumGroups(profile, known, groups.ofSite, groups.count);
  const layers = heaviest(held, groups.count, moments).map((group) => ({
    ...groups.describe(group),
    bytes: held.subarray(group * moments, (group + 1) * moments),
  }));
  const others = totalAt(profile, known);
  for (const { bytes } of layers) for (let i = 0; i < moments; i++) others[i] -= bytes[i];
  return { layers, others: others.map((bytes) => Math.max(0, bytes)) };
}

/** What the included sites held at the known times. Unnamed sites had the same fraction as all of them together. */
export function heldBy(profile: Profile, included: Uint8Array): Float64Array {
  const { shares, sites, header } = profile;
  const known = knownMoments(profile);
  const held = new Float64Array(known.time.length);
  const moment = momentOfSnapshot(known);
  const named = new Uint32Array(sites.count); /* by site: 1 + the last snapshot that named it */
  const asked = siteValues(sites.amounts, "alloc_space");
  const addOthers = (snapshot: number) => {
    const part = header.snapshots[snapshot].others_bytes;
    if (!(part > 0)) return;
    for (let site = 0; site < sites.count; site++)
      if (included[site] && named[site] !== snapshot + 1) held[moment[snapshot]] += part * asked[site];
  };
  let row = 0;
  for (let snapshot = 0; snapshot < header.snapshots.length; snapshot++) {
    for (; row < shares.site.length && shares.snapshot[row] === snapshot; row++) {
      named[shares.site[row]] = snapshot + 1;
      if (included[shares.site[row]]) held[moment[snapshot]] += shares.bytes[row];
    }
    addOthers(snapshot);
  }
  const live = siteValues(sites.amounts, "inuse_space");
  for (let site = 0; site < sites.count; site++) if (included[site]) held[held.length - 1] += live[site];
  return held;
}

/** By site: 1 if its stack goes through a function. */
export function sitesThrough(profile: Profile, index: number): Uint8Array {
  const { nodes, places, sites } = profile;
  const through = new Uint8Array(nodes.count);
  for (let node = 1; node < nodes.count; node++)
    through[node] = through[nodes.parent[node]] || places.function[nodes.place[node]] === index ? 1 : 0;
  return Uint8Array.from(sites.node, (node) => through[node]);
}

function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** A colour for each key: the one it had before, else that of its hash, else the next free one. */
export function assignSlots(before: ReadonlyMap<string, number>, keys: readonly string[]): Map<string, number> {
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  const take = (key: string, slot: number) => {
    slots.set(key, slot);
    taken.add(slot);
  };
  for (const key of keys) {
    const slot = before.get(key);
    if (slot !== undefined && !taken.has(slot)) take(key, slot);
  }
  for (const key of keys.slice(0, LAYERS)) {
    if (slots.has(key)) continue;
    let slot = hashText(key) % LAYERS;
    while (taken.has(slot)) slot = (slot + 1) % LAYERS;
    take(key, slot);
  }
  return slots;
}

/**
 * For each row, the known time before it (`moment`), and how far it is on the way to the next one (`part`, 0 to 1). The
 * way is measured by the changes of live memory: while live memory is constant, so are the shares of sites.
 */
export interface Progress {
  moment: Uint32Array;
  part: Float64Array;
}

export function progressOf(
  time: readonly number[],
  live: readonly (number | null)[],
  known: readonly number[],
): Progress {
  const moved = new Float64Array(time.length);
  for (let i = 1; i < time.length; i++) moved[i] = moved[i - 1] + Math.abs((live[i] ?? 0) - (live[i - 1] ?? 0));
  const row = known.map((seconds) => Math.max(0, time.indexOf(seconds)));
  const moment = new Uint32Array(time.length);
  const part = new Float64Array(time.length);
  let at = 0;
  for (let i = 0; i < time.length; i++) {
    while (at + 1 < known.length && row[at + 1] <= i) at++;
    moment[i] = at;
    const [from, to] = [row[at], row[Math.min(at + 1, known.length - 1)]];
    const way = moved[to] - moved[from];
    if (to > from)
      part[i] = way > 0 ? (moved[i] - moved[from]) / way : (time[i] - time[from]) / (time[to] - time[from]);
  }
  return { moment, part };
}

/** Turns bytes at the known times into shares of the live memory then, interpolates these, and applies them to rows. */
export function spreadRows(
  progress: Progress,
  live: readonly (number | null)[],
  total: ArrayLike<number>,
  bytes: ArrayLike<number>,
): number[] {
  const last = total.length - 1;
  const shares = Array.from(total, (whole, i) => (whole > 0 ? bytes[i] / whole : 0));
  if (last > 0 && !(total[0] > 0)) shares[0] = shares[1]; /* nothing is live at the start: use the next shares */
  return live.map((level, i) => {
    const at = progress.moment[i];
    const share = shares[at] + progress.part[i] * (shares[Math.min(at + 1, last)] - shares[at]);
    return share * (level ?? 0);
  });
}

/** Cumulative sums, so that each layer lies on top of those before it. */
export function stackLayers(layers: readonly (readonly number[])[]): number[][] {
  const sum = new Float64Array(layers[0]?.length ?? 0);
  return layers.map((layer) => layer.map((bytes, i) => (sum[i] += bytes)));
}
