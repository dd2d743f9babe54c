// SPDX-License-Identifier: MIT
// metric.ts - the metrics, one vocabulary everywhere: words as `--metric` takes them.

import type { Header, MetricKey } from "../data/header";

export type Metric = "live" | "allocated" | "calls" | "peak" | "temporary" | "blocks" | "peak-blocks";
export type Unit = "bytes" | "calls" | "blocks";

export interface MetricInfo {
  metric: Metric;
  key: MetricKey;
  unit: Unit;
  title: string;
  help: string;
  /** Of a stretch of time this is not known: there is one peak in a run, and how blocks end is known of all alone. */
  onlyWhole: boolean;
}

/** In the order in which they are offered. */
export const METRICS: readonly MetricInfo[] = [
  {
    metric: "live",
    key: "inuse_space",
    unit: "bytes",
    title: "Live",
    help: "bytes not freed (yet)",
    onlyWhole: false,
  },
  {
    metric: "allocated",
    key: "alloc_space",
    unit: "bytes",
    title: "Allocated",
    help: "bytes requested by all allocations",
    onlyWhole: false,
  },
  {
    metric: "calls",
    key: "alloc_objects",
    unit: "calls",
    title: "Calls",
    help: "allocations made",
    onlyWhole: false,
  },
  {
    metric: "peak",
    key: "peak_space",
    unit: "bytes",
    title: "Peak",
    help: "bytes that were live when the heap was largest",
    onlyWhole: true,
  },
  {
    metric: "temporary",
    key: "temp_objects",
    unit: "calls",
    title: "Temporary",
    help: "allocations freed by their thread before its next one",
    onlyWhole: true,
  },
  {
    metric: "blocks",
    key: "inuse_objects",
    unit: "blocks",
    title: "Live blocks",
    help: "blocks not freed (yet)",
    onlyWhole: false,
  },
  {
    metric: "peak-blocks",
    key: "peak_objects",
    unit: "blocks",
    title: "Peak blocks",
    help: "blocks that were live when the heap was largest",
    onlyWhole: true,
  },
];

const BY_METRIC = new Map(METRICS.map((info) => [info.metric, info]));

export function metricInfo(metric: Metric): MetricInfo {
  const info = BY_METRIC.get(metric);
  if (!info) throw new Error(`there is no metric ${metric}`);
  return info;
}

export function isMetric(word: string): word is Metric {
  return BY_METRIC.has(word as Metric);
}

/** What is live when a program has ended was never freed, unless it had no chance to: as reports call it. */
function liveTitle({ process, page, extent }: Header): string {
  if (!extent.difference) return page.title_live;
  if (process.running || extent.snapshot !== null) return "Live";
  return process.signal === undefined ? "Never freed" : "Live when it ended";
}

/** Of a stretch of time, one knows by how much it grew. */
export function metricTitle(header: Header, metric: Metric, interval = false): string {
  if (metric !== "live" && metric !== "blocks") return metricInfo(metric).title;
  if (interval) return metric === "live" ? "Live, net growth" : "Blocks, net growth";
  const title = liveTitle(header);
  if (metric === "live") return title;
  return title === "Live" ? "Live blocks" : `Blocks ${title.toLowerCase()}`;
}
