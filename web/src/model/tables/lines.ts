// SPDX-License-Identifier: MIT
// lines.ts - figures of source lines: what a line allocated itself, and with its callees.

import type { Snippet } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { Dataset } from "../figures/dataset";

export interface Lines {
  /** Of sites that are named after this line. */
  own(file: string, line: number): number;
  /** Of stacks that go through this line; each counts once. */
  through(file: string, line: number): number;
}

interface Numbering {
  /** By place: the number of its line; 0 if no snippet is of its file. */
  ofPlace: Uint32Array;
  count: number;
  find(file: string, line: number): number;
}

/** Numbers the lines of the files that snippets are of. */
function numberLines(profile: Profile): Numbering {
  const { places, functions } = profile;
  const wanted = new Set(profile.header.sources.map((snippet) => snippet.file));
  const numbers = new Map<string, number>();
  const ofPlace = new Uint32Array(places.count);
  for (let place = 0; place < places.count; place++) {
    const file = profile.text(functions.source[places.function[place]]);
    if (!wanted.has(file)) continue;
    const key = `${places.line[place]} ${file}`;
    let number = numbers.get(key);
    if (number === undefined) numbers.set(key, (number = numbers.size + 1));
    ofPlace[place] = number;
  }
  return { ofPlace, count: numbers.size + 1, find: (file, line) => numbers.get(`${line} ${file}`) ?? 0 };
}

/** By node: the sum of the sites whose stacks end there, and the innermost usual frame. */
function sumNodes(dataset: Dataset, values: Float64Array): { sums: Float64Array; inner: Uint32Array } {
  const sums = new Float64Array(dataset.profile.nodes.count);
  const inner = new Uint32Array(dataset.profile.nodes.count);
  for (let i = 0; i < dataset.count; i++) {
    sums[dataset.node[i]] += values[i];
    inner[dataset.node[i]] = dataset.inner[i];
  }
  return { sums, inner };
}

/** `values` are by site of the dataset; signed. */
export function sumLines(dataset: Dataset, values: Float64Array): Lines {
  const { nodes } = dataset.profile;
  const lines = numberLines(dataset.profile);
  const own = new Float64Array(lines.count);
  const through = new Float64Array(lines.count);
  const seen = new Uint32Array(lines.count);
  for (let i = 0; i < dataset.count; i++) own[lines.ofPlace[nodes.place[dataset.own[i]]]] += values[i];
  const { sums, inner } = sumNodes(dataset, values);
  for (let node = 1; node < nodes.count; node++) {
    if (sums[node] === 0) continue;
    for (let at = inner[node]; at !== 0; at = nodes.parent[at]) {
      const line = lines.ofPlace[nodes.place[at]];
      if (seen[line] !== node) through[line] += sums[node];
      seen[line] = node;
    }
  }
  own[0] = through[0] = 0;
  return {
    own: (file, line) => own[lines.find(file, line)],
    through: (file, line) => through[lines.find(file, line)],
  };
}

/** Lines of a function that occur in the profile. */
export function linesOfFunction(profile: Profile, index: number): number[] {
  const { places } = profile;
  const lines = new Set<number>();
  for (let place = 0; place < places.count; place++)
    if (places.function[place] === index && places.line[place] > 0) lines.add(places.line[place]);
  return [...lines].sort((a, b) => a - b);
}

export function hasLine(snippet: Snippet, line: number): boolean {
  return line >= snippet.first && line < snippet.first + snippet.lines.length;
}
