// SPDX-License-Identifier: MIT
// findings.ts - the findings of "What stands out": advice, and the lines of code with the largest figures that advice
// does not cover.
//
// The rules are those of reports (src/cli/report/highlights.c). A suspected leak comes first, however small, because it
// will grow; then the line that holds most of the memory, because people ask for it first. Few findings of one kind come first, so that other kinds are visible. A line is named once for its weight,
// with the sum of its sites and their number. Memory that libraries keep on purpose (suppressions) is not reported.

import type { Advice, Estimates } from "../../data/header";
import type { Profile } from "../../data/profile";
import { estimateSites, wholeDataset, type Dataset } from "../figures/dataset";
import { formatBytes, formatEstimate, formatExact, formatPercent } from "../figures/format";
import { metricInfo, type Metric } from "../figures/metric";
import { foldSites, ownNodeOf, pathAt, placeLocation, placeName, viaAt } from "../tables/stacks";

export interface Finding {
  /** A kind of advice, or a metric. */
  kind: string;
  metric: Metric;
  /** The line of code that it names (profile.places), and its function; null: it is about the whole process. */
  line: number | null;
  function: number | null;
  name: string;
  place: string;
  /** The library function through which it allocates; "" for none. */
  via: string;
  /** " ← serve (server.c:12)": the caller that tells it from a finding of the same name; "": it needs none. */
  caller: string;
  /** Continues the sentence that the name begins. */
  headline: string;
  advice: Advice | null;
  weight: number;
  /** What the finding is about, at least; 0 if it is not about bytes. */
  bytes: number;
  /** Live memory or memory at the peak, if the finding explains much of it; else 0. */
  heldBytes: number;
}

/** The metric that shows a kind of advice best. */
const KIND_METRICS: Record<string, Metric> = {
  leak: "live",
  growth: "peak",
  reserve: "allocated",
  reuse: "temporary",
  pool: "calls",
  slack: "peak",
  fragmentation: "peak",
  outside: "peak",
};

const KIND_MOST = 2;
const FIRST = 3; /* more than any weight */
const SECOND = 2;
const HOLDER_SHARE = 0.25; /* of live memory or of the peak: a line with less does not explain where memory goes */
const BYTES_LEAST = 512 << 10; /* less is not worth a finding, whatever its share */
const CALLS_LEAST = 10000;
const HELD_LEAST = 4096; /* bytes: nobody needs to begin with less */
const HEAVY_COUNTS = 0.5;
const SAMPLES_LEAST = 5; /* fewer prove nothing */
const MOST = 0.5; /* of what a function holds */
const MOSTLY = 0.9; /* of all calls */
const LIVE_MATTERS = 0.05; /* of the peak: less live memory is not worth a finding */

interface Heavy {
  metric: Metric;
  /** The smallest share that is worth a finding. */
  share: number;
  verb: string;
  unit: string;
  each: string;
  todo: string;
  bytes: keyof Estimates;
  objects: keyof Estimates;
  /** Less of the metric is not worth a finding. */
  least?: number;
  /** Whether advice of this kind makes the finding redundant. */
  saidBy: (kind: string) => boolean;
  /** The verb while the process runs, if it differs. */
  running?: string;
  /** Other texts for merged profiles. */
  merged?: Partial<Pick<Heavy, "unit" | "todo">>;
}

const HEAVIES: readonly Heavy[] = [
  {
    metric: "live",
    share: 0.1,
    verb: "held",
    unit: "",
    each: "a block",
    todo: "",
    bytes: "inuse_space",
    objects: "inuse_objects",
    least: HELD_LEAST,
    saidBy: (kind) => kind === "leak",
    running: "holds",
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
    least: HELD_LEAST,
    saidBy: (kind) => kind === "leak" || kind === "growth",
    merged: { unit: " in all when each process's heap was largest", todo: "; to lower the peaks, begin here" },
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
    least: BYTES_LEAST,
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
    least: CALLS_LEAST,
    saidBy: () => true,
  },
];

/** The line of code that a stack is named after. */
function lineAt(profile: Profile, node: number): number {
  return profile.nodes.place[ownNodeOf(profile, node)];
}

