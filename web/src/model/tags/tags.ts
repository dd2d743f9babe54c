// SPDX-License-Identifier: MIT
// tags.ts - the tag tree: the figures of each tag alone, and with all tags below it.
//
// Calls, bytes and entries of a tag are exact if scopes apply: for selections by tag and thread, but not by stack or
// time interval. Other figures are summed over sites (figures.ts), on demand.
//
// Invariants: a row is followed by the `below` rows below it, the heaviest children first; a total is the sum of `self`
// over a row and the rows below it.

import type { Estimates } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { State } from "../../state";
import type { Dataset } from "../figures/dataset";
import { metricInfo, type Metric } from "../figures/metric";
import { tagsBelow } from "../figures/narrow";
import { estimateRows, type RowFigures, type Rows } from "./figures";

export const ROOT_TAG = 0;
const NO_ROW = 0xffffffff;

export interface TagTree {
  count: number;
  /** By row. */
  tag: Uint32Array;
  parent: Uint32Array;
  depth: Uint32Array;
  below: Uint32Array;
  /** Values of the metric; signed in a difference or a time interval. */
  self: Float64Array;
  total: Float64Array;
  /** How often the tag was entered; 0 if unknown. */
  entered: Float64Array;
  /** Calls, bytes and entries are exact. */
  exact: boolean;
  estimateSelf(row: number): Estimates;
  estimateTotal(row: number): Estimates;
}

/** Whether scopes, which are exact, cover the same allocations as the included sites. */
export function scopesApply(dataset: Dataset, state: Pick<State, "focus" | "hide">): boolean {
  return dataset.kind === "whole" && state.focus.length === 0 && state.hide.length === 0;
}

/** The selected tag; the root if there is no such tag. */
export function chosenTag(profile: Profile, tag: number | null): number {
  return tag !== null && tag < profile.header.tags.length ? tag : ROOT_TAG;
}

/** The root has no name of its own, and an empty name must not look like none. */
export function tagName(profile: Profile, tag: number): string {
  const found = profile.header.tags[tag];
  if (!found || found.kind === "root") return "(no tag)";
  return found.name === "" ? '""' : found.name;
}

/** From the outermost tag to the tag itself, without the root. */
export function tagPath(profile: Profile, tag: number): number[] {
  const path: number[] = [];
  for (let at = tag; at > ROOT_TAG; at = parentOf(profile, at)) path.push(at);
  return path.reverse();
}

/** A parent comes before its children; a file that violates this must not cause an endless loop. */
function parentOf(profile: Profile, tag: number): number {
  const parent = profile.header.tags[tag].parent ?? ROOT_TAG;
  return parent < tag ? parent : ROOT_TAG;
}

/** By tag: its own figures, without tags below it. */
interface Charges {
  used: Uint8Array;
  value: Float64Array;
  calls: Float64Array;
  bytes: Float64Array;
  entered: Float64Array;
}

export interface TagChoice {
  /** The tag at the top. */
  tag: number;
  thread: string | null;
  metric: Metric;
  /** Scopes apply. */
  scopes: boolean;
}

function chargeSites(
  dataset: Dataset,
  values: Float64Array,
  included: Uint8Array,
  inside: Uint8Array,
  to: Charges,
): void {
  const { exactObjects, exactSpace } = dataset.amounts.allocated;
  for (let i = 0; i < dataset.count; i++) {
    const tag = dataset.tag[i];
    if (!included[i] || !inside[tag]) continue;
    to.used[tag] = 1;
    to.value[tag] += values[i];
    to.calls[tag] += exactObjects[i];
    to.bytes[tag] += exactSpace[i];
  }
}

/** Sites have more calls than scopes only if the process was killed before a thread had written its last counts. */
function chargeScopes(profile: Profile, thread: string | null, inside: Uint8Array, to: Charges): void {
  const { scopes, header } = profile;
  const calls = new Float64Array(to.calls.length);
  const bytes = new Float64Array(to.calls.length);
  for (let i = 0; i < scopes.count; i++) {
    const tag = scopes.tag[i];
    if (!inside[tag] || (thread !== null && header.threads[scopes.thread[i]]?.name !== thread)) continue;
    to.used[tag] = 1;
    to.entered[tag] += scopes.entered[i];
    calls[tag] += scopes.calls[i];
    bytes[tag] += scopes.bytes[i];
  }
  for (let tag = 0; tag < calls.length; tag++) {
    to.calls[tag] = Math.max(to.calls[tag], calls[tag]);
    to.bytes[tag] = Math.max(to.bytes[tag], bytes[tag]);
  }
}

function takeExact(metric: Metric, to: Charges): void {
  if (metric === "calls") to.value.set(to.calls);
  if (metric === "allocated") to.value.set(to.bytes);
}

function charge(dataset: Dataset, values: Float64Array, included: Uint8Array, choice: TagChoice): Charges {
  const count = dataset.profile.header.tags.length;
  const inside = tagsBelow(dataset.profile, choice.tag);
  const to: Charges = {
    used: new Uint8Array(count),
    value: new Float64Array(count),
    calls: new Float64Array(count),
    bytes: new Float64Array(count),
    entered: new Float64Array(count),
  };
  chargeSites(dataset, values, included, inside, to);
  if (choice.scopes) {
    chargeScopes(dataset.profile, choice.thread, inside, to);
    takeExact(choice.metric, to);
  }
  return to;
}

