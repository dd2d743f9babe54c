// SPDX-License-Identifier: MIT
// headlines.ts - the figures at the top of the page: of the whole run, of a time interval, of the selection, or of two
// runs. Unknown figures are omitted.

import type { Estimate, Estimates, Moment } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { Look } from "../../look";
import { estimateSides } from "../figures/dataset";
import {
  counted,
  formatBytes,
  formatChangeEstimate,
  formatEstimate,
  formatExact,
  formatPercent,
  formatSlack,
  formatSpan,
} from "../figures/format";
import { metricInfo, metricTitle, type Metric } from "../figures/metric";
import { extremesOf, sizeQuantile } from "../tables/histograms";
import { describeStretch, highestRss } from "../time/timeline";
import { isEstimated } from "./facts";

export interface Headline {
  label: string;
  value: string;
  /** A dimmed remark. */
  note: string;
  /** The metric that a click chooses; null: it is not a metric. */
  metric: Metric | null;
  /** A longer explanation. */
  help?: string;
}

type Subject = Pick<Look, "profile" | "dataset" | "included" | "narrowed" | "totals">;

// --- of one run ---

function seconds(subject: Subject): number {
  const { header } = subject.profile;
  if (subject.dataset.kind === "interval") return subject.dataset.until - subject.dataset.since;
  return header.process.duration_s - (header.extent.reset_s ?? 0);
}

function allocated(subject: Subject): Headline {
  const { totals, profile } = subject;
  const time = seconds(subject);
  const timed = time >= 0.001 && !profile.header.extent.merged;
  const rate = timed ? `${formatBytes(totals.alloc_space.value / time)}/s` : "";
  return { label: "Allocated", value: formatEstimate("bytes", totals.alloc_space), note: rate, metric: "allocated" };
}

function calls(subject: Subject): Headline {
  const { totals } = subject;
  const mean = totals.alloc_objects.value > 0 ? totals.alloc_space.value / totals.alloc_objects.value : 0;
  const exact = totals.alloc_objects.error === 0;
  return {
    label: "Calls",
    value: exact ? formatExact(totals.alloc_objects.value) : formatEstimate("calls", totals.alloc_objects),
    note: mean > 0 ? `${formatBytes(mean)} each on average` : "",
    metric: "calls",
  };
}

/** Why the timeline may exceed the peak. */
function describeSlack(bytes: number): string {
  return (
    "The heap is not measured at every allocation: in between it may have been larger, by " +
    `${formatBytes(bytes)} at most`
  );
}

function peak(subject: Subject): Headline | null {
  const { header } = subject.profile;
  const space = subject.totals.peak_space;
  if (subject.dataset.kind === "interval" || !(space.value > 0)) return null;
  const when = formatSpan(header.peak.time_s);
  const partial = header.extent.selection !== null || subject.narrowed;
  const slack = formatSlack(space.value, header.peak.slack_bytes, header.totals.alloc_space.value);
  const note = header.extent.merged
    ? `sum of the peaks of ${header.extent.merged} profiles`
    : partial
      ? `at ${when}, when the whole heap was largest`
      : `at ${when}${slack}`;
  return {
    label: partial ? "Held at the peak" : "Peak",
    value: formatEstimate("bytes", space),
    note,
    metric: "peak",
    ...(slack ? { help: describeSlack(header.peak.slack_bytes) } : {}),
  };
}

function live(subject: Subject): Headline {
  const { totals, profile, dataset } = subject;
  if (dataset.kind === "interval") {
    const value = formatChangeEstimate("bytes", totals.inuse_space);
    return {
      label: metricTitle(profile.header, "live", true),
      value,
      note: `${formatChangeEstimate("blocks", totals.inuse_objects)} blocks`,
      metric: "live",
    };
  }
  const { sampling, page } = profile.header;
  if (sampling.exact_calls === 0 && sampling.samples === 0)
    return {
      label: page.title_live,
      value: "not known",
      note: `no allocation was ${sampling.exact ? "recorded" : "sampled"}`,
      metric: "live",
    };
  const blocks = counted(formatEstimate("blocks", totals.inuse_objects), "block");
  return {
    label: page.title_live,
    value: formatEstimate("bytes", totals.inuse_space),
    note: `in ${blocks}`,
    metric: "live",
  };
}

function temporary(subject: Subject): Headline | null {
  const { temp_objects, alloc_objects } = subject.totals;
  const part = alloc_objects.value > 0 ? temp_objects.value / alloc_objects.value : 0;
  if (subject.dataset.kind === "interval" || !(part >= 0.001)) return null;
  const error = temp_objects.error / alloc_objects.value;
  const value = formatPercent(Math.min(1, part)) + (error >= 0.0005 ? ` ± ${formatPercent(error)}` : "");
  return { label: "Temporary", value, note: "of calls", metric: "temporary" };
}

const FILES_LEAST = 16 << 20;
const FILES_SHARE = 0.25; /* of RSS */

const OWN_LEAST = 1 << 20;
const OWN_SHARE = 0.05; /* of RSS */

/** The parts of RSS that no heap explains, if they are large. */
function describeParts({ rss_bytes, file_bytes, profiler_bytes }: Moment): string {
  const isLarge = (bytes: number | null, least: number, share: number) =>
    bytes !== null && bytes >= least && bytes >= share * (rss_bytes ?? 0);
  const files = isLarge(file_bytes, FILES_LEAST, FILES_SHARE);
  const own = isLarge(profiler_bytes, OWN_LEAST, OWN_SHARE);
  return (
    (files ? `, ${formatBytes(file_bytes ?? 0)} of it files and shared memory` : "") +
    (own ? `, ${formatBytes(profiler_bytes ?? 0)} of it Plimsoll's own` : "")
  );
}

