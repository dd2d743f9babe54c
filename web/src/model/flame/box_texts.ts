// SPDX-License-Identifier: MIT
// box_texts.ts - the texts about a box of the flame graph: for tooltips, screen readers and copies.

import type { Estimates } from "../../data/header";
import type { Profile } from "../../data/profile";
import { estimateSides, estimateSites, type Dataset } from "../figures/dataset";
import {
  formatBytes,
  formatChange,
  formatChangeEstimate,
  formatCount,
  formatEstimate,
  formatPercent,
  formatValue,
} from "../figures/format";
import { METRICS, metricInfo, metricTitle, type Metric } from "../figures/metric";
import { boxValue, keyName, readKey, type Subject, type Tree } from "./tree";

export interface Fact {
  label: string;
  text: string;
}

export interface Facts {
  /** The complete name. */
  name: string;
  /** Module, file and lines; "" if unknown. */
  where: string;
  facts: Fact[];
  /** A remark below the facts; "" for none. */
  note: string;
}

const MOST_LINES = 6;
const MOST_SITES = 5000; /* in which to look for lines: more rarely have new ones */

export function* sitesOf(tree: Tree, box: number): Iterable<number> {
  for (let i = tree.siteBegin[box]; i < tree.siteEnd[box]; i++) yield tree.sites[i];
}

/** The node of a site's stack that the box shows; -1 if the box is no frame. */
function nodeIn(tree: Tree, box: number, site: number): number {
  const { level, nodes } = tree.frames(site);
  return nodes[tree.depth[box] - level] ?? -1;
}

function linesOf(profile: Profile, tree: Tree, box: number): number[] {
  const lines = new Set<number>();
  const end = Math.min(tree.siteEnd[box], tree.siteBegin[box] + MOST_SITES);
  for (let i = tree.siteBegin[box]; i < end && lines.size <= MOST_LINES; i++) {
    const node = nodeIn(tree, box, tree.sites[i]);
    const line = node > 0 ? profile.places.line[profile.nodes.place[node]] : 0;
    if (line > 0) lines.add(line);
  }
  return [...lines].sort((a, b) => a - b);
}

/** "index.c:88, 97", "index.c", "" */
function placeOf(profile: Profile, tree: Tree, box: number, index: number): string {
  const file = profile.text(profile.functions.file[index]);
  if (file === "") return "";
  const lines = linesOf(profile, tree, box);
  if (lines.length === 0) return file;
  return `${file}:${lines.slice(0, MOST_LINES).join(", ")}${lines.length > MOST_LINES ? ", …" : ""}`;
}

function fullName(profile: Profile, key: number): string {
  const what = readKey(profile, key);
  if (what.kind === "root") return profile.header.page.title || profile.header.process.name;
  if (what.kind === "function") return profile.text(profile.functions.full[what.index]) || keyName(profile, key);
  if (what.kind === "thread") return `thread ${keyName(profile, key)}`;
  return `tag ${profile.header.tags[what.index]?.path || "(no tag)"}`;
}

function whereOf(profile: Profile, tree: Tree, box: number): string {
  const what = readKey(profile, tree.key[box]);
  if (what.kind !== "function") return "";
  const module = profile.moduleName(profile.functions.module[what.index]);
  return [module, placeOf(profile, tree, box, what.index)].filter((part) => part !== "").join(" · ");
}

/** The tag or thread that the box is in: "tag request/parse"; "" for none. */
function groupOf(profile: Profile, tree: Tree, box: number): string {
  for (let at = tree.parent[box]; at !== 0; at = tree.parent[at])
    if (readKey(profile, tree.key[at]).kind !== "function") return fullName(profile, tree.key[at]);
  return "";
}

function ownSize(tree: Tree, box: number): number {
  let own = tree.size[box];
  for (let child = tree.childBegin[box]; child < tree.childEnd[box]; child++) own -= tree.size[child];
  return own > 1e-9 * tree.size[box] ? own : 0;
}

function shareFacts(tree: Tree, box: number): Fact[] {
  if (box === 0) return [];
  const label = tree.widths === "value" ? "of all" : "of the whole graph";
  const all: Fact = { label, text: formatPercent(tree.size[box] / tree.size[0]) };
  const parent = tree.parent[box];
  if (parent === 0) return [all];
  return [all, { label: "of the box around it", text: formatPercent(tree.size[box] / tree.size[parent]) }];
}

function ownFacts(tree: Tree, box: number, metric: Metric): Fact[] {
  const own = ownSize(tree, box);
  if (tree.widths !== "value" || own === 0 || tree.childBegin[box] === tree.childEnd[box]) return [];
  return [{ label: "self", text: formatValue(metricInfo(metric).unit, own) }];
}

function meanSize(estimates: Estimates): Fact[] {
  const calls = estimates.alloc_objects.value;
  return calls > 0 ? [{ label: "mean size", text: formatBytes(estimates.alloc_space.value / calls) }] : [];
}

const BESIDE: readonly Metric[] = ["calls", "allocated", "live", "temporary"];

