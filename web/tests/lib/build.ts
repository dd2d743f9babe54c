// SPDX-License-Identifier: MIT
// build.ts - makes page data in memory for tests: a profile from short descriptions of its sites.
//
//     const profile = buildProfile({
//       sites: [{ stack: ["main", "parse_line parse.c:88", "malloc"], calls: 3, bytes: 300 }],
//       functions: { malloc: { role: Role.Allocator, module: "libc.so.6" } },
//     });
//
// A stack is written outermost first; a frame is "name", "name file" or "name file:line". `functions` describes
// functions by name, for all of their places. Figures are exact unless a site has `samples`.

import type { Header, Module, Snapshot, Tag, Thread, Totals } from "../../src/data/header";
import { openProfile, Role, type Profile } from "../../src/data/profile";

export interface BuiltAmount {
  blocks: number;
  bytes: number;
}

export interface BuiltSite {
  stack: string[];
  calls: number;
  bytes: number;
  /** What is live; default: nothing. */
  live?: BuiltAmount;
  peak?: BuiltAmount;
  /** Calls whose block was freed before the thread's next one. */
  temporary?: number;
  /** Names; "" is the main thread, and no tag. Tags are paths: "request/parse". */
  thread?: string;
  tag?: string;
  /** In a difference: the site belongs to the first profile. */
  before?: boolean;
  /** The figures are estimates from so many samples. */
  samples?: number;
  sizes?: Record<number, number>;
  lives?: Record<number, number>;
  ages?: Record<number, number>;
}

export interface BuiltFunction {
  full?: string;
  /** The file as shown; the file in stacks is then only the path of the source. */
  file?: string;
  module?: string;
  role?: Role;
  /** An index into LANGUAGES; native by default. */
  language?: number;
}

export interface BuiltShare {
  snapshot: number;
  site: number;
  blocks: number;
  bytes: number;
  calls: number;
  allocated: number;
  divided?: boolean;
}

/** What of a site was where at the time of a reading; all its errors are `error`. */
export interface BuiltResident {
  reading: number;
  site: number;
  live: number;
  resident: number;
  swapped: number;
  untouched: number;
  error: number;
}

export interface Built {
  sites: BuiltSite[];
  functions?: Record<string, BuiltFunction>;
  difference?: boolean;
  /** Bytes are mapped addresses. */
  addresses?: boolean;
  snapshots?: Snapshot[];
  shares?: BuiltShare[];
  residents?: BuiltResident[];
  scopes?: { tag: number; calls: number; bytes: number }[];
  /** Members of the header that replace the defaults. */
  header?: Partial<Header>;
}

type ColumnType = "u8" | "u32" | "f64";
type Column = { type: ColumnType; values: ArrayLike<number> };
export type Columns = Record<string, Column>;

const BYTES: Record<ColumnType, number> = { u8: 1, u32: 4, f64: 8 };
const padded = (bytes: number) => (bytes + 7) & ~7;

/** Writes page data as plimsoll does, from columns and a header without `columns` and `tables`. */
export function writeContainer(header: object, columns: Columns): Uint8Array {
  const index: Header["columns"] = {};
  const tables: Record<string, number> = {};
  let offset = 0;
  for (const [name, { type, values }] of Object.entries(columns)) {
    tables[name.slice(0, name.indexOf("."))] = values.length;
    if (Array.prototype.every.call(values, (value: number) => value === 0)) continue;
    index[name] = { type, offset, count: values.length };
    offset += padded(values.length * BYTES[type]);
  }
  const json = new TextEncoder().encode(JSON.stringify({ ...header, columns: index, tables }));
  const head = 16 + padded(json.length);
  const bytes = new Uint8Array(head + offset);
  const view = new DataView(bytes.buffer);
  bytes.fill(32, 16, head);
  bytes.set(new TextEncoder().encode("PLIMPAGE"));
  view.setUint32(8, 1, true);
  view.setUint32(12, head - 16, true);
  bytes.set(json, 16);
  for (const [name, { type, offset: at, count }] of Object.entries(index)) {
    const { values } = columns[name];
    const begin = head + at;
    if (type === "u8") bytes.set(Array.from(values), begin);
    else if (type === "u32") new Uint32Array(bytes.buffer, begin, count).set(values);
    else new Float64Array(bytes.buffer, begin, count).set(values);
  }
  return bytes;
}