export function describePlace(file: string | null, line: number | null): string {
  if (!file) return "";
  return line ? `${file}:${line}` : file;
}

/** The module of a function without a source file; "" if its name, an address, begins with the module already. */
function moduleOf(profile: Profile, index: number): string {
  const module = profile.moduleName(profile.functions.module[index]);
  return profile.functionName(index).startsWith(`${module}+`) ? "" : module;
}

function findingOfAdvice(profile: Profile, advice: Advice): Finding {
  const { node } = advice;
  const line = node === null ? null : lineAt(profile, node);
  const index = line === null ? null : profile.places.function[line];
  return {
    kind: advice.kind,
    metric: KIND_METRICS[advice.kind] ?? "live",
    line,
    function: index,
    name: index === null ? (advice.function ?? "") : profile.functionName(index),
    place: describePlace(advice.file, advice.line) || (index === null ? "" : moduleOf(profile, index)),
    via: node === null ? "" : viaAt(profile, node),
    caller: "",
    headline: advice.headline,
    advice,
    weight: advice.weight,
    bytes: advice.gain_bytes,
    heldBytes: advice.kind === "growth" && advice.weight >= HOLDER_SHARE ? advice.gain_bytes : 0,
  };
}

/** What all of a metric is called: "12% of the peak". */
function describeWhole(profile: Profile, metric: Metric): string {
  const { process, page, extent } = profile.header;
  if (metric === "peak") return extent.merged ? "the sum of peaks" : "the peak";
  if (metric === "allocated") return "all bytes";
  if (metric === "calls") return "all calls";
  return `what ${process.running ? "is" : "was"} ${page.title_live.toLowerCase()}`;
}

/** False for "(other sizes)" and for lost stacks, which stand for no function. */
function isFunction(profile: Profile, index: number): boolean {
  return !profile.functionName(index).startsWith("(");
}

/** The whole run, and the line of code that each of its sites is named after. */
interface Whole {
  profile: Profile;
  dataset: Dataset;
  own: Uint32Array;
  /** By line: live memory that is kept on purpose. */
  kept: Record<"bytes" | "blocks", Float64Array>;
}

function sumByLine(profile: Profile, own: Uint32Array, values: Float64Array): Float64Array {
  const sums = new Float64Array(profile.places.count);
  for (let site = 0; site < own.length; site++) sums[own[site]] += values[site];
  return sums;
}

/** Live memory less the listed leaks: what suppressions excuse. */
function findKept(profile: Profile, dataset: Dataset, own: Uint32Array): Whole["kept"] {
  const { leaks } = profile.header;
  const none = () => new Float64Array(profile.places.count);
  if (!leaks || leaks.items_left_out > 0) return { bytes: none(), blocks: none() };
  const bytes = sumByLine(profile, own, dataset.values("live"));
  const blocks = sumByLine(profile, own, dataset.values("blocks"));
  for (const leak of leaks.items) {
    const line = lineAt(profile, leak.node);
    bytes[line] -= leak.bytes.value;
    blocks[line] -= leak.blocks.value;
  }
  return { bytes, blocks };
}

function lookAtWhole(profile: Profile): Whole {
  const dataset = wholeDataset(profile);
  const own = profile.sites.own.map((node) => profile.nodes.place[node]);
  return { profile, dataset, own, kept: findKept(profile, dataset, own) };
}

function heaviestOf(
  { profile, dataset, own, kept }: Whole,
  heavy: Heavy,
  said: (line: number) => boolean,
): { line: number; value: number; share: number } | null {
  const sums = sumByLine(profile, own, dataset.values(heavy.metric));
  const excused = heavy.metric === "calls" ? kept.blocks : kept.bytes;
  const { function: functions } = profile.places;
  let line = -1;
  for (let i = 0; i < sums.length; i++)
    if (sums[i] > (sums[line] ?? 0) && 2 * excused[i] <= sums[i] && isFunction(profile, functions[i]) && !said(i))
      line = i;
  const whole = profile.header.totals[metricInfo(heavy.metric).key].value;
  return line >= 0 && whole > 0 ? { line, value: sums[line], share: sums[line] / whole } : null;
}

