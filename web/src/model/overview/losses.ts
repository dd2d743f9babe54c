// SPDX-License-Identifier: MIT
// losses.ts - what is missing from a profile, in the words of reports.

import type { Header, Tag } from "../../data/header";
import type { Profile } from "../../data/profile";
import { formatBytes, formatExact, plural } from "../figures/format";

export interface Loss {
  count: number;
  text: string;
  /** Only stacks are incomplete; no figure is. */
  stacksOnly?: boolean;
}

/** Why stacks were truncated, for one and for several: the texts of src/reader/describe.c and of PL_STOPS. */
const STOPS: Record<string, [string, string]> = {
  depth: ["deep stack truncated in the middle", "deep stacks truncated in the middle"],
  no_cfi: [
    "stack truncated at code without unwind tables and without a usable frame pointer",
    "stacks truncated at code without unwind tables and without a usable frame pointer",
  ],
  bounds: [
    "stack truncated where the next frame would lie outside of it",
    "stacks truncated where the next frame would lie outside of them",
  ],
  zero: ["stack truncated at a return address of zero", "stacks truncated at a return address of zero"],
  bad_cfi: [
    "stack truncated at unwind tables that could not be understood",
    "stacks truncated at unwind tables that could not be understood",
  ],
  foreign: [
    "stack truncated at memory that is not the thread's stack and could not be probed",
    "stacks truncated at memory that is not the thread's stack and could not be probed",
  ],
  astray: [
    "stack truncated where wrong unwind tables led to an address that is not code",
    "stacks truncated where wrong unwind tables led to an address that is not code",
  ],
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
    if (key !== "end") found.push({ count, text: STOPS[key]?.[count === 1 ? 0 : 1] ?? key, stacksOnly: true });
  found.push({ count: reading.damage, text: `damaged record${reading.damage === 1 ? "" : "s"}, ignored` });
  found.push({
    count: reading.in_flight,
    text: `figure${reading.in_flight === 1 ? "" : "s"} read in the middle of an update`,
  });
  const bad = numberOfBits(reading.bad_settings);
  found.push({
    count: bad,
    text: `setting${bad === 1 ? "" : "s"} that the profiled process did not understand: see plimsoll help environment`,
  });
  return found.filter((loss) => loss.count > 0);
}

const UNRECORDED: readonly { kind: Tag["kind"]; words: string; name: string }[] = [
  { kind: "off", words: "Switched off for a while", name: "(off)" },
  { kind: "paused", words: "Paused by some threads", name: "(paused)" },
];

/** Calls that were only counted, because recording was switched off or paused: in the words of reports. */
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
    if (calls > 0)
      lines.push(`${words}: ${all} call${plural(all)} (${formatBytes(bytes)}) counted as ${name}, without stacks.`);
  }
  return lines;
}

const FEW_SAMPLES = 100;

/** Says that figures by site are rough, and what to do about it; "" if they are not. */
export function describeFew(header: Header): string {
  const { sampling, totals, extent } = header;
  const few = !sampling.exact && sampling.exact_calls === 0 && sampling.samples < FEW_SAMPLES;
  if (!few || extent.difference || !(totals.alloc_objects.value > 0)) return "";
  const what = sampling.samples
    ? "Few samples: figures by site are rough."
    : "No sample was taken: there are no figures by site.";
  return `${what} plimsoll run --exact counts every allocation.`;
}
