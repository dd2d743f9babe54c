// SPDX-License-Identifier: MIT
// findings.ts - what stands out: advice, and the functions that have most of a metric where advice says less of them.
//
// As in reports (src/cli/highlights.c): a suspected leak comes first, however small it is, for it will grow; of one
// kind there are few among the first, so that other kinds are seen; a function is named once for its weight. What
// libraries keep on purpose (suppressions know it) nobody is accused of.

import type { Advice, Estimates } from "../data/header";
import type { Profile } from "../data/profile";
import { estimateSites, wholeDataset, type Dataset } from "./dataset";
import { formatBytes, formatEstimate, formatPercent } from "./format";
import { ownFunctions } from "./layers";
import { metricInfo, type Metric } from "./metric";
import { foldSites, ownNodeOf, viaAt } from "./stacks";

export interface Finding {
  /** A kind of advice, or a metric. */
  kind: string;
  metric: Metric;
  /** null: it is about the whole process. */
  function: number | null;
  name: string;
  place: string;
  /** The library function that it called; "" for none. */
  via: string;
  /** It reads on from the name. */
  headline: string;
  advice: Advice | null;
  weight: number;
}

/** By which metric a kind of advice shows. */
const KIND_METRICS: Record<string, Metric> = {
  leak: "live",
  reserve: "allocated",
  reuse: "temporary",
  pool: "calls",
  slack: "peak",
  fragmentation: "peak",
};

const KIND_MOST = 2;
const FIRST = 2; /* more than any weight */
const HEAVY_COUNTS = 0.5;
const SAMPLES_LEAST = 5; /* fewer say nothing */
const MOSTLY = 0.9; /* of all calls */
const LIVE_MATTERS = 0.05; /* of the peak: less that is live is not what one looks for */

interface Heavy {
  metric: Metric;
  /** The least that is worth a sentence. */
  share: number;
  verb: string;
  unit: string;
  each: string;
  todo: string;
  bytes: keyof Estimates;
  objects: keyof Estimates;
  /** Advice that says as much of a function. */
  saidBy: (kind: string) => boolean;
  /** What to say instead of profiles that were merged. */
  merged?: Partial<Pick<Heavy, "unit" | "todo">>;
}

const HEAVIES: readonly Heavy[] = [
  {
    metric: "live",
    share: 0.1,
    verb: "holds",
    unit: "",
    each: "a block",
    todo: "",
    bytes: "inuse_space",
    objects: "inuse_objects",
    saidBy: (kind) => kind === "leak",
  },
  {
    metric: "peak",
    share: 0.25,
    verb: "held",
    unit: " when the heap was largest",
    each: "a block",
    todo: "; to lower the peak, begin here",
    bytes: "peak_space",
    objects: "peak_objects",
    saidBy: (kind) => kind === "leak",
    merged: { unit: " when each process held most", todo: "; to lower the peaks, begin here" },
  },
  {
    metric: "allocated",
    share: 0.25,
    verb: "allocates",
    unit: "",
    each: "a call",
    todo: "",
    bytes: "alloc_space",
    objects: "alloc_objects",
    saidBy: () => true,
  },
  {
    metric: "calls",
    share: 0.25,
    verb: "makes",
    unit: " calls",
    each: "each",
    todo: "; fewer and larger blocks cost less",
    bytes: "alloc_space",
    objects: "alloc_objects",
    saidBy: () => true,
  },
];

function functionOf(profile: Profile, node: number): number {
  return profile.places.function[profile.nodes.place[node]];
}

export function describePlace(file: string | null, line: number | null): string {
  if (!file) return "";
  return line ? `${file}:${line}` : file;
}

/** Where code is whose source is not known; a name without one has its module in it already. */
function moduleOf(profile: Profile, index: number): string {
  const module = profile.moduleName(profile.functions.module[index]);
  return profile.functionName(index).startsWith(`${module}+`) ? "" : module;
}