/** A table without duplicates: of() returns the row of a key, and adds it if it is new. */
function numbering<T>(): { rows: T[]; of: (key: string, make: () => T) => number } {
  const known = new Map<string, number>();
  const rows: T[] = [];
  return {
    rows,
    of: (key, make) => {
      let number = known.get(key);
      if (number === undefined) {
        known.set(key, (number = rows.length));
        rows.push(make());
      }
      return number;
    },
  };
}

function textColumns(texts: string[]): Columns {
  const parts = texts.map((text) => new TextEncoder().encode(text));
  const end: number[] = [];
  let bytes = 0;
  for (const part of parts) end.push((bytes += part.length));
  return {
    "text.end": { type: "u32", values: end },
    "bytes.text": { type: "u8", values: parts.flatMap((part) => Array.from(part)) },
  };
}

function histogramColumns(sites: BuiltSite[], name: "sizes" | "lives" | "ages"): Columns {
  const rows = sites.flatMap((site, index) =>
    Object.entries(site[name] ?? {}).map(([bucket, count]) => [index, Number(bucket), count]),
  );
  return {
    [`${name}.site`]: { type: "u32", values: rows.map((row) => row[0]) },
    [`${name}.bucket`]: { type: "u8", values: rows.map((row) => row[1]) },
    [`${name}.count`]: { type: "f64", values: rows.map((row) => row[2]) },
  };
}

function amountOf(site: BuiltSite, name: string): BuiltAmount {
  const live = site.live ?? { blocks: 0, bytes: 0 };
  if (name === "allocated") return { blocks: site.calls, bytes: site.bytes };
  if (name === "freed") return { blocks: site.calls - live.blocks, bytes: site.bytes - live.bytes };
  if (name === "peak") return site.peak ?? live;
  if (name === "lost") return { blocks: 0, bytes: 0 };
  return { blocks: site.temporary ?? 0, bytes: 0 };
}

/** All samples have equal weights: if n samples represent V, the variance is V²/n. */
function amountColumns(sites: BuiltSite[], name: string): Columns {
  const columns: Columns = {};
  const put = (part: string, value: (site: BuiltSite, amount: BuiltAmount, share: number) => number) => {
    const values = sites.map((site) => {
      const amount = amountOf(site, name);
      return value(site, amount, site.calls > 0 ? amount.blocks / site.calls : 0);
    });
    columns[`site.${name}.${part}`] = { type: "f64", values };
  };
  const samples = (site: BuiltSite, share: number) => Math.round((site.samples ?? 0) * share);
  const variance = (site: BuiltSite, whole: number, share: number) => {
    const count = samples(site, share);
    return count > 0 ? whole * (whole / count) : 0;
  };
  put("exact_objects", (site, amount) => (site.samples === undefined ? amount.blocks : 0));
  put("exact_space", (site, amount) => (site.samples === undefined ? amount.bytes : 0));
  put("objects", (site, amount) => (site.samples === undefined ? 0 : amount.blocks));
  put("space", (site, amount) => (site.samples === undefined ? 0 : amount.bytes));
  put("objects_variance", (site, amount, share) => variance(site, amount.blocks, share));
  put("space_variance", (site, amount, share) => variance(site, amount.bytes, share));
  put("samples", (site, _, share) => samples(site, share));
  return columns;
}

const SPELLING = /^(\S+)(?: ([^:]*)(?::(\d+))?)?$/;