function otherFacts(dataset: Dataset, estimates: Estimates, metric: Metric): Fact[] {
  const write = dataset.kind === "interval" ? formatChangeEstimate : formatEstimate;
  return METRICS.filter((info) => BESIDE.includes(info.metric) && info.metric !== metric)
    .filter((info) => dataset.kind !== "interval" || !info.onlyWhole)
    .map((info) => ({ info, estimate: estimates[info.key] }))
    .filter(({ estimate }) => estimate.value !== 0 || estimate.high > 0)
    .map(({ info, estimate }) => ({
      label: metricTitle(dataset.profile.header, info.metric, dataset.kind === "interval").toLowerCase(),
      text: info.metric === "live" ? write(info.unit, estimate) : formatEstimate(info.unit, estimate),
    }));
}

function sideFacts(dataset: Dataset, tree: Tree, box: number, metric: Metric): Fact[] {
  const { key, unit } = metricInfo(metric);
  const { before, after } = estimateSides(dataset, sitesOf(tree, box));
  const calls = (side: Estimates) => formatCount(side.alloc_objects.value);
  return [
    { label: "before → after", text: `${formatEstimate(unit, before[key])} → ${formatEstimate(unit, after[key])}` },
    ...(metric === "calls" ? [] : [{ label: "calls", text: `${calls(before)} → ${calls(after)}` }]),
  ];
}

/** The sum of sampled sites is an estimate, while total calls and bytes were counted: the two may differ. */
function noteOf(subject: Subject, tree: Tree, box: number, totals: Estimates): string {
  const { key, unit } = metricInfo(subject.metric);
  if (box !== 0 || tree.widths !== "value") return "";
  const total = totals[key].value;
  if (Math.abs(total - tree.size[0]) <= 1e-6 * total) return "";
  return `This is the sum of sites. The total is known independently: ${formatEstimate(unit, totals[key])}.`;
}

/** Names and figures of a box. */
export function factsOf(subject: Subject, tree: Tree, box: number, totals: Estimates): Facts {
  const { dataset, metric } = subject;
  const { profile } = dataset;
  const { key, unit } = metricInfo(metric);
  const estimates = estimateSites(dataset, sitesOf(tree, box));
  const label = metricTitle(profile.header, metric, dataset.kind === "interval").toLowerCase();
  const write = tree.widths === "value" ? formatEstimate : formatChangeEstimate;
  const group = groupOf(profile, tree, box);
  const facts = [
    { label: tree.widths === "value" ? label : `${label}, change`, text: write(unit, estimates[key]) },
    ...(tree.widths === "value" ? [] : sideFacts(dataset, tree, box, metric)),
    ...shareFacts(tree, box),
    ...ownFacts(tree, box, metric),
    ...(dataset.kind === "difference" ? [] : [...otherFacts(dataset, estimates, metric), ...meanSize(estimates)]),
    ...(group === "" ? [] : [{ label: "in", text: group }]),
  ];
  return {
    name: fullName(profile, tree.key[box]),
    where: whereOf(profile, tree, box),
    facts,
    note: noteOf(subject, tree, box, totals),
  };
}

/** One line for screen readers: "index_add_term, 1.9 MiB ± 0.1 MiB, 91.0%, depth 3 of 7, 2 inside". */
export function announce(subject: Subject, tree: Tree, box: number): string {
  const { dataset, metric } = subject;
  const { key, unit } = metricInfo(metric);
  const estimate = estimateSites(dataset, sitesOf(tree, box))[key];
  const figure = tree.widths === "value" ? formatEstimate(unit, estimate) : formatChangeEstimate(unit, estimate);
  const share = formatPercent(tree.size[box] / tree.size[0]);
  const children = tree.childEnd[box] - tree.childBegin[box];
  const inside = children > 0 ? `${children} inside` : tree.closed[box] ? "more inside" : "nothing inside";
  const name = keyName(dataset.profile, tree.key[box]);
  return `${name}, ${figure}, ${share}, depth ${tree.depth[box]} of ${tree.deepest}, ${inside}`;
}

/** The figure that is drawn in a box after its name. */
export function figureIn(tree: Tree, box: number, metric: Metric): string {
  const { unit } = metricInfo(metric);
  return tree.widths === "value" ? formatValue(unit, boxValue(tree, box)) : formatChange(unit, boxValue(tree, box));
}

/** The site with the largest value in a box: its lines represent all. */
function heaviestSite(subject: Subject, tree: Tree, box: number): number {
  let heaviest = tree.sites[tree.siteBegin[box]] ?? -1;
  for (const site of sitesOf(tree, box))
    if (Math.abs(subject.values[site]) > Math.abs(subject.values[heaviest])) heaviest = site;
  return heaviest;
}

/** The frames of the box, innermost first, one per line: "index_add_term src/index.c:212". */
export function stackText(subject: Subject, tree: Tree, box: number, innermostLast: boolean): string {
  const { profile } = subject.dataset;
  const site = heaviestSite(subject, tree, box);
  if (site < 0) return "";
  const { level, nodes } = tree.frames(site);
  const frames = nodes.slice(0, Math.max(0, tree.depth[box] - level + 1));
  if (innermostLast) frames.reverse();
  return frames.map((node) => frameText(profile, node)).join("\n");
}

function frameText(profile: Profile, node: number): string {
  const { places, functions } = profile;
  const place = profile.nodes.place[node];
  const index = places.function[place];
  const file = profile.text(functions.file[index]);
  const line = places.line[place] > 0 ? `:${places.line[place]}` : "";
  const name = profile.text(functions.full[index]) || profile.functionName(index);
  return file === "" ? name : `${name} ${file}${line}`;
}