function findingOfAdvice(profile: Profile, advice: Advice): Finding {
  const { node } = advice;
  const index = node === null ? null : functionOf(profile, ownNodeOf(profile, node));
  return {
    kind: advice.kind,
    metric: KIND_METRICS[advice.kind] ?? "live",
    function: index,
    name: index === null ? (advice.function ?? "") : profile.functionName(index),
    place: describePlace(advice.file, advice.line) || (index === null ? "" : moduleOf(profile, index)),
    via: node === null ? "" : viaAt(profile, node),
    headline: advice.headline,
    advice,
    weight: advice.weight,
  };
}

/** The share of the whole that is all of a metric, in words. */
function describeWhole(profile: Profile, metric: Metric): string {
  const { process, page, extent } = profile.header;
  if (metric === "peak") return extent.merged ? "the sum of peaks" : "the peak";
  if (metric === "allocated") return "all bytes";
  if (metric === "calls") return "all calls";
  return `what ${process.running ? "is" : "was"} ${page.title_live.toLowerCase()}`;
}

/** Other sizes were left out on purpose, and some stacks found no room: nobody can be named. */
function isFunction(profile: Profile, index: number): boolean {
  return !profile.functionName(index).startsWith("(");
}

/** The whole run, and the function that each of its sites is named after. */
interface Whole {
  profile: Profile;
  dataset: Dataset;
  own: Uint32Array;
  /** By function: what of its live memory is kept on purpose. */
  kept: Record<"bytes" | "blocks", Float64Array>;
}

function sumByFunction(profile: Profile, own: Uint32Array, values: Float64Array): Float64Array {
  const sums = new Float64Array(profile.functions.count);
  for (let site = 0; site < own.length; site++) sums[own[site]] += values[site];
  return sums;
}

/** Everything that is live, but for what is left over after suppressions. */
function findKept(profile: Profile, dataset: Dataset, own: Uint32Array): Whole["kept"] {
  const { leaks } = profile.header;
  const none = () => new Float64Array(profile.functions.count);
  if (!leaks || leaks.items_left_out > 0) return { bytes: none(), blocks: none() };
  const bytes = sumByFunction(profile, own, dataset.values("live"));
  const blocks = sumByFunction(profile, own, dataset.values("blocks"));
  for (const leak of leaks.items) {
    const index = functionOf(profile, ownNodeOf(profile, leak.node));
    bytes[index] -= leak.bytes.value;
    blocks[index] -= leak.blocks.value;
  }
  return { bytes, blocks };
}

function lookAtWhole(profile: Profile): Whole {
  const dataset = wholeDataset(profile);
  const own = ownFunctions(profile);
  return { profile, dataset, own, kept: findKept(profile, dataset, own) };
}

function heaviestOf(
  { profile, dataset, own, kept }: Whole,
  heavy: Heavy,
  said: (index: number) => boolean,
): { index: number; share: number } | null {
  const sums = sumByFunction(profile, own, dataset.values(heavy.metric));
  const excused = heavy.metric === "calls" ? kept.blocks : kept.bytes;
  let index = -1;
  for (let i = 0; i < sums.length; i++)
    if (sums[i] > (sums[index] ?? 0) && 2 * excused[i] <= sums[i] && isFunction(profile, i) && !said(i)) index = i;
  const whole = profile.header.totals[metricInfo(heavy.metric).key].value;
  return index >= 0 && whole > 0 ? { index, share: sums[index] / whole } : null;
}

/** What was counted is certain; of samples it takes a few. */
function isKnown({ profile, own }: Whole, index: number, metric: Metric): boolean {
  const { allocated, freed } = profile.sites.amounts;
  const gone = metric === "live" ? 1 : 0;
  let [counted, samples] = [0, 0];
  for (const site of sitesOf(own, index)) {
    counted += allocated.exactObjects[site] - gone * freed.exactObjects[site];
    samples += allocated.samples[site] - gone * freed.samples[site];
  }
  return counted >= 1 || samples >= SAMPLES_LEAST;
}

/** A block that grows where it is asks for all of its bytes again, which costs next to nothing. */
function findTodo({ profile, own }: Whole, heavy: Heavy, index: number, calls: number): string {
  let inPlace = 0;
  for (const site of sitesOf(own, index)) inPlace += profile.sites.reallocInPlace[site];
  if ((heavy.metric === "allocated" || heavy.metric === "calls") && calls > 0 && inPlace >= MOSTLY * calls)
    return "; nearly all by realloc in place, which copies nothing";
  return (profile.header.extent.merged && heavy.merged?.todo) || heavy.todo;
}

