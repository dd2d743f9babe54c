// SPDX-License-Identifier: MIT
// histograms.ts - histograms of sizes and lifetimes in powers of two, and of the ages of live blocks, as profiles have
// them.
//
// Profiles count calls by size, not bytes. But each site has the sum of its bytes, its smallest and its largest size.
// That leaves little uncertainty in bytes by size, and none for a site whose sizes are all in one bucket.

import type { Header } from "../../data/header";
import type { Histogram, Profile, Sites } from "../../data/profile";
import { formatBytes, formatCount, formatSpan } from "../figures/format";
import { foldSites, siteRowAt } from "./stacks";

export const SIZE_BUCKETS = 22;
export const LIFE_BUCKETS = 32;
export const AGE_BUCKETS = 8;

/** In a profile, this size means "that or more". */
export const SIZE_LIMIT = 4294967295;

/** The sum over chosen sites (null: all). */
export function sumHistogram(histogram: Histogram, chosen: Uint8Array | null, buckets: number): Float64Array {
  const sum = new Float64Array(buckets);
  const { site, bucket, count } = histogram;
  for (let i = 0; i < site.length; i++)
    if ((!chosen || chosen[site[i]]) && bucket[i] < buckets) sum[bucket[i]] += count[i];
  return sum;
}

export function sumOf(counts: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) sum += counts[i];
  return sum;
}

/** Where each bucket begins. */
export function sizeScale(): Float64Array {
  return Float64Array.from({ length: SIZE_BUCKETS }, (_, i) => (i === 0 ? 0 : 8 * 2 ** i));
}

/** In seconds; in units of the processor's clock if their length is unknown. */
export function lifeScale(header: Header): Float64Array {
  const unit = header.scales.unit_s ?? 1;
  return Float64Array.from({ length: LIFE_BUCKETS }, (_, i) => (i === 0 ? 0 : 2 ** (i - 1) * unit));
}

export interface AgeClass {
  bucket: number;
  since: number;
  until: number;
}

/** When each age class begins and ends, in seconds since the start. Empty classes are omitted. */
export function ageScale(header: Header): AgeClass[] {
  let since = 0;
  const classes: AgeClass[] = [];
  header.scales.ages_until_s.forEach((until, bucket) => {
    if (until > since) classes.push({ bucket, since, until });
    since = Math.max(since, until);
  });
  return classes;
}

/** The first and the last bucket that is not empty; null: all are. */
export function bucketRange(counts: ArrayLike<number>): { first: number; last: number } | null {
  let [first, last] = [-1, -1];
  for (let i = 0; i < counts.length; i++) {
    if (!(counts[i] > 0)) continue;
    if (first < 0) first = i;
    last = i;
  }
  return first < 0 ? null : { first, last };
}

/** Assumes uniform values within a bucket. The last bucket has no end: it is assumed to end at twice its start. */
export function quantile(counts: ArrayLike<number>, from: ArrayLike<number>, fraction: number): number {
  const wanted = sumOf(counts) * fraction;
  let below = 0;
  for (let i = 0; i < counts.length; i++) {
    if (counts[i] > 0 && below + counts[i] >= wanted) {
      const to = i + 1 < counts.length ? from[i + 1] : 2 * from[i];
      return from[i] + ((to - from[i]) * (wanted - below)) / counts[i];
    }
    below += counts[i];
  }
  return 0;
}

export interface Extremes {
  smallest: number;
  largest: number;
}

/** null: unknown. */
export function extremesOf(sites: Sites, chosen: Uint8Array | null): Extremes | null {
  const found: Extremes = { smallest: Infinity, largest: 0 };
  for (let i = 0; i < sites.count; i++) {
    if ((chosen && !chosen[i]) || !(sites.largest[i] > 0)) continue;
    found.smallest = Math.min(found.smallest, sites.smallest[i]);
    found.largest = Math.max(found.largest, sites.largest[i]);
  }
  return found.largest > 0 ? found : null;
}

// --- quantiles of sizes, as src/analysis/quantile.c computes them ---

