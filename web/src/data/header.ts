// SPDX-License-Identifier: MIT
// header.ts - the JSON text of page data, as types: docs/json.md and docs/page-data.md say what each member means.

/** A figure and its 95% confidence interval; the error of an exact figure is 0. */
export interface Estimate {
  value: number;
  error: number;
  low: number;
  high: number;
}

export type MetricKey =
  | "alloc_objects"
  | "alloc_space"
  | "inuse_objects"
  | "inuse_space"
  | "peak_objects"
  | "peak_space"
  | "temp_objects"
  | "lost_objects"
  | "lost_space";

export type Estimates = Record<MetricKey, Estimate>;

export type AllocationFunction = "malloc" | "calloc" | "realloc" | "aligned" | "new";

export interface Totals extends Estimates {
  smallest: number | null;
  largest: number | null;
  sizes: number[];
  lifetimes: number[];
  ages: number[];
  reallocs: { calls: number; in_place: number; moved_bytes: number };
  freed_at_exit: { blocks: number; bytes: number };
  functions: Record<AllocationFunction, number>;
}

export interface ProcessInfo {
  pid: number;
  parent_pid: number;
  uid: number;
  name: string;
  command: string[];
  exe: string;
  allocator: number | null;
  directory: string;
  machine: number;
  start: string;
  start_unix_ns: number;
  duration_s: number;
  exit_s: number | null;
  running: boolean;
  ended: string;
  exit_status?: number;
  signal?: number;
  forked: boolean;
}

export interface Sampling {
  method: string;
  exact: boolean;
  exact_calls: number;
  exact_bytes: number;
  mode: string;
  interval_bytes: number;
  call_charge: number;
  samples: number;
  samples_live: number;
}

export interface Moment {
  time_s: number;
  live_bytes: number;
  live_blocks: number;
  allocated_bytes: number;
  calls: number;
  rss_bytes: number | null;
  file_bytes: number | null;
  profiler_bytes: number | null;
  interval_bytes: number;
}

/** A part of what RSS consists of. */
export interface MemoryPart {
  part: string;
  title: string;
  /** It is the allocator's memory. */
  heap: boolean;
  virtual_bytes: number;
  resident_bytes: number;
  pss_bytes: number;
  swap_bytes: number;
}

/** What RSS consisted of at one time: `parts` add up to it. */
export interface MemoryReading {
  time_s: number;
  exact: boolean;
  unread: boolean;
  parts: MemoryPart[];
  facts: Record<string, number>;
}

/** How much of what was live was resident at one time; its sites are columns. An error is half the 95% interval. */
export interface ResidencyReading {
  time_s: number;
  exact: boolean;
  live_bytes: number;
  resident_bytes: number;
  swapped_bytes: number;
  untouched_bytes: number;
  live_error: number;
  resident_error: number;
  swapped_error: number;
  untouched_error: number;
}

/** What held a part of the heap: a node of a tree below a root. */
export interface Holder {
  /** "blocks": of a site, and nothing but its parent leads to them. "rest": smaller ones. "way": a step of a way. */
  kind: "root" | "blocks" | "rest" | "way";
  /** Of a root. */
  name: string | null;
  /** Indexes in the list; a parent comes before its children. */
  parent: number | null;
  /** The end of a way from a root to one of the blocks. */
  way: number | null;
  /** The frame that the site is named after. */
  node: number | null;
  /** Without what is below. */
  blocks: number;
  bytes: number;
}

export interface Thread {
  tid: number;
  name: string;
  threads: number;
  alive: boolean;
  start_s: number;
  end_s: number | null;
  calls: number;
  bytes: number;
  functions: Record<AllocationFunction, number>;
}

export interface Tag {
  name: string;
  path: string | null;
  parent: number | null;
  depth: number;
  kind: "root" | "named" | "off" | "paused";
}

export interface Module {
  path: string;
  /** As reports name it: what the program was called, if that is not the last part of its path. */
  name: string;
  build_id: string;
  bias: string;
  start: string;
  end: string;
}