/** Functions, places and nodes, added as stacks need them. */
function treeOf(built: Built) {
  const texts = numbering<string>();
  const text = (word: string) => texts.of(word, () => word);
  text("");
  const modules = numbering<string>();
  modules.of("/app/program", () => "/app/program");
  const functions = numbering<Record<"name" | "full" | "file" | "source" | "module" | "role" | "language", number>>();
  const places = numbering<{ function: number; line: number }>();
  const nodes = numbering<{ parent: number; place: number }>();
  nodes.of("root", () => ({ parent: 0, place: 0 }));
  const makeFunction = (name: string, file: string) => {
    const said = built.functions?.[name] ?? {};
    const module = said.module ?? "/app/program";
    return {
      name: text(name),
      full: text(said.full ?? name),
      file: text(said.file ?? file),
      source: text(file || (said.file ?? "")),
      module: modules.of(module, () => module),
      role: said.role ?? Role.Own,
      language: said.language ?? 0,
    };
  };
  const step = (parent: number, frame: string) => {
    const [, name, file = "", line = "0"] = SPELLING.exec(frame) ?? ["", frame];
    const number = functions.of(`${name}\n${file}`, () => makeFunction(name, file));
    const place = places.of(`${number}:${line}`, () => ({ function: number, line: Number(line) }));
    return nodes.of(`${parent}:${place}`, () => ({ parent, place }));
  };
  const role = (node: number) => functions.rows[places.rows[nodes.rows[node].place].function].role;
  /** The nodes of a stack, and which of them are usual: as in reports, as far as roles decide it. */
  const ways = (stack: string[]) => {
    const way: number[] = [];
    for (const frame of stack) way.push(step(way[way.length - 1] ?? 0, frame));
    if (way.length === 0) return { node: 0, inner: 0, outer: 0, own: 0 };
    let inner = way.length - 1;
    while (inner > 0 && role(way[inner]) === Role.Allocator) inner--;
    let outer = 0;
    while (outer < inner && role(way[outer]) >= Role.Start) outer++;
    let own = inner;
    while (own > outer && role(way[own]) !== Role.Own) own--;
    if (role(way[own]) !== Role.Own) own = inner;
    return { node: way[way.length - 1], inner: way[inner], outer: way[outer], own: way[own] };
  };
  const columns = (): Columns => {
    const column = <T>(table: { rows: T[] }, member: keyof T & string, type: ColumnType = "u32"): Column => ({
      type,
      values: table.rows.map((row) => row[member] as number),
    });
    return {
      "function.name": column(functions, "name"),
      "function.full": column(functions, "full"),
      "function.file": column(functions, "file"),
      "function.source": column(functions, "source"),
      "function.module": column(functions, "module"),
      "function.role": column(functions, "role", "u8"),
      "function.language": column(functions, "language", "u8"),
      "place.function": column(places, "function"),
      "place.line": column(places, "line"),
      "node.parent": column(nodes, "parent"),
      "node.place": column(nodes, "place"),
      ...textColumns(texts.rows),
    };
  };
  return { ways, columns, modules: modules.rows };
}

function makeThread(name: string, tid: number): Thread {
  const functions = { malloc: 0, calloc: 0, realloc: 0, aligned: 0, new: 0 };
  return { tid, name, threads: 1, alive: false, start_s: 0, end_s: null, calls: 0, bytes: 0, functions };
}

/** The tag of a path; its parents are added before it. */
function tagOf(tags: { rows: Tag[]; of: (key: string, make: () => Tag) => number }, path: string): number {
  if (path === "") return tags.of("", () => ({ name: "", path: null, parent: null, depth: 0, kind: "root" }));
  const cut = path.lastIndexOf("/");
  const parent = tagOf(tags, cut < 0 ? "" : path.slice(0, cut));
  const depth = tags.rows[parent].depth + 1;
  return tags.of(path, () => ({ name: path.slice(cut + 1), path, parent, depth, kind: "named" }));
}

