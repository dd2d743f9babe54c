// SPDX-License-Identifier: MIT
// threads.ts - figures by thread; threads of one name are a group.
//
// Calls and bytes are exact: they come from the threads' own counters or, if a tag is selected, from scopes. If the
// selection is by function or time interval, they are summed over sites, as all other figures are.
//
// Invariant: the sum over groups equals the sum over threads, and the figures of the selection.

import type { AllocationFunction, Estimates, Thread } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { State } from "../../state";
import { estimateSites, type Dataset } from "../figures/dataset";
import { tagsBelow } from "../figures/narrow";
import { estimatePart } from "./figures";
import { chosenTag, scopesApply } from "./tags";

export const ALLOCATION_FUNCTIONS: readonly AllocationFunction[] = ["malloc", "calloc", "realloc", "aligned", "new"];

/** One thread, or several that are shown as one. */
export interface ThreadRow {
  name: string;
  /** How many threads it represents. */
  threads: number;
  /** Their entries in header.threads. */
  members: number[];
  alive: number;
  start_s: number;
  /** null: it had not ended. */
  end_s: number | null;
  functions: Record<AllocationFunction, number>;
  /** The value of the metric. */
  value: number;
  estimates: Estimates;
}

export interface ThreadTable {
  /** By name, heaviest first. */
  groups: ThreadRow[];
  /** The threads of a group, heaviest first; computed on demand. */
  unfold(group: ThreadRow): ThreadRow[];
  total: Estimates;
  /** Calls and bytes are exact. */
  exact: boolean;
  /** So are the calls of each function. */
  functions: boolean;
}

interface Counters {
  calls: Float64Array;
  bytes: Float64Array;
}

/** Exact calls and bytes of each thread. */
function countersOf(profile: Profile, tag: number | null): Counters {
  const { threads } = profile.header;
  const calls = Float64Array.from(threads, (thread) => (tag === null ? thread.calls : 0));
  const bytes = Float64Array.from(threads, (thread) => (tag === null ? thread.bytes : 0));
  if (tag === null) return { calls, bytes };
  const inside = tagsBelow(profile, tag);
  const { scopes } = profile;
  for (let i = 0; i < scopes.count; i++) {
    if (!inside[scopes.tag[i]]) continue;
    calls[scopes.thread[i]] += scopes.calls[i];
    bytes[scopes.thread[i]] += scopes.bytes[i];
  }
  return { calls, bytes };
}

/** Sites have more calls than counters only if the process was killed before a thread had written its last counts. */
function countersOrSites(dataset: Dataset, included: Uint8Array, counters: Counters): Counters {
  const { exactObjects, exactSpace } = dataset.amounts.allocated;
  const calls = new Float64Array(counters.calls.length);
  const bytes = new Float64Array(counters.calls.length);
  for (let i = 0; i < dataset.count; i++) {
    if (!included[i]) continue;
    calls[dataset.thread[i]] += exactObjects[i];
    bytes[dataset.thread[i]] += exactSpace[i];
  }
  const larger = (a: Float64Array, b: Float64Array) => a.map((value, thread) => Math.max(value, b[thread]));
  return { calls: larger(counters.calls, calls), bytes: larger(counters.bytes, bytes) };
}

/** Sites sorted by thread, and where those of each thread begin. */
function sortSites(dataset: Dataset, included: Uint8Array, threads: number) {
  const start = new Uint32Array(threads + 1);
  const { thread } = dataset;
  for (let i = 0; i < dataset.count; i++) if (included[i] && thread[i] < threads) start[thread[i] + 1]++;
  for (let t = 0; t < threads; t++) start[t + 1] += start[t];
  const sites = new Uint32Array(start[threads]);
  const next = start.slice();
  for (let i = 0; i < dataset.count; i++) if (included[i] && thread[i] < threads) sites[next[thread[i]]++] = i;
  return { start, sites };
}

/** The sites of some threads together. */
function sitesOf({ start, sites }: ReturnType<typeof sortSites>, members: number[]): Uint32Array {
  if (members.length === 1) return sites.subarray(start[members[0]], start[members[0] + 1]);
  const all = new Uint32Array(members.reduce((sum, member) => sum + start[member + 1] - start[member], 0));
  let at = 0;
  for (const member of members) {
    all.set(sites.subarray(start[member], start[member + 1]), at);
    at += start[member + 1] - start[member];
  }
  return all;
}

function addFunctions(threads: Thread[]): Record<AllocationFunction, number> {
  const sum: Record<AllocationFunction, number> = { malloc: 0, calloc: 0, realloc: 0, aligned: 0, new: 0 };
  for (const thread of threads) for (const name of ALLOCATION_FUNCTIONS) sum[name] += thread.functions[name];
  return sum;
}

function endOf(threads: Thread[]): number | null {
  let end = 0;
  for (const thread of threads) {
    if (thread.end_s === null) return null;
    end = Math.max(end, thread.end_s);
  }
  return end;
}

type Measure = (members: number[]) => { estimates: Estimates; value: number };

function makeRow(profile: Profile, members: number[], measure: Measure): ThreadRow {
  const threads = members.map((member) => profile.header.threads[member]);
  return {
    name: threads[0].name,
    threads: threads.reduce((sum, thread) => sum + thread.threads, 0),
    members,
    alive: threads.filter((thread) => thread.alive).length,
    start_s: threads.reduce((least, thread) => Math.min(least, thread.start_s), Infinity),
    end_s: endOf(threads),
    functions: addFunctions(threads),
    ...measure(members),
  };
}

function heaviestFirst(a: ThreadRow, b: ThreadRow): number {
  return Math.abs(b.value) - Math.abs(a.value) || b.estimates.alloc_space.value - a.estimates.alloc_space.value;
}

function membersByName(threads: Thread[]): number[][] {
  const byName = new Map<string, number[]>();
  threads.forEach((thread, index) => {
    const members = byName.get(thread.name);
    if (members) members.push(index);
    else byName.set(thread.name, [index]);
  });
  return [...byName.values()];
}

/** `included` follows the selection except for its thread: the table shows all threads. */
export function tabulateThreads(
  dataset: Dataset,
  included: Uint8Array,
  state: Pick<State, "tag" | "focus" | "hide">,
  key: keyof Estimates,
): ThreadTable {
  const { profile } = dataset;
  const { threads } = profile.header;
  const exact = scopesApply(dataset, state);
  const tag = state.tag === null ? null : chosenTag(profile, state.tag);
  const counters = countersOrSites(dataset, included, countersOf(profile, tag));
  const sorted = sortSites(dataset, included, threads.length);
  const sum = (column: Float64Array, members: number[]) => members.reduce((all, member) => all + column[member], 0);
  const measure: Measure = (members) => {
    const sites = sitesOf(sorted, members);
    const asked = { calls: sum(counters.calls, members), bytes: sum(counters.bytes, members) };
    const estimates = exact ? estimatePart(dataset, sites, asked) : estimateSites(dataset, sites);
    return { estimates, value: estimates[key].value };
  };
  const row = (members: number[]) => makeRow(profile, members, measure);
  return {
    groups: membersByName(threads).map(row).sort(heaviestFirst),
    unfold: (group) => group.members.map((member) => row([member])).sort(heaviestFirst),
    total: measure(threads.map((_, index) => index)).estimates,
    exact,
    functions: exact && tag === null,
  };
}