/** What of a library most of it went through. */
function findVia({ profile, dataset, own }: Whole, index: number, metric: Metric): string {
  const folding = foldSites(profile);
  const values = dataset.values(metric);
  const sums = new Map<number, number>();
  let all = 0;
  for (const site of sitesOf(own, index)) {
    const row = folding.ofSite[site];
    sums.set(row, (sums.get(row) ?? 0) + values[site]);
    all += values[site];
  }
  for (const [row, sum] of sums) if (2 * sum > all) return profile.text(folding.via[row]);
  return "";
}

function describeHeavy(whole: Whole, heavy: Heavy, index: number, estimates: Estimates, share: number): string {
  const { profile } = whole;
  const { key, unit } = metricInfo(heavy.metric);
  const size = estimates[heavy.bytes].value / Math.max(1, estimates[heavy.objects].value);
  const when = (profile.header.extent.merged && heavy.merged?.unit) || heavy.unit;
  return (
    `${heavy.verb} ${formatEstimate(unit, estimates[key])}${when}: ${formatPercent(share)} of ` +
    `${describeWhole(profile, heavy.metric)}, ${formatBytes(size)} ${heavy.each} on average` +
    findTodo(whole, heavy, index, estimates.alloc_objects.value)
  );
}

function* sitesOf(own: Uint32Array, index: number): Iterable<number> {
  for (let site = 0; site < own.length; site++) if (own[site] === index) yield site;
}

/** Where most of it is asked for. */
function placeOf({ profile, dataset, own }: Whole, index: number, metric: Metric): string {
  const values = dataset.values(metric);
  let most = -1;
  for (const site of sitesOf(own, index)) if (most < 0 || values[site] > values[most]) most = site;
  const line = most < 0 ? 0 : profile.places.line[profile.nodes.place[profile.sites.own[most]]];
  return describePlace(profile.text(profile.functions.file[index]), line || null) || moduleOf(profile, index);
}

function findHeavy(whole: Whole, heavy: Heavy, before: readonly Finding[]): Finding | null {
  const { profile, dataset, own } = whole;
  const { totals } = profile.header;
  if (heavy.metric === "live" && !(totals.inuse_space.value > LIVE_MATTERS * totals.peak_space.value)) return null;
  const said = (index: number) =>
    before.some((each) => each.function === index && (!each.advice || heavy.saidBy(each.kind)));
  const found = heaviestOf(whole, heavy, said);
  if (!found || found.share < heavy.share || !isKnown(whole, found.index, heavy.metric)) return null;
  const estimates = estimateSites(dataset, sitesOf(own, found.index));
  return {
    kind: heavy.metric,
    metric: heavy.metric,
    function: found.index,
    name: profile.functionName(found.index),
    place: placeOf(whole, found.index, heavy.metric),
    via: findVia(whole, found.index, heavy.metric),
    headline: describeHeavy(whole, heavy, found.index, estimates, Math.min(1, found.share)),
    advice: null,
    weight: HEAVY_COUNTS * found.share,
  };
}

function rank(findings: Finding[]): Finding[] {
  const seen = new Map<string, number>();
  const weigh = (finding: Finding) => {
    const before = seen.get(finding.kind) ?? 0;
    seen.set(finding.kind, before + 1);
    if (before >= KIND_MOST) return 0;
    return finding.kind === "leak" && before === 0 ? FIRST : finding.weight;
  };
  const weighed = findings.map((finding) => ({ finding, weight: weigh(finding) }));
  return weighed.sort((a, b) => b.weight - a.weight).map(({ finding }) => finding);
}

/** Of one run, the weightiest first. */
export function findFindings(profile: Profile): Finding[] {
  const findings = profile.header.advice.map((advice) => findingOfAdvice(profile, advice));
  const whole = lookAtWhole(profile);
  for (const heavy of HEAVIES) {
    const found = findHeavy(whole, heavy, findings);
    if (found) findings.push(found);
  }
  return rank(findings);
}