export interface Quantile {
  bytes: number;
  /** No size had to be interpolated. */
  exact: boolean;
}

/** So many blocks of a site, of sizes from `from` to `to`. */
interface Span {
  from: number;
  to: number;
  count: number;
}

function spansIn(sites: Sites, chosen: Uint8Array | null, bucket: number): Span[] {
  const scale = sizeScale();
  const spans: Span[] = [];
  const { site, bucket: buckets, count } = sites.sizes;
  for (let i = 0; i < site.length; i++) {
    const number = site[i];
    if (buckets[i] !== bucket || (chosen && !chosen[number])) continue;
    const end = bucket + 1 < SIZE_BUCKETS ? scale[bucket + 1] - 1 : sites.largest[number];
    const from = Math.min(Math.max(sites.smallest[number], scale[bucket]), end);
    spans.push({ from, to: Math.max(Math.min(sites.largest[number], end), from), count: count[i] });
  }
  return spans;
}

function countUpTo(spans: readonly Span[], bytes: number): number {
  let sum = 0;
  for (const { from, to, count } of spans)
    sum += count * Math.min(Math.max((bytes - from + 1) / (to - from + 1), 0), 1);
  return sum;
}

/** The smallest size up to which there are so many blocks. */
function findSize(spans: readonly Span[], wanted: number): number {
  let from = Infinity;
  let to = 0;
  for (const span of spans) {
    from = Math.min(from, span.from);
    to = Math.max(to, span.to);
  }
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (countUpTo(spans, middle) >= wanted) to = middle;
    else from = middle + 1;
  }
  return to;
}

const ROUNDING = 1e-9; /* of sums of weights */

/** A quantile of the sizes of chosen sites (null: all). Each knows its smallest and its largest size, so that often
 * nothing is left to interpolate. */
export function sizeQuantile(sites: Sites, chosen: Uint8Array | null, fraction: number): Quantile {
  const counts = sumHistogram(sites.sizes, chosen, SIZE_BUCKETS);
  const wanted = sumOf(counts) * fraction * (1 - ROUNDING);
  let below = 0;
  for (let i = 0; i < counts.length; below += counts[i++]) {
    if (!(counts[i] > 0) || below + counts[i] < wanted) continue;
    const spans = spansIn(sites, chosen, i);
    const bytes = findSize(spans, wanted - below);
    return { bytes, exact: !spans.some(({ from, to }) => from < to && from <= bytes && bytes <= to) };
  }
  return { bytes: 0, exact: false };
}

// --- how allocators round sizes up (the rules of src/analysis/advice/sizing.c) ---

/** Larger blocks take whole pages: we claim nothing about them. */
export const SIZING_MOST = 65536;

export interface Sizing {
  name: string;
  rule: string;
  /** The beginning of its library's name. */
  file: string;
  /** How many bytes a block of this size occupies. */
  taken: (bytes: number) => number;
}

function roundUp(bytes: number, step: number): number {
  return Math.ceil(bytes / step) * step;
}

function takenGlibc(bytes: number): number {
  return Math.max(32, roundUp(bytes + 8, 16));
}

/** Four classes per doubling, but at least 16 bytes apart. */
function takenQuarters(bytes: number): number {
  if (bytes <= 8) return 8;
  let half = 64;
  while (half * 2 < bytes) half *= 2;
  return roundUp(bytes, half / 4);
}

// prettier-ignore
const TCMALLOC_CLASSES = [
  8, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512,
  576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3328, 4096, 4608, 5120,
  6144, 6656, 8192, 9216, 10240, 12288, 13312, 16384, 20480, 24576, 26624, 32768,
];

function takenTcmalloc(bytes: number): number {
  return TCMALLOC_CLASSES.find((size) => bytes <= size) ?? roundUp(bytes, 8192);
}

const QUARTERS = "four sizes for each doubling";

