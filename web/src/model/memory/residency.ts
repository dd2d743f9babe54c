// SPDX-License-Identifier: MIT
// residency.ts - how much of what was live was resident: bands of a chart over time, and the sites of one reading.

import type { Estimate, ResidencyReading } from "../../data/header";
import type { Profile } from "../../data/profile";
import { siteRowAt } from "../tables/stacks";
import { stackBands, type Band } from "./readings";

export const KINDS = ["live", "resident", "untouched", "swapped"] as const;
export type Kind = (typeof KINDS)[number];

/** A line of the table: stacks that look the same in a report. */
export interface ResidentSite extends Record<Kind, Estimate> {
  /** That of its stack with most that is not resident. */
  node: number;
}

/** `error` is half the 95% interval. */
export function estimateOf(value: number, error: number): Estimate {
  return { value, error, low: Math.max(value - error, 0), high: value + error };
}

export function ofReading(reading: ResidencyReading, kind: Kind): Estimate {
  return estimateOf(reading[`${kind}_bytes`], reading[`${kind}_error`]);
}

export function residencyBands(readings: readonly ResidencyReading[]): Band[] {
  return stackBands([
    { title: "resident", heights: readings.map((reading) => reading.resident_bytes) },
    { title: "swapped out", heights: readings.map((reading) => reading.swapped_bytes) },
    { title: "untouched", heights: readings.map((reading) => reading.untouched_bytes) },
  ]);
}

/** The index of the reading with most live memory. */
export function fullestReading(readings: readonly ResidencyReading[]): number {
  return readings.reduce((best, { live_bytes }, i) => (live_bytes > readings[best].live_bytes ? i : best), 0);
}

function add(sum: Estimate, value: number, error: number): Estimate {
  return estimateOf(sum.value + value, Math.hypot(sum.error, error));
}

/** The sites of a reading, without those of which all is resident; most that is not resident comes first. */
export function sitesOf(profile: Profile, reading: number): ResidentSite[] {
  const { residents } = profile;
  const known = new Map<string, ResidentSite>();
  for (let i = 0; i < residents.count; i++) {
    if (residents.reading[i] !== reading || residents.untouched[i] + residents.swapped[i] <= 0) continue;
    const node = residents.node[i];
    const row = siteRowAt(profile, node);
    const key = row < 0 ? `node ${node}` : `row ${row}`;
    const nothing = estimateOf(0, 0);
    const site = known.get(key) ?? { node, live: nothing, resident: nothing, untouched: nothing, swapped: nothing };
    for (const kind of KINDS) site[kind] = add(site[kind], residents[kind][i], residents[`${kind}Error`][i]);
    known.set(key, site);
  }
  return [...known.values()].sort((a, b) => absent(b) - absent(a));
}

/** Bytes that are not in memory. */
export function absent(site: Record<Kind, Estimate>): number {
  return site.untouched.value + site.swapped.value;
}
