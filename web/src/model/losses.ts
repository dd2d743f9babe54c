// SPDX-License-Identifier: MIT
// losses.ts - what is missing from a profile, as reports list it.

import type { Header, Tag } from "../data/header";
import type { Profile } from "../data/profile";
import { formatBytes, formatExact, plural } from "./format";

export interface Loss {
  count: number;
  text: string;
}

/** Why stacks were cut short: as PL_STOPS has them. */
const STOPS: Record<string, string> = {
  depth: "deeper than the bound: both ends kept",
  no_cfi: "code without unwind tables, and no frame pointer to trust",
  bounds: "would have left the stack",
  zero: "a return address of zero",
  bad_cfi: "unwind tables that could not be understood",
  foreign: "a stack that is not the thread's own and could not be probed",
};

function numberOfBits(mask: number): number {
  let bits = 0;
  for (let rest = mask; rest > 0; rest = Math.floor(rest / 2)) bits += rest % 2;
  return bits;
}

export function findLosses(header: Header): Loss[] {
  const { losses, loss_help, stops, reading } = header;
  const found: Loss[] = Object.entries(losses).map(([key, count]) => ({ count, text: loss_help[key] ?? key }));
  for (const [key, count] of Object.entries(stops))
    if (key !== "end") found.push({ count, text: `stack${count === 1 ? "" : "s"} cut short: ${STOPS[key] ?? key}` });
  found.push({ count: reading.damage, text: `damaged record${reading.damage === 1 ? "" : "s"}, left out` });
  found.push({
    count: reading.in_flight,
    text: `figure${reading.in_flight === 1 ? "" : "s"} caught in the middle of an update`,
  });
  const bad = numberOfBits(reading.bad_settings);
  found.push({
    count: bad,
    text: `setting${bad === 1 ? "" : "s"} that the profiled process did not understand: see plimsoll help environment`,
  });
  return found.filter((loss) => loss.count > 0);
}

const UNRECORDED: readonly { kind: Tag["kind"]; words: string; name: string }[] = [
  { kind: "off", words: "Off for a while", name: "(off)" },
  { kind: "paused", words: "Paused by some of its threads", name: "(paused)" },
];

/** What was allocated while nobody wanted to know is counted, and nothing else is known of it: as reports say it. */
export function describeUnrecorded({ header, scopes }: Profile): string[] {
  const lines: string[] = [];
  for (const { kind, words, name } of UNRECORDED) {
    let [calls, bytes] = [0, 0];
    for (let i = 0; i < scopes.count; i++) {
      if (header.tags[scopes.tag[i]]?.kind !== kind) continue;
      calls += scopes.calls[i];
      bytes += scopes.bytes[i];
    }
    const all = formatExact(calls);
    if (calls > 0) lines.push(`${words}: ${all} call${plural(all)} (${formatBytes(bytes)}) only counted, as ${name}.`);
  }
  return lines;
}

const FEW_SAMPLES = 100;

/** Figures by site that are rough, and what would make them better. */
export function describeFew(header: Header): string {
  const { sampling, totals, extent } = header;
  const few = !sampling.exact && sampling.exact_calls === 0 && sampling.samples < FEW_SAMPLES;
  if (!few || extent.difference || !(totals.alloc_objects.value > 0)) return "";
  const what = sampling.samples
    ? "Few samples: figures by site are rough."
    : "No sample was taken: nothing is known by site.";
  return `${what} plimsoll run --exact counts every allocation.`;
}