function* sitesOf(own: Uint32Array, line: number): Iterable<number> {
  for (let site = 0; site < own.length; site++) if (own[site] === line) yield site;
}

/** Whether a figure rests on a counted block, or on enough samples, and is known to within itself. */
function isKnown({ profile, dataset, own }: Whole, line: number, metric: Metric): boolean {
  const { allocated, freed } = profile.sites.amounts;
  const gone = metric === "live" ? 1 : 0;
  let [counted, samples] = [0, 0];
  for (const site of sitesOf(own, line)) {
    counted += allocated.exactObjects[site] - gone * freed.exactObjects[site];
    samples += allocated.samples[site] - gone * freed.samples[site];
  }
  const { value, error } = estimateSites(dataset, sitesOf(own, line))[metricInfo(metric).key];
  return (counted >= 1 || samples >= SAMPLES_LEAST) && error <= value;
}

/** A realloc in place counts all bytes of the block again, although it costs almost nothing. */
function findTodo({ profile, own }: Whole, heavy: Heavy, line: number, calls: number, outside: boolean): string {
  let inPlace = 0;
  for (const site of sitesOf(own, line)) inPlace += profile.sites.reallocInPlace[site];
  if ((heavy.metric === "allocated" || heavy.metric === "calls") && calls > 0 && inPlace >= MOSTLY * calls)
    return "; nearly all by realloc in place, which copies nothing";
  /* Memory is elsewhere, or perhaps never touched: nobody should begin here. */
  if (heavy.metric === "peak" && (outside || profile.header.extent.addresses)) return "";
  return (profile.header.extent.merged && heavy.merged?.todo) || heavy.todo;
}

/** The lines of a report whose sum a finding has: how many, and the library function that all of them call. */
interface Summed {
  sites: number;
  /** "" for none, or if they call different ones. */
  via: string;
}

function findSummed({ profile, dataset, own }: Whole, line: number, metric: Metric): Summed {
  const folding = foldSites(profile);
  const values = dataset.values(metric);
  const rows = new Set<number>();
  for (const site of sitesOf(own, line)) if (values[site] > 0) rows.add(folding.ofSite[site]);
  const via = new Set(Array.from(rows, (row) => profile.text(folding.via[row])));
  return { sites: rows.size, via: via.size === 1 ? [...via][0] : "" };
}

/** ", 74 B a block on average"; "" if the number of blocks is not even known to within itself. */
function describeMean(heavy: Heavy, estimates: Estimates): string {
  const objects = estimates[heavy.objects];
  if (objects.error > objects.value) return "";
  return `, ${formatBytes(estimates[heavy.bytes].value / Math.max(1, objects.value))} ${heavy.each} on average`;
}

function describeHeavy(
  whole: Whole,
  heavy: Heavy,
  line: number,
  share: number,
  sites: number,
  outside: boolean,
): string {
  const { profile, dataset, own } = whole;
  const estimates = estimateSites(dataset, sitesOf(own, line));
  const { key, unit } = metricInfo(heavy.metric);
  const when = (profile.header.extent.merged && heavy.merged?.unit) || heavy.unit;
  const verb = (profile.header.process.running && heavy.running) || heavy.verb;
  return (
    `${verb} ${formatEstimate(unit, estimates[key])}${when}: ${formatPercent(share)} of ` +
    `${describeWhole(profile, heavy.metric)}${describeMean(heavy, estimates)}` +
    `${sites > 1 ? `, in ${formatExact(sites)} sites` : ""}` +
    findTodo(whole, heavy, line, estimates.alloc_objects.value, outside)
  );
}

function isAbout(profile: Profile, finding: Finding, line: number): boolean {
  return finding.line === line || !!finding.advice?.other_nodes.some((node) => lineAt(profile, node) === line);
}