export interface Advice {
  kind: string;
  node: number | null;
  /** More sites that it is about. */
  other_nodes: number[];
  function: string | null;
  file: string | null;
  line: number | null;
  headline: string;
  evidence: string;
  action: string;
  gain_bytes: number;
  gain_calls: number;
  weight: number;
}

/** The composition of the heap at one time: which sites had allocated and held how much. The sites that it does not
 * name had allocated, and held, the fractions others_* of all that they allocated until the end. */
export interface Snapshot {
  time_s: number;
  live_bytes: number;
  live_blocks: number;
  left_out_bytes: number;
  allocated_bytes: number;
  calls: number;
  others_allocated: number;
  others_calls: number;
  others_bytes: number;
  others_objects: number;
  /** What the sites that it does not name had allocated by then, all together. */
  unnamed_bytes: number;
  unnamed_calls: number;
}

export type Verdict = "suspected" | "unknown" | "stopped" | "once" | "young";

export interface Leak {
  node: number;
  stacks: number;
  blocks: Estimate;
  bytes: Estimate;
  verdict: Verdict;
  evidence: string;
  bytes_per_s: number | null;
  first_s: number | null;
  last_s: number | null;
}

export interface Leaks {
  ending: "running" | "exited" | "killed";
  suppressed: { stacks: number; blocks: number; bytes: number };
  items: Leak[];
  items_left_out: number;
}

export interface Snippet {
  file: string;
  younger: boolean;
  first: number;
  lines: string[];
}

export interface AutoMode {
  overhead: number;
  exact_now: boolean;
  interval_bytes: number;
  interval_max: number;
  left_exact: number;
  returned_to_exact: number;
  exact_calls: number;
  exact_cpu_s: number;
  /** Sites of which no sample was taken since exact counting ended, and how much they may have allocated since. */
  unsampled_sites: number;
  unsampled_bytes: number;
}

export interface Side {
  subject: string;
  process: ProcessInfo;
  sampling: Sampling;
  auto: AutoMode;
  totals: Totals;
  timeline: Moment[];
  peak: { time_s: number; slack_bytes: number };
}

export interface Change {
  node: number;
  what: "grew" | "shrank" | "new" | "gone" | "same";
  before: Estimate;
  after: Estimate;
  change: Estimate;
  q: number;
  significant: boolean;
  moved: boolean;
}

export interface Changes {
  significant: number;
  compared: number;
  items: Change[];
}

export interface Header {
  columns: Record<string, { type: "u8" | "u32" | "f64"; offset: number; count: number }>;
  tables: Record<string, number>;
  extent: {
    selection: string | null;
    resets: number;
    reset_s: number | null;
    snapshot: string | null;
    snapshot_s: number | null;
    merged: number;
    /** A heap of mappings: its bytes are addresses, resident or not. */
    addresses: boolean;
    difference: boolean;
    base_sites: number;
    size_from: number;
    size_to: number | null;
  };
  process: ProcessInfo;
  sampling: Sampling;
  auto: AutoMode;
  cost: { profiler_cpu_s: number | null; process_cpu_s: number | null };
  peak: { time_s: number; slack_bytes: number };
  scales: { unit_s: number | null; sizes_from: number[]; lifetimes_from_s: number[]; ages_until_s: number[] };
  totals: Totals;
  losses: Record<string, number>;
  stops: Record<string, number>;
  reading: { file_bytes: number; damage: number; in_flight: number; bad_settings: number };
  modules: Module[];
  threads: Thread[];
  tags: Tag[];
  timeline: Moment[];
  snapshots: Snapshot[];
  memory: MemoryReading[];
  residency: ResidencyReading[];
  holders: Holder[];
  advice: Advice[];
  page: {
    version: string;
    subject: string;
    title: string;
    live: boolean;
    metric: string;
    /** The time interval to show first; null: from the start, to the end. */
    since_s: number | null;
    until_s: number | null;
    title_live: string;
    stacks: number;
    written: string;
  };
  leaks: Leaks | null;
  sources: Snippet[];
  loss_help: Record<string, string>;
  metric_help: Record<string, string>;
  diff: null | { before: Side; after: Side; changes: Partial<Record<MetricKey, Changes>> };
}