/** The tags that have any figure, and all their parents up to the top, in ascending order. */
function tagsInUse(profile: Profile, used: Uint8Array, top: number): number[] {
  used[top] = 1;
  for (let tag = used.length - 1; tag > top; tag--) if (used[tag]) used[parentOf(profile, tag)] = 1;
  const tags: number[] = [];
  for (let tag = top; tag < used.length; tag++) if (used[tag]) tags.push(tag);
  return tags;
}

/** The rows of the tree. */
interface Outline {
  count: number;
  tag: Uint32Array;
  parent: Uint32Array;
  depth: Uint32Array;
  below: Uint32Array;
  /** By tag; NO_ROW: it has none. */
  rowOf: Uint32Array;
}

/** Assigns rows. Tags come in the order of their parents, so that the parent's row is known; siblings by weight. */
function placeTags(profile: Profile, tags: number[], weight: Float64Array, below: Uint32Array): Uint32Array {
  const next = new Uint32Array(weight.length);
  const rowOf = new Uint32Array(weight.length).fill(NO_ROW);
  const [top, ...others] = tags;
  const heavier = (a: number, b: number) => Math.abs(weight[b]) - Math.abs(weight[a]);
  others.sort((a, b) => parentOf(profile, a) - parentOf(profile, b) || heavier(a, b) || a - b);
  rowOf[top] = 0;
  next[top] = 1;
  for (const tag of others) {
    const parent = parentOf(profile, tag);
    rowOf[tag] = next[parent];
    next[tag] = next[parent] + 1;
    next[parent] += below[tag] + 1;
  }
  return rowOf;
}

/** `value` is by tag, without tags below it. */
function outline(profile: Profile, tags: number[], value: Float64Array): Outline {
  const weight = value.slice();
  const below = new Uint32Array(value.length);
  for (let i = tags.length - 1; i > 0; i--) {
    const parent = parentOf(profile, tags[i]);
    weight[parent] += weight[tags[i]];
    below[parent] += below[tags[i]] + 1;
  }
  const rowOf = placeTags(profile, tags, weight, below);
  const tag = new Uint32Array(tags.length);
  for (const each of tags) tag[rowOf[each]] = each;
  const parent = tag.map((each, row) => (row === 0 ? 0 : rowOf[parentOf(profile, each)]));
  const depth = new Uint32Array(tags.length);
  for (let row = 1; row < depth.length; row++) depth[row] = depth[parent[row]] + 1;
  return { count: tags.length, tag, parent, depth, below: tag.map((each) => below[each]), rowOf };
}

/** While the profiler was off or paused, only calls and bytes were counted. */
function isRecorded(profile: Profile, tag: number): boolean {
  const { kind } = profile.header.tags[tag];
  return kind !== "off" && kind !== "paused";
}

/** By row: the sum of `self` over the row and all rows below it. */
function addUp(parent: Uint32Array, self: Float64Array): Float64Array {
  const total = self.slice();
  for (let row = total.length - 1; row > 0; row--) total[parent[row]] += total[row];
  return total;
}

function byRow({ tag }: Outline, column: Float64Array): Float64Array {
  return Float64Array.from(tag, (each) => column[each]);
}

function bounded(values: Float64Array, allocated: Float64Array): Float64Array {
  return values.map((value, row) => Math.min(value, allocated[row]));
}

/** The input for the rows' figures with confidence intervals. */
function rowsOf(dataset: Dataset, shape: Outline, charges: Charges, scopes: boolean): Rows {
  const { tag, parent, rowOf, count } = shape;
  const asked = (calls: Float64Array, bytes: Float64Array) => {
    return (row: number) => ({ calls: calls[row], bytes: bytes[row] });
  };
  const [calls, bytes] = [byRow(shape, charges.calls), byRow(shape, charges.bytes)];
  const known = {
    self: asked(calls, bytes),
    total: asked(addUp(parent, calls), addUp(parent, bytes)),
    recorded: (row: number) => isRecorded(dataset.profile, tag[row]),
  };
  const ofSite = (site: number) => {
    const row = rowOf[dataset.tag[site]];
    return row === NO_ROW ? undefined : row;
  };
  return { count, parent, ofSite, asked: scopes ? known : null };
}

export function growTags(dataset: Dataset, values: Float64Array, included: Uint8Array, choice: TagChoice): TagTree {
  const { profile } = dataset;
  const charges = charge(dataset, values, included, choice);
  const shape = outline(profile, tagsInUse(profile, charges.used, choice.tag), charges.value);
  const rows = rowsOf(dataset, shape, charges, choice.scopes);
  const self = byRow(shape, charges.value);
  const total = addUp(shape.parent, self);
  const most = byRow(shape, metricInfo(choice.metric).unit === "bytes" ? charges.bytes : charges.calls);
  let known: RowFigures | undefined;
  const figures = () => (known ??= estimateRows(dataset, included, rows));
  return {
    ...shape,
    self: choice.scopes ? bounded(self, most) : self,
    total: choice.scopes ? bounded(total, addUp(shape.parent, most)) : total,
    entered: byRow(shape, charges.entered),
    exact: choice.scopes,
    estimateSelf: (row) => figures().self[row],
    estimateTotal: (row) => figures().total[row],
  };
}

/** The hot path: rows from the top, each of which has at least half of the total of the one before. */
export function hotRows(tree: TagTree): number[] {
  const rows: number[] = [];
  let row = 0;
  while (tree.below[row] > 0 && tree.total[row] > 0 && tree.total[row + 1] >= tree.total[row] / 2) rows.push(++row);
  return rows;
}
