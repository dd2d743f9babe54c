// SPDX-License-Identifier: MIT
// metric.ts - the metrics, named by the words that `--metric` takes.

import type { Header, MetricKey } from "../../data/header";

export type Metric =
  | "live"
  | "allocated"
  | "calls"
  | "peak"
  | "temporary"
  | "blocks"
  | "peak-blocks"
  | "lost"
  | "lost-blocks";
export type Unit = "bytes" | "calls" | "blocks";

/** What a metric is a sum of: `live` is what was allocated less what was freed. */
export type Source = "allocated" | "live" | "peak" | "temporary" | "lost";

interface Row {
  metric: Metric;
  key: MetricKey;
  unit: Unit;
  of: Source;
  title: string;
  help: string;
}

export interface MetricInfo extends Row {
  /** Unknown for a time interval: a run has one peak, and temporary allocations are known only for the whole run. */
  onlyWhole: boolean;
}

/** The twin of PL_METRICS (src/reader/profile.h), in the order of the menu; metric.test.ts compares them. */
const ROWS: readonly Row[] = [
  { metric: "live", key: "inuse_space", unit: "bytes", of: "live", title: "Live", help: "bytes not freed (yet)" },
  {
    ...{ metric: "allocated", key: "alloc_space", unit: "bytes", of: "allocated", title: "Allocated" },
    help: "bytes requested by all allocations",
  },
  { metric: "calls", key: "alloc_objects", unit: "calls", of: "allocated", title: "Calls", help: "allocations made" },
  {
    ...{ metric: "peak", key: "peak_space", unit: "bytes", of: "peak", title: "Peak" },
    help: "bytes that were live when the heap was largest",
  },
  {
    ...{ metric: "temporary", key: "temp_objects", unit: "calls", of: "temporary", title: "Temporary" },
    help: "allocations freed by their thread before its next one",
  },
  {
    ...{ metric: "blocks", key: "inuse_objects", unit: "blocks", of: "live", title: "Live blocks" },
    help: "blocks not freed (yet)",
  },
  {
    ...{ metric: "peak-blocks", key: "peak_objects", unit: "blocks", of: "peak", title: "Peak blocks" },
    help: "blocks that were live when the heap was largest",
  },
  {
    ...{ metric: "lost", key: "lost_space", unit: "bytes", of: "lost", title: "Lost" },
    help: "bytes of blocks that nothing leads to any more",
  },
  {
    ...{ metric: "lost-blocks", key: "lost_objects", unit: "blocks", of: "lost", title: "Lost blocks" },
    help: "blocks that nothing leads to any more",
  },
];

export const METRICS: readonly MetricInfo[] = ROWS.map((row) => ({
  ...row,
  onlyWhole: row.of === "peak" || row.of === "temporary" || row.of === "lost",
}));

/** The metrics that a profile has: what is lost is known only if somebody has looked. */
export function knownMetrics(header: Header, interval = false): MetricInfo[] {
  const looked = "lost_space" in header.metric_help;
  return METRICS.filter((info) => (looked || info.of !== "lost") && !(interval && info.onlyWhole));
}

const BY_METRIC = new Map(METRICS.map((info) => [info.metric, info]));

export function metricInfo(metric: Metric): MetricInfo {
  const info = BY_METRIC.get(metric);
  if (!info) throw new Error(`there is no metric ${metric}`);
  return info;
}

export function isMetric(word: string): word is Metric {
  return BY_METRIC.has(word as Metric);
}

/** The title that reports use: memory that is live after the program ended was never freed, unless it was killed. */
function liveTitle({ process, page, extent }: Header): string {
  if (!extent.difference) return page.title_live;
  if (process.running || extent.snapshot !== null) return "Live";
  return process.signal === undefined ? "Never freed" : "Live when it ended";
}

/** In a time interval, the figure of live memory is its growth. */
export function metricTitle(header: Header, metric: Metric, interval = false): string {
  if (metric !== "live" && metric !== "blocks") return metricInfo(metric).title;
  if (interval) return metric === "live" ? "Live, net growth" : "Blocks, net growth";
  const title = liveTitle(header);
  if (metric === "live") return title;
  return title === "Live" ? "Live blocks" : `Blocks ${title.toLowerCase()}`;
}
