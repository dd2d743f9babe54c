// SPDX-License-Identifier: MIT
// readings.ts - what RSS consisted of: lines of a table, and bands of a chart over time.
//
// Both add up to RSS: every part is in one line and in one band.

import type { MemoryPart, MemoryReading } from "../../data/header";

export interface MemoryLine {
  title: string;
  /** "malloc" and what is beside it, a part of malloc's memory, or the sum of all. */
  level: "group" | "part" | "sum";
  resident: number;
  virtual: number;
  pss: number;
  swap: number;
}

/** The parts of a band, by name; the parts of the allocator that have no band of their own are in "rest". */
interface BandRow {
  title: string;
  has: (part: MemoryPart) => boolean;
}

const among =
  (...names: string[]) =>
  ({ part }: MemoryPart) =>
    names.includes(part);

const BANDS: readonly BandRow[] = [
  { title: "live blocks", has: among("live") },
  { title: "rest of malloc", has: (part) => part.heap && part.part !== "live" },
  { title: "anonymous mappings", has: among("mapped") },
  { title: "thread stacks", has: among("stacks") },
  { title: "modules", has: among("code", "data") },
  { title: "files and shared memory", has: among("files", "copies", "shared", "devices", "reserved") },
  { title: "Plimsoll itself", has: among("profiler") },
  { title: "unexplained", has: among("unexplained") },
];

export interface Band {
  title: string;
  /** For each reading, where it begins and ends, in bytes. */
  from: number[];
  to: number[];
}

export function sumParts(title: string, level: MemoryLine["level"], parts: readonly MemoryPart[]): MemoryLine {
  const line: MemoryLine = { title, level, resident: 0, virtual: 0, pss: 0, swap: 0 };
  for (const part of parts) {
    line.resident += part.resident_bytes;
    line.virtual += part.virtual_bytes;
    line.pss += part.pss_bytes;
    line.swap += part.swap_bytes;
  }
  return line;
}

export function rssOf(reading: MemoryReading): number {
  return sumParts("RSS", "sum", reading.parts).resident;
}

/** The lines of a table. Parts that are empty have none, except what is unexplained. */
export function linesOf(reading: MemoryReading): MemoryLine[] {
  const shown = ({ part, resident_bytes, virtual_bytes, swap_bytes }: MemoryPart) =>
    part === "unexplained" || resident_bytes + virtual_bytes + swap_bytes > 0;
  const heap = reading.parts.filter((part) => part.heap);
  const others = reading.parts.filter((part) => !part.heap && shown(part));
  return [
    sumParts("malloc", "group", heap),
    ...heap.filter(shown).map((part) => sumParts(part.title, "part", [part])),
    ...others.map((part) => sumParts(part.title, "group", [part])),
    sumParts("RSS", "sum", reading.parts),
  ];
}

/** The index of the reading with the largest RSS. */
export function largestReading(readings: readonly MemoryReading[]): number {
  return readings.reduce((best, reading, i) => (rssOf(reading) > rssOf(readings[best]) ? i : best), 0);
}

/** Bands from below; without those that are always empty. */
export function stackBands(rows: readonly { title: string; heights: number[] }[]): Band[] {
  const bands: Band[] = [];
  let from: number[] | undefined;
  for (const { title, heights } of rows) {
    from ??= heights.map(() => 0);
    if (heights.every((height) => height === 0)) continue;
    const base = from;
    const to = heights.map((height, i) => base[i] + height);
    bands.push({ title, from: base, to });
    from = to;
  }
  return bands;
}

export function bandsOf(readings: readonly MemoryReading[]): Band[] {
  return stackBands(
    BANDS.map(({ title, has }) => ({
      title,
      heights: readings.map((reading) => sumParts("", "part", reading.parts.filter(has)).resident),
    })),
  );
}

/** The index of the reading that is nearest to a time. */
export function nearestReading(readings: readonly { time_s: number }[], seconds: number): number {
  return readings.reduce(
    (best, { time_s }, i) => (Math.abs(time_s - seconds) < Math.abs(readings[best].time_s - seconds) ? i : best),
    0,
  );
}