function rss(subject: Subject): Headline | null {
  const { timeline } = subject.profile.header;
  const { kind, since, until } = subject.dataset;
  const top = kind === "interval" ? highestRss(timeline, since, until) : highestRss(timeline, 0, Infinity);
  if (top === null) return null;
  return { label: "RSS", value: formatBytes(top.rss_bytes ?? 0), note: `highest${describeParts(top)}`, metric: null };
}

/** The slack that advice has found: bytes that the allocator adds by rounding up. */
function slack(subject: Subject): Headline | null {
  const { advice, totals } = subject.profile.header;
  const lost = advice.reduce((sum, item) => sum + (item.kind === "slack" ? item.gain_bytes : 0), 0);
  if (!(lost > 0) || !(totals.peak_space.value > 0) || subject.narrowed || subject.dataset.kind !== "whole")
    return null;
  return {
    label: "Slack",
    value: formatPercent(lost / totals.peak_space.value),
    note: "of the peak, at least",
    metric: null,
  };
}

function sizes(subject: Subject): Headline | null {
  const { profile, included, narrowed, dataset } = subject;
  if (dataset.kind !== "whole") return null;
  const chosen = narrowed ? included : null;
  const extremes = extremesOf(profile.sites, chosen);
  if (!extremes) return null;
  const { smallest, largest } = extremes;
  const estimated = isEstimated(profile.header);
  if (smallest === largest)
    return { label: "Size", value: formatBytes(largest), note: estimated ? "all samples" : "all blocks", metric: null };
  const at = (fraction: number) => {
    const { bytes, exact } = sizeQuantile(profile.sites, chosen, fraction);
    return `${exact && !estimated ? "" : "about "}${formatBytes(bytes)}`;
  };
  return {
    label: "Median size",
    value: at(0.5),
    note: `p99 ${at(0.99)} · max ${formatBytes(largest)}`,
    metric: null,
  };
}

function distinct(column: Uint32Array, included: Uint8Array, count: number): number[] {
  const seen = new Uint8Array(count);
  for (let i = 0; i < column.length; i++) if (included[i]) seen[column[i]] = 1;
  const found: number[] = [];
  for (let i = 0; i < count; i++) if (seen[i]) found.push(i);
  return found;
}

function tagCount(profile: Profile, tags: readonly number[]): number {
  return tags.filter((tag) => profile.header.tags[tag]?.kind === "named").length;
}

/** The number of stacks is known only for the whole page data, not for a selection; in a time interval, no count is
 * known. */
function counts(subject: Subject): Headline | null {
  const { profile, dataset, included, narrowed } = subject;
  const { header } = profile;
  if (dataset.kind === "interval") return null;
  const all = header.threads.map((_, index) => index);
  const threads = narrowed ? distinct(dataset.thread, included, header.threads.length) : all;
  const number = threads.reduce((sum, thread) => sum + (header.threads[thread]?.threads || 1), 0);
  const tags = narrowed
    ? tagCount(profile, distinct(dataset.tag, included, header.tags.length))
    : tagCount(profile, [...new Set(profile.scopes.tag)]);
  const notes: string[] = [];
  if (!narrowed) notes.push(counted(formatExact(header.page.stacks), "stack"));
  if (tags > 0) notes.push(counted(formatExact(tags), "tag"));
  return { label: "Threads", value: formatExact(number), note: notes.join(" · "), metric: null };
}

// --- of two ---

const COMPARED: readonly Metric[] = ["allocated", "calls", "peak", "live", "temporary"];

function sides(subject: Subject): { before: Estimates; after: Estimates } {
  const { diff } = subject.profile.header;
  if (diff && !subject.narrowed) return { before: diff.before.totals, after: diff.after.totals };
  const chosen: number[] = [];
  for (let i = 0; i < subject.included.length; i++) if (subject.included[i]) chosen.push(i);
  return estimateSides(subject.dataset, chosen);
}

function compare(subject: Subject): Headline[] {
  const { before, after } = sides(subject);
  const lines: Headline[] = [];
  for (const metric of COMPARED) {
    const { key, unit } = metricInfo(metric);
    const change: Estimate = subject.totals[key];
    if (!(before[key].value > 0) && !(after[key].value > 0)) continue;
    lines.push({
      label: metricTitle(subject.profile.header, metric),
      value: formatChangeEstimate(unit, change),
      note: `${formatEstimate(unit, before[key])} → ${formatEstimate(unit, after[key])}`,
      metric,
    });
  }
  return lines;
}

const MAKERS: readonly ((subject: Subject) => Headline | null)[] = [
  allocated,
  calls,
  peak,
  live,
  temporary,
  rss,
  slack,
  sizes,
  counts,
];

export const PART = "Figures of";

/** The part of the run that the figures are of, if it is not the whole. */
function part({ profile, dataset, narrowed }: Subject): Headline[] {
  const { selection, reset_s, difference } = profile.header.extent;
  const parts: string[] = [];
  if (dataset.kind === "interval") parts.push(describeStretch(dataset));
  if (selection !== null && !difference) parts.push(selection);
  if (narrowed) parts.push("the selection");
  if (reset_s !== null && reset_s > 0) parts.push(`since the reset at ${formatSpan(reset_s)}`);
  if (parts.length === 0) return [];
  return [{ label: PART, value: parts[0], note: parts.slice(1).join(", "), metric: null }];
}

export function headlines(subject: Subject): Headline[] {
  if (subject.dataset.kind === "difference") return [...part(subject), ...compare(subject)];
  return [...part(subject), ...MAKERS.map((make) => make(subject)).filter((line) => line !== null)];
}