const SIZINGS: readonly Sizing[] = [
  { name: "glibc", rule: "8 bytes more, in steps of 16, at least 32", file: "libc.so", taken: takenGlibc },
  { name: "jemalloc", rule: QUARTERS, file: "libjemalloc", taken: takenQuarters },
  { name: "tcmalloc", rule: "a fixed list of sizes", file: "libtcmalloc", taken: takenTcmalloc },
  { name: "mimalloc", rule: QUARTERS, file: "libmimalloc", taken: takenQuarters },
];

/** The rule of the program's allocator; null: unknown. */
export function sizingOf(profile: Profile): Sizing | null {
  const { allocator } = profile.header.process;
  const file = allocator === null ? "" : profile.moduleName(allocator);
  return SIZINGS.find((sizing) => file.startsWith(sizing.file)) ?? null;
}

/** Cumulative sums of what blocks of 0, 1, 2, ... bytes occupy, so that a mean over a range takes two lookups. */
const takenSums = new Map<Sizing, Float64Array>();

function sumsOf(sizing: Sizing): Float64Array {
  let sums = takenSums.get(sizing);
  if (!sums) {
    sums = new Float64Array(SIZING_MOST + 2);
    for (let bytes = 0; bytes <= SIZING_MOST; bytes++) sums[bytes + 1] = sums[bytes] + sizing.taken(bytes);
    takenSums.set(sizing, sums);
  }
  return sums;
}

/** The mean of the bytes that the allocator adds to blocks of `low` to `high` bytes, all sizes being equally likely. */
export function meanAdded(sizing: Sizing, low: number, high: number): number {
  if (high > SIZING_MOST) return 0;
  const sums = sumsOf(sizing);
  return (sums[high + 1] - sums[low]) / (high - low + 1) - (low + high) / 2;
}

// --- bytes by size ---

/** By bucket of sizes. */
export interface SizeBytes {
  /** An estimate, and its bounds. */
  bytes: Float64Array;
  least: Float64Array;
  most: Float64Array;
  /** What the allocator adds: headers and rounding. 0 if its rule is unknown, or does not cover the size. */
  added: Float64Array;
}

function noBytes(): SizeBytes {
  const zeros = () => new Float64Array(SIZE_BUCKETS);
  return { bytes: zeros(), least: zeros(), most: zeros(), added: zeros() };
}

/** Adds a site: rows [from, to) of the histogram. Its `bytes` are divided among its buckets. */
function addSite(sites: Sites, from: number, to: number, bytes: number, sizing: Sizing | null, out: SizeBytes): void {
  const { site, bucket, count } = sites.sizes;
  const known = sites.largest[site[from]] > 0;
  const smallest = known ? sites.smallest[site[from]] : 0;
  const largest = known ? sites.largest[site[from]] : Infinity;
  const scale = SCALE;
  const low = (row: number) => Math.max(scale[bucket[row]], Math.min(smallest, end(bucket[row])));
  const high = (row: number) => Math.max(low(row), Math.min(end(bucket[row]), largest));
  let [least, most] = [0, 0];
  for (let row = from; row < to; row++) {
    least += count[row] * low(row);
    most += count[row] * high(row);
  }
  const part = most > least ? Math.min(Math.max((bytes - least) / (most - least), 0), 1) : 0;
  for (let row = from; row < to; row++) {
    const [down, up] = [low(row), high(row)];
    out.least[bucket[row]] += count[row] * down;
    out.most[bucket[row]] += count[row] * up;
    out.bytes[bucket[row]] += count[row] * (down + part * (up - down));
    if (sizing) out.added[bucket[row]] += count[row] * meanAdded(sizing, down, up);
  }
}

const SCALE = sizeScale();

/** The largest size of a bucket; the last bucket is assumed to end at twice its start. */
function end(bucket: number): number {
  return (bucket + 1 < SIZE_BUCKETS ? SCALE[bucket + 1] : 2 * SCALE[bucket]) - 1;
}