function findHeavy(whole: Whole, heavy: Heavy, before: readonly Finding[]): Finding | null {
  const { profile } = whole;
  const { totals } = profile.header;
  if (heavy.metric === "live" && !(totals.inuse_space.value > LIVE_MATTERS * totals.peak_space.value)) return null;
  const isHeld = heavy.metric === "live" || heavy.metric === "peak";
  const { key } = metricInfo(heavy.metric);
  const lowOf = (line: number) => estimateSites(whole.dataset, sitesOf(whole.own, line))[key].low;
  /* What a function holds is only said by lines about most of that: a small leak must not hide the bulk. */
  const said = (line: number) => {
    const about = before.filter((each) => isAbout(profile, each, line) && (!each.advice || heavy.saidBy(each.kind)));
    const bytes = about.reduce((sum, each) => sum + each.bytes, 0);
    return about.length > 0 && (!isHeld || bytes >= MOST * lowOf(line));
  };
  const found = heaviestOf(whole, heavy, said);
  if (!found || found.share < heavy.share || !isKnown(whole, found.line, heavy.metric)) return null;
  const { line, value, share } = found;
  if (value < (heavy.least ?? 0)) return null;
  const holds = isHeld && share >= HOLDER_SHARE;
  const index = profile.places.function[line];
  const summed = findSummed(whole, line, heavy.metric);
  const outside = before.some((each) => each.kind === "outside");
  return {
    kind: heavy.metric,
    metric: heavy.metric,
    line,
    function: index,
    name: profile.functionName(index),
    place: placeLocation(profile, line) || moduleOf(profile, index),
    via: summed.via,
    caller: "",
    headline: describeHeavy(whole, heavy, line, Math.min(1, share), summed.sites, outside),
    advice: null,
    weight: HEAVY_COUNTS * share,
    bytes: isHeld ? lowOf(line) : 0,
    heldBytes: holds ? value : 0,
  };
}

function rank(findings: Finding[]): Finding[] {
  const seen = new Map<string, number>();
  const held = Math.max(0, ...findings.map((finding) => finding.heldBytes));
  const holder = findings.find((finding) => held > 0 && finding.heldBytes === held);
  const weigh = (finding: Finding) => {
    const before = seen.get(finding.kind) ?? 0;
    seen.set(finding.kind, before + 1);
    if (before >= KIND_MOST) return 0;
    if (finding.kind === "outside") return FIRST + 1; /* no other finding is about most of the memory */
    if (finding.kind === "leak" && before === 0) return FIRST;
    return finding === holder ? SECOND : finding.weight;
  };
  const weighed = findings.map((finding) => ({ finding, weight: weigh(finding) }));
  return weighed.sort((a, b) => b.weight - a.weight).map(({ finding }) => finding);
}

const REPORTED = 5; /* by `plimsoll report`: their callers are the same as there */

/** How many places of both, from the innermost on, are the same. */
function countCommon(a: readonly number[], b: readonly number[]): number {
  let common = 0;
  while (common < a.length && common < b.length && a[common] === b[common]) common++;
  return common;
}

/** A wrapper of malloc may be the name of several findings: then each needs the caller in which they differ. */
function nameCallers(profile: Profile, findings: Finding[]): Finding[] {
  const paths = findings.map(({ advice }) => (advice?.node == null ? null : pathAt(profile, advice.node)));
  return findings.map((finding, i) => {
    const [path, until] = [paths[i], i < REPORTED ? REPORTED : findings.length];
    if (!path) return finding;
    const common = findings.slice(0, until).map((other, k) => {
      const theirs = k === i || other.via !== finding.via ? null : paths[k];
      return theirs ? countCommon(path, theirs) : 0;
    });
    const apart = Math.max(0, ...common);
    if (apart === 0 || apart >= path.length) return finding;
    const place = placeLocation(profile, path[apart]);
    const name = placeName(profile, path[apart]) + (place && ` (${place})`);
    return { ...finding, caller: ` ← ${apart > 1 ? "… ← " : ""}${name}` };
  });
}

/** The findings of one run, the most important first. */
export function findFindings(profile: Profile): Finding[] {
  const findings = profile.header.advice.map((advice) => findingOfAdvice(profile, advice));
  const whole = lookAtWhole(profile);
  for (const heavy of HEAVIES) {
    const found = findHeavy(whole, heavy, findings);
    if (found) findings.push(found);
  }
  return nameCallers(profile, rank(findings));
}
