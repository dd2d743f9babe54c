// SPDX-License-Identifier: MIT
// functions.ts - what each function allocated itself (self: its frame is the innermost) and with its callees (total).
//
// A stack with several frames of a function counts once. "Usual" frames are those between startup code and allocators;
// "all" frames include these.

import type { Estimates } from "../../data/header";
import { Role, type Profile } from "../../data/profile";
import type { Dataset } from "../figures/dataset";
import {
  activeSites,
  byMetric,
  groupBy,
  groupEstimates,
  members,
  NO_GROUP,
  signedValue,
  type Groups,
} from "../figures/groups";
import type { Metric } from "../figures/metric";
import { trailOf } from "../flame/paths";
import { rememberTests } from "./sorting";

export interface FunctionRows {
  dataset: Dataset;
  count: number;
  /** By row: its function. */
  index: Uint32Array;
  /** By row; signed. */
  self(metric: Metric): Float64Array;
  total(metric: Metric): Float64Array;
  selfEstimates(row: number): Estimates;
  totalEstimates(row: number): Estimates;
}

/** Sites grouped by stack, so that each stack is walked once. */
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

/** The functions, and those of each stack without duplicates: row[begin[stack]] .. row[begin[stack + 1] - 1]. */
interface Incidence {
  /** By row: its function. */
  functions: number[];
  begin: Uint32Array;
  row: Uint32Array;
}

/** Walks every stack, from the inside out. */
function meetFunctions({ profile }: Dataset, { inner, outer }: Stacks): Incidence {
  const { links, depth } = trailOf(profile);
  const rowOf = new Uint32Array(profile.functions.count).fill(NO_GROUP);
  const seen = new Uint32Array(profile.functions.count);
  const functions: number[] = [];
  const begin = new Uint32Array(inner.length + 1);
  let row: Uint32Array = new Uint32Array(16 * inner.length);
  let at = 0;
  for (let stack = 0; stack < inner.length; stack++) {
    if (at + depth[inner[stack]] > row.length) row = longer(row, at + depth[inner[stack]]);
    for (let node = inner[stack]; node !== 0; node = links[2 * node]) {
      const index = links[2 * node + 1];
      if (seen[index] !== stack + 1) {
        seen[index] = stack + 1;
        if (rowOf[index] === NO_GROUP) rowOf[index] = functions.push(index) - 1;
        row[at++] = rowOf[index];
      }
      if (node === outer[stack]) break;
    }
    begin[stack + 1] = at;
  }
  return ownFirst(profile, { functions, begin, row: row.subarray(0, at) });
}

/** Numbers the program's own functions first, so that they come first among equals in every order. */
function ownFirst({ functions: all }: Profile, { functions, begin, row }: Incidence): Incidence {
  const rows = functions.map((_, i) => i);
  const foreign = (row: number) => (all.role[functions[row]] === Role.Own ? 0 : 1);
  const order = rows.sort((a, b) => foreign(a) - foreign(b));
  const numbered = new Uint32Array(order.length);
  order.forEach((old, i) => (numbered[old] = i));
  return { functions: order.map((old) => functions[old]), begin, row: row.map((old) => numbered[old]) };
}

function longer(column: Uint32Array, least: number): Uint32Array {
  const wider = new Uint32Array(Math.max(2 * column.length, least));
  wider.set(column);
  return wider;
}

function sumStacks(stacks: Stacks, value: (site: number) => number): Float64Array {
  const sums = new Float64Array(stacks.inner.length);
  for (let s = 0; s < sums.length; s++)
    for (let i = stacks.groups.begin[s]; i < stacks.groups.begin[s + 1]; i++) sums[s] += value(stacks.groups.member[i]);
  return sums;
}

/** By row, the sum over stacks in which its function is the innermost, or in which it occurs at all. */
function sumRows({ functions, begin, row }: Incidence, values: Float64Array, onlyInnermost: boolean): Float64Array {
  const sums = new Float64Array(functions.length);
  for (let stack = 0; stack < values.length; stack++) {
    const end = onlyInnermost ? Math.min(begin[stack] + 1, begin[stack + 1]) : begin[stack + 1];
    for (let i = begin[stack]; i < end; i++) sums[row[i]] += values[stack];
  }
  return sums;
}

/** By row, the stacks in which its function is the innermost, or in which it occurs at all. */
function findStacks({ functions, begin, row }: Incidence, onlyInnermost: boolean): Groups {
  const count = functions.length;
  const first = new Uint32Array(count + 1);
  const stacks = begin.length - 1;
  const endOf = (stack: number) => (onlyInnermost ? Math.min(begin[stack] + 1, begin[stack + 1]) : begin[stack + 1]);
  for (let stack = 0; stack < stacks; stack++)
    for (let i = begin[stack], end = endOf(stack); i < end; i++) first[row[i] + 1]++;
  for (let each = 0; each < count; each++) first[each + 1] += first[each];
  const next = first.slice();
  const member = new Uint32Array(first[count]);
  for (let stack = 0; stack < stacks; stack++)
    for (let i = begin[stack], end = endOf(stack); i < end; i++) member[next[row[i]]++] = stack;
  return { count, begin: first, member };
}

function* sitesOf(stacks: Stacks, which: Iterable<number>): Iterable<number> {
  for (const stack of which) yield* members(stacks.groups, stack);
}

export function makeFunctionRows(dataset: Dataset, included: Uint8Array, frames: "usual" | "all"): FunctionRows {
  const stacks = gatherStacks(dataset, activeSites(dataset, included), frames === "all");
  const incidence = meetFunctions(dataset, stacks);
  const stackValues = byMetric((metric) => sumStacks(stacks, signedValue(dataset, metric)));
  const self = byMetric((metric) => sumRows(incidence, stackValues(metric), true));
  const total = byMetric((metric) => sumRows(incidence, stackValues(metric), false));
  let own: Groups | undefined;
  let through: Groups | undefined;
  return {
    dataset,
    count: incidence.functions.length,
    index: Uint32Array.from(incidence.functions),
    self,
    total,
    selfEstimates(row) {
      const sites = () => sitesOf(stacks, members((own ??= findStacks(incidence, true)), row));
      return groupEstimates(dataset, sites, (metric) => self(metric)[row]);
    },
    totalEstimates(row) {
      const sites = () => sitesOf(stacks, members((through ??= findStacks(incidence, false)), row));
      return groupEstimates(dataset, sites, (metric) => total(metric)[row]);
    },
  };
}

/** Whether the name, complete name, file or module of a function passes a test. */
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