/** The sum over chosen sites (null: all); `allocated` has the bytes of each site. */
export function bytesBySize(profile: Profile, chosen: Uint8Array | null, allocated: Float64Array): SizeBytes {
  const { sites } = profile;
  const sizing = sizingOf(profile);
  const out = noBytes();
  const { site } = sites.sizes;
  for (let from = 0, to = 0; from < site.length; from = to) {
    for (to = from + 1; to < site.length && site[to] === site[from]; ) to++;
    if (!chosen || chosen[site[from]]) addSite(sites, from, to, allocated[site[from]], sizing, out);
  }
  return out;
}

// --- reallocs, and frees at exit ---

export interface Resizing {
  calls: number;
  inPlace: number;
  movedBytes: number;
  exitBlocks: number;
  exitBytes: number;
}

export function sumResizing(sites: Sites, chosen: Uint8Array | null): Resizing {
  const sum: Resizing = { calls: 0, inPlace: 0, movedBytes: 0, exitBlocks: 0, exitBytes: 0 };
  for (let i = 0; i < sites.count; i++) {
    if (chosen && !chosen[i]) continue;
    sum.calls += sites.reallocCalls[i];
    sum.inPlace += sites.reallocInPlace[i];
    sum.movedBytes += sites.reallocMoved[i];
    sum.exitBlocks += sites.exitObjects[i];
    sum.exitBytes += sites.exitSpace[i];
  }
  return sum;
}

// --- labels ---

/** Writes a shared unit once: "1.0 to 2.0 KiB", "512 B to 1.0 KiB". */
function rangeOf(low: string, high: string): string {
  const unit = (figure: string) => figure.slice(figure.lastIndexOf(" "));
  return unit(low) === unit(high) ? `${low.slice(0, low.lastIndexOf(" "))} to ${high}` : `${low} to ${high}`;
}

/** "up to 15 B", "16 to 31 B", "1.0 to 2.0 KiB", "16 MiB and more" */
export function sizeLabel(bucket: number): string {
  if (bucket + 1 >= SIZE_BUCKETS) return `${formatBytes(SCALE[bucket])} and more`;
  const next = SCALE[bucket + 1];
  const high = formatBytes(next <= 1024 ? next - 1 : next);
  return bucket === 0 ? `up to ${high}` : rangeOf(formatBytes(SCALE[bucket]), high);
}

/** "below 16 ns", "16 to 32 ns", "2.1 s and more"; in units of the processor's clock if their length is unknown. */
export function lifeLabel(header: Header, bucket: number): string {
  const scale = lifeScale(header);
  const figure = header.scales.unit_s === null ? (units: number) => `${formatCount(units)} units` : formatSpan;
  if (bucket + 1 >= LIFE_BUCKETS) return `${figure(scale[bucket])} and more`;
  const high = figure(scale[bucket + 1]);
  return bucket === 0 ? `below ${high}` : rangeOf(figure(scale[bucket]), high);
}

/** Blocks by leak and age class, the oldest first. A leak is identified by the node where one of its stacks ends. */
export function survivorsAt(profile: Profile, nodes: readonly number[]): Float64Array[] {
  const { ages } = profile.sites;
  const { ofSite } = foldSites(profile);
  const byRow = new Map<number, Float64Array>();
  const made = nodes.map((node) => {
    const row = siteRowAt(profile, node);
    const known = byRow.get(row) ?? new Float64Array(AGE_BUCKETS);
    byRow.set(row, known);
    return known;
  });
  for (let i = 0; i < ages.site.length; i++) {
    const counts = byRow.get(ofSite[ages.site[i]]);
    if (counts && ages.bucket[i] < AGE_BUCKETS) counts[ages.bucket[i]] += ages.count[i];
  }
  return made;
}

const EIGHTHS = 8;

/** Heights from 0 to 8, as in reports: 8 for the largest count, and at least 1 if there is any block. */
export function survivorHeights(counts: ArrayLike<number>, buckets: readonly number[]): number[] {
  const most = Array.from(counts).reduce((sum, count) => Math.max(sum, count), 0);
  return buckets.map((bucket) => {
    const height = Math.ceil((EIGHTHS * counts[bucket]) / most);
    return height > 0 ? Math.min(EIGHTHS, height) : 0;
  });
}
