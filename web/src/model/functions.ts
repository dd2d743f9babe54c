// SPDX-License-Identifier: MIT
// functions.ts - what each function allocated itself (its frame is the innermost) and with all that it called.
//
// A stack in which a function is several times counts once. "Usual" frames are those between what starts programs and
// the allocator's own; "all" frames are all.

import type { Estimates } from "../data/header";
import { Role, type Profile } from "../data/profile";
import type { Dataset } from "./dataset";
import { activeSites, byMetric, groupBy, groupEstimates, members, NO_GROUP, signedValue, type Groups } from "./groups";
import type { Metric } from "./metric";
import { rememberTests } from "./sorting";

export interface FunctionRows {
  dataset: Dataset;
  count: number;
  /** The function that a row is about. */
  index: Uint32Array;
  /** By row, with its sign. */
  self(metric: Metric): Float64Array;
  total(metric: Metric): Float64Array;
  selfEstimates(row: number): Estimates;
  totalEstimates(row: number): Estimates;
}

/** Sites that have the same frames, so that each stack is walked once. */
interface Stacks {
  groups: Groups;
  inner: Uint32Array;
  outer: Uint32Array;
}

function gatherStacks(dataset: Dataset, active: Uint8Array, all: boolean): Stacks {
  const { nodes } = dataset.profile;
  const number = new Uint32Array(nodes.count).fill(NO_GROUP);
  const inner: number[] = [];
  const outer: number[] = [];
  for (let i = 0; i < dataset.count; i++) {
    if (!active[i] || number[dataset.node[i]] !== NO_GROUP) continue;
    number[dataset.node[i]] = inner.length;
    inner.push(all ? dataset.node[i] : dataset.inner[i]);
    outer.push(all ? 0 : dataset.outer[i]);
  }
  const groups = groupBy(dataset.count, inner.length, (i) => (active[i] ? number[dataset.node[i]] : NO_GROUP));
  return { groups, inner: Uint32Array.from(inner), outer: Uint32Array.from(outer) };
}

/** Calls back with each stack and each function in it, once. */
function walkStacks(dataset: Dataset, stacks: Stacks, visit: (stack: number, index: number) => void): void {
  const { nodes, places, functions } = dataset.profile;
  const seen = new Uint32Array(functions.count);
  for (let stack = 0; stack < stacks.inner.length; stack++) {
    for (let node = stacks.inner[stack]; node !== 0; node = nodes.parent[node]) {
      const index = places.function[nodes.place[node]];
      if (seen[index] !== stack + 1) visit(stack, index);
      seen[index] = stack + 1;
      if (node === stacks.outer[stack]) break;
    }
  }
}

function sumStacks(stacks: Stacks, value: (site: number) => number): Float64Array {
  const sums = new Float64Array(stacks.inner.length);
  for (let s = 0; s < sums.length; s++)
    for (let i = stacks.groups.begin[s]; i < stacks.groups.begin[s + 1]; i++) sums[s] += value(stacks.groups.member[i]);
  return sums;
}

/** Stacks by row: those that go through its function. */
function findThrough(dataset: Dataset, stacks: Stacks, rowOf: Uint32Array, count: number): Groups {
  const begin = new Uint32Array(count + 1);
  walkStacks(dataset, stacks, (_, index) => begin[rowOf[index] + 1]++);
  for (let row = 0; row < count; row++) begin[row + 1] += begin[row];
  const next = begin.slice();
  const member = new Uint32Array(begin[count]);
  walkStacks(dataset, stacks, (stack, index) => (member[next[rowOf[index]]++] = stack));
  return { count, begin, member };
}

function* sitesOf(stacks: Stacks, which: Iterable<number>): Iterable<number> {
  for (const stack of which) yield* members(stacks.groups, stack);
}

export function makeFunctionRows(dataset: Dataset, included: Uint8Array, frames: "usual" | "all"): FunctionRows {
  const { nodes, places, functions } = dataset.profile;
  const stacks = gatherStacks(dataset, activeSites(dataset, included), frames === "all");
  const rowOf = new Uint32Array(functions.count).fill(NO_GROUP);
  const index: number[] = [];
  walkStacks(dataset, stacks, (_, each) => {
    if (rowOf[each] === NO_GROUP) rowOf[each] = index.push(each) - 1;
  });
  const count = index.length;
  const selfRow = (stack: number) => rowOf[places.function[nodes.place[stacks.inner[stack]]]];
  const self = byMetric((metric) => {
    const sums = new Float64Array(count);
    sumStacks(stacks, signedValue(dataset, metric)).forEach((sum, stack) => (sums[selfRow(stack)] += sum));
    return sums;
  });
  const total = byMetric((metric) => {
    const sums = new Float64Array(count);
    const values = sumStacks(stacks, signedValue(dataset, metric));
    walkStacks(dataset, stacks, (stack, each) => (sums[rowOf[each]] += values[stack]));
    return sums;
  });
  let own: Groups | undefined;
  let through: Groups | undefined;
  return {
    dataset,
    count,
    index: Uint32Array.from(index),
    self,
    total,
    selfEstimates(row) {
      const sites = () => sitesOf(stacks, members((own ??= groupBy(stacks.inner.length, count, selfRow)), row));
      return groupEstimates(dataset, sites, (metric) => self(metric)[row]);
    },
    totalEstimates(row) {
      const sites = () => sitesOf(stacks, members((through ??= findThrough(dataset, stacks, rowOf, count)), row));
      return groupEstimates(dataset, sites, (metric) => total(metric)[row]);
    },
  };
}

/** Whether a function passes a test by its name, its complete name, its file or its module. */
export function functionTest(profile: Profile, test: (text: string) => boolean): (index: number) => boolean {
  const { name, full, file, module } = profile.functions;
  const passes = rememberTests(profile.text, test);
  const modulePasses = rememberTests(profile.moduleName, test);
  return (index) =>
    passes(name[index]) || passes(full[index]) || passes(file[index]) || modulePasses(module[index]);
}

const ROLES: Record<Role, string> = {
  [Role.Own]: "own",
  [Role.Library]: "library",
  [Role.Allocator]: "allocator",
  [Role.Start]: "start",
  [Role.Threshold]: "start",
};

/** Whose code it is, in a word. */
export function roleWord(role: Role): string {
  return ROLES[role] ?? "";
}