function exactly(value: number) {
  return { value, error: 0, low: value, high: value };
}

function totalsOf(sites: BuiltSite[]): Totals {
  const sum = (pick: (site: BuiltSite) => number) =>
    exactly(sites.reduce((total, site) => total + (site.before ? -pick(site) : pick(site)), 0));
  return {
    alloc_objects: sum((site) => site.calls),
    alloc_space: sum((site) => site.bytes),
    inuse_objects: sum((site) => site.live?.blocks ?? 0),
    inuse_space: sum((site) => site.live?.bytes ?? 0),
    peak_objects: sum((site) => amountOf(site, "peak").blocks),
    peak_space: sum((site) => amountOf(site, "peak").bytes),
    temp_objects: sum((site) => site.temporary ?? 0),
    lost_objects: sum(() => 0),
    lost_space: sum(() => 0),
    smallest: null,
    largest: null,
    sizes: [],
    lifetimes: [],
    ages: [],
    reallocs: { calls: 0, in_place: 0, moved_bytes: 0 },
    freed_at_exit: { blocks: 0, bytes: 0 },
    functions: { malloc: 0, calloc: 0, realloc: 0, aligned: 0, new: 0 },
  };
}

function headerOf(built: Built, sites: BuiltSite[], modules: string[], threads: Thread[], tags: Tag[]): object {
  const samples = sites.reduce((total, site) => total + (site.samples ?? 0), 0);
  const exact = sites.every((site) => site.samples === undefined);
  const module = (path: string): Module => ({
    path,
    name: path.replace(/^.*\//s, ""),
    build_id: "",
    bias: "0x0",
    start: "0x0",
    end: "0x0",
  });
  const header: Omit<Header, "columns" | "tables"> = {
    extent: {
      selection: null,
      resets: 0,
      reset_s: null,
      snapshot: null,
      snapshot_s: null,
      merged: 0,
      addresses: built.addresses ?? false,
      difference: built.difference ?? false,
      base_sites: sites.filter((site) => site.before).length,
      size_from: 0,
      size_to: null,
    },
    process: {
      pid: 1,
      parent_pid: 0,
      uid: 0,
      name: "program",
      command: ["./program"],
      exe: "/app/program",
      allocator: null,
      directory: "/app",
      machine: 62,
      start: "2026-01-01T00:00:00Z",
      start_unix_ns: 0,
      duration_s: 10,
      exit_s: 10,
      running: false,
      ended: "exited 0",
      forked: false,
    },
    sampling: {
      method: exact ? "exact" : "sampled",
      exact,
      exact_calls: 0,
      exact_bytes: 0,
      mode: exact ? "exact" : "sampled",
      interval_bytes: 524288,
      call_charge: 64,
      samples,
      samples_live: samples,
    },
    auto: {
      overhead: 0,
      exact_now: exact,
      interval_bytes: 0,
      interval_max: 0,
      left_exact: 0,
      returned_to_exact: 0,
      exact_calls: 0,
      exact_cpu_s: 0,
      unsampled_sites: 0,
      unsampled_bytes: 0,
    },
    cost: { profiler_cpu_s: null, process_cpu_s: null },
    peak: { time_s: 5, slack_bytes: 0 },
    scales: { unit_s: null, sizes_from: [], lifetimes_from_s: [], ages_until_s: [] },
    totals: totalsOf(sites),
    losses: {},
    stops: {},
    reading: { file_bytes: 0, damage: 0, in_flight: 0, bad_settings: 0 },
    modules: modules.map(module),
    threads,
    tags,
    timeline: [],
    snapshots: built.snapshots ?? [],
    memory: [],
    residency: [],
    holders: [],
    advice: [],
    page: {
      version: "test",
      subject: "test.plim",
      title: "program",
      live: false,
      metric: "live",
      since_s: null,
      until_s: null,
      title_live: "Live",
      stacks: new Set(sites.map((site) => site.stack.join("\n"))).size,
      written: "",
    },
    leaks: null,
    sources: [],
    loss_help: {},
    metric_help: {},
    diff: null,
  };
  return { ...header, ...built.header };
}

function shareColumns(shares: BuiltShare[]): Columns {
  return {
    "share.snapshot": { type: "u32", values: shares.map((share) => share.snapshot) },
    "share.site": { type: "u32", values: shares.map((share) => share.site) },
    "share.objects": { type: "f64", values: shares.map((share) => share.blocks) },
    "share.bytes": { type: "f64", values: shares.map((share) => share.bytes) },
    "share.calls": { type: "f64", values: shares.map((share) => share.calls) },
    "share.allocated": { type: "f64", values: shares.map((share) => share.allocated) },
    "share.divided": { type: "u8", values: shares.map((share) => (share.divided ? 1 : 0)) },
  };
}

function residentColumns(residents: BuiltResident[], nodes: number[]): Columns {
  const columns: Columns = {
    "resident.reading": { type: "u32", values: residents.map(({ reading }) => reading) },
    "resident.node": { type: "u32", values: residents.map(({ site }) => nodes[site]) },
  };
  for (const kind of ["live", "resident", "swapped", "untouched"] as const) {
    columns[`resident.${kind}`] = { type: "f64", values: residents.map((row) => row[kind]) };
    columns[`resident.${kind}_error`] = { type: "f64", values: residents.map(({ error }) => error) };
  }
  return columns;
}

function scopeColumns(scopes: NonNullable<Built["scopes"]>): Columns {
  return {
    "scope.tag": { type: "u32", values: scopes.map((scope) => scope.tag) },
    "scope.calls": { type: "f64", values: scopes.map((scope) => scope.calls) },
    "scope.bytes": { type: "f64", values: scopes.map((scope) => scope.bytes) },
  };
}

/** Sites of the first profile come first, as in every difference. */
export function buildBytes(built: Built): Uint8Array {
  const sites = [...built.sites.filter((site) => site.before), ...built.sites.filter((site) => !site.before)];
  const tree = treeOf(built);
  const threads = numbering<Thread>();
  const tags = numbering<Tag>();
  tagOf(tags, "");
  const name = (site: BuiltSite) => site.thread ?? "main";
  const ways = sites.map((site) => tree.ways(site.stack));
  const columns: Columns = {
    "site.node": { type: "u32", values: ways.map((way) => way.node) },
    "site.inner": { type: "u32", values: ways.map((way) => way.inner) },
    "site.outer": { type: "u32", values: ways.map((way) => way.outer) },
    "site.own": { type: "u32", values: ways.map((way) => way.own) },
    "site.thread": {
      type: "u32",
      values: sites.map((site) => threads.of(name(site), () => makeThread(name(site), threads.rows.length + 1))),
    },
    "site.tag": { type: "u32", values: sites.map((site) => tagOf(tags, site.tag ?? "")) },
    ...amountColumns(sites, "allocated"),
    ...amountColumns(sites, "freed"),
    ...amountColumns(sites, "peak"),
    ...amountColumns(sites, "temporary"),
    ...amountColumns(sites, "lost"),
    ...histogramColumns(sites, "sizes"),
    ...histogramColumns(sites, "lives"),
    ...histogramColumns(sites, "ages"),
    ...shareColumns(built.shares ?? []),
    ...residentColumns(
      built.residents ?? [],
      ways.map((way) => way.node),
    ),
    ...scopeColumns(built.scopes ?? []),
  };
  Object.assign(columns, tree.columns());
  return writeContainer(headerOf(built, sites, tree.modules, threads.rows, tags.rows), columns);
}

export function buildProfile(built: Built): Profile {
  return openProfile(buildBytes(built));
}
