// SPDX-License-Identifier: MIT
// profile.ts - a profile as the page sees it: tables of columns that refer to each other by index.
//
//   site ──► node ──► place ──► function ──► texts, module
//    │         └─► parent node (outermost frames are children of node 0)
//    └──► thread, tag
//
// Each text is decoded once, when it is first needed: most of a large profile is never shown.

import { openContainer, type Container } from "./container";
import type { Estimate, Estimates, Header } from "./header";

/** Whose code a function is. */
export const enum Role {
  Own = 0,
  Library = 1,
  Allocator = 2,
  Start = 3,
  Threshold = 4,
}

/** Names of languages, by the number that functions have. */
export const LANGUAGES = ["native", "Python", "JavaScript", "Java", "other code compiled at run time"] as const;

export interface Functions {
  count: number;
  name: Uint32Array;
  full: Uint32Array;
  file: Uint32Array;
  source: Uint32Array;
  module: Uint32Array;
  role: Uint8Array;
  language: Uint8Array;
}

export interface Places {
  count: number;
  function: Uint32Array;
  line: Uint32Array;
}

export interface Nodes {
  count: number;
  parent: Uint32Array;
  place: Uint32Array;
}

/** Objects and bytes: counted exactly, and estimated from samples. */
export interface Amount {
  exactObjects: Float64Array;
  exactSpace: Float64Array;
  objects: Float64Array;
  space: Float64Array;
  objectsVariance: Float64Array;
  spaceVariance: Float64Array;
  samples: Float64Array;
}

/** The sums that figures of sites are computed from; each is a column with a row per site. */
export interface Amounts {
  allocated: Amount;
  freed: Amount;
  peak: Amount;
  temporary: Amount;
  /** 0 unless somebody has looked. */
  lost: Amount;
  skewObjects: Float64Array;
  skewSpace: Float64Array;
  /** What may exist although none of it was sampled. */
  hiddenObjects: Float64Array;
  hiddenSpace: Float64Array;
  /** How much more and less than `peak` there was at other moments that may have been the peak. */
  moreObjects: Float64Array;
  lessObjects: Float64Array;
  moreSpace: Float64Array;
  lessSpace: Float64Array;
}

/** How many blocks of a site are in a bucket; rows are in the order of sites. */
export interface Histogram {
  site: Uint32Array;
  bucket: Uint8Array;
  count: Float64Array;
}

/** Stacks, threads and tags of sites, and the sums for their figures: a row per site. */
export interface SiteRows {
  count: number;
  node: Uint32Array;
  /** Nodes on the way from the root to `node`. The usual stack goes from `outer` to `inner`, without startup code and
   * without allocators and their wrappers; the site is named after `own`. */
  inner: Uint32Array;
  outer: Uint32Array;
  own: Uint32Array;
  thread: Uint32Array;
  tag: Uint32Array;
  amounts: Amounts;
}

export interface Sites extends SiteRows {
  otherSizes: Uint8Array;
  /** 1 if the stack is unknown: it was not asked for, or there was no room for it. */
  stackless: Uint8Array;
  smallest: Float64Array;
  largest: Float64Array;
  reallocCalls: Float64Array;
  reallocMoved: Float64Array;
  reallocInPlace: Float64Array;
  exitObjects: Float64Array;
  exitSpace: Float64Array;
  sizes: Histogram;
  lives: Histogram;
  ages: Histogram;
}

/** What a site had allocated and held at the time of a `Snapshot`; rows are in the order of header.snapshots. */
export interface Shares {
  snapshot: Uint32Array;
  site: Uint32Array;
  objects: Float64Array;
  bytes: Float64Array;
  calls: Float64Array;
  allocated: Float64Array;
  divided: Uint8Array;
}

/** How much a site held, and how much of it was where, at the time of a `ResidencyReading`: rows are in the order of
 * header.residency. */
export interface Residents {
  count: number;
  reading: Uint32Array;
  node: Uint32Array;
  live: Float64Array;
  resident: Float64Array;
  swapped: Float64Array;
  untouched: Float64Array;
  liveError: Float64Array;
  residentError: Float64Array;
  swappedError: Float64Array;
  untouchedError: Float64Array;
}

export interface Scopes {
  count: number;
  thread: Uint32Array;
  tag: Uint32Array;
  entered: Float64Array;
  calls: Float64Array;
  bytes: Float64Array;
}

export interface Profile {
  header: Header;
  text(index: number): string;
  functions: Functions;
  places: Places;
  nodes: Nodes;
  sites: Sites;
  shares: Shares;
  residents: Residents;
  scopes: Scopes;
  /** Of the first profile of a difference. */
  baseScopes: Scopes;
  /** A short key of a function for links, which is the same in every reading and in other runs. */
  functionKey(index: number): string;
  /** The function with this key; undefined if there is none. */
  functionOfKey(key: string): number | undefined;
  /** The same for tags. */
  tagKey(index: number): string;
  tagOfKey(key: string): number | undefined;
  functionName(index: number): string;
  /** Last part of the module's path. */
  moduleName(module: number): string;
}

function readTexts(container: Container): (index: number) => string {
  const end = container.u32("text.end");
  const bytes = container.u8("bytes.text");
  const decoder = new TextDecoder();
  const known: string[] = new Array<string>(end.length);
  return (index) => {
    const text = known[index];
    if (text !== undefined) return text;
    if (!(index < end.length)) return "";
    return (known[index] = decoder.decode(bytes.subarray(index > 0 ? end[index - 1] : 0, end[index])));
  };
}

function readAmount(container: Container, name: string): Amount {
  const column = (part: string) => container.f64(`site.${name}.${part}`);
  return {
    exactObjects: column("exact_objects"),
    exactSpace: column("exact_space"),
    objects: column("objects"),
    space: column("space"),
    objectsVariance: column("objects_variance"),
    spaceVariance: column("space_variance"),
    samples: column("samples"),
  };
}

function readAmounts(container: Container): Amounts {
  return {
    allocated: readAmount(container, "allocated"),
    freed: readAmount(container, "freed"),
    peak: readAmount(container, "peak"),
    temporary: readAmount(container, "temporary"),
    lost: readAmount(container, "lost"),
    skewObjects: container.f64("site.skew.objects"),
    skewSpace: container.f64("site.skew.space"),
    hiddenObjects: container.f64("site.hidden.objects"),
    hiddenSpace: container.f64("site.hidden.space"),
    moreObjects: container.f64("site.swing.more_objects"),
    lessObjects: container.f64("site.swing.less_objects"),
    moreSpace: container.f64("site.swing.more_space"),
    lessSpace: container.f64("site.swing.less_space"),
  };
}

function readHistogram(container: Container, name: string): Histogram {
  return {
    site: container.u32(`${name}.site`),
    bucket: container.u8(`${name}.bucket`),
    count: container.f64(`${name}.count`),
  };
}

function readSites(container: Container): Sites {
  return {
    count: container.header.tables["site"] ?? 0,
    node: container.u32("site.node"),
    inner: container.u32("site.inner"),
    outer: container.u32("site.outer"),
    own: container.u32("site.own"),
    thread: container.u32("site.thread"),
    tag: container.u32("site.tag"),
    otherSizes: container.u8("site.other_sizes"),
    stackless: container.u8("site.stackless"),
    amounts: readAmounts(container),
    smallest: container.f64("site.smallest"),
    largest: container.f64("site.largest"),
    reallocCalls: container.f64("site.realloc_calls"),
    reallocMoved: container.f64("site.realloc_moved"),
    reallocInPlace: container.f64("site.realloc_in_place"),
    exitObjects: container.f64("site.exit_objects"),
    exitSpace: container.f64("site.exit_space"),
    sizes: readHistogram(container, "sizes"),
    lives: readHistogram(container, "lives"),
    ages: readHistogram(container, "ages"),
  };
}

function readFunctions(container: Container): Functions {
  return {
    count: container.header.tables["function"] ?? 0,
    name: container.u32("function.name"),
    full: container.u32("function.full"),
    file: container.u32("function.file"),
    source: container.u32("function.source"),
    module: container.u32("function.module"),
    role: container.u8("function.role"),
    language: container.u8("function.language"),
  };
}

function readShares(container: Container): Shares {
  return {
    snapshot: container.u32("share.snapshot"),
    site: container.u32("share.site"),
    objects: container.f64("share.objects"),
    bytes: container.f64("share.bytes"),
    calls: container.f64("share.calls"),
    allocated: container.f64("share.allocated"),
    divided: container.u8("share.divided"),
  };
}

function readResidents(container: Container): Residents {
  return {
    count: container.header.tables["resident"] ?? 0,
    reading: container.u32("resident.reading"),
    node: container.u32("resident.node"),
    live: container.f64("resident.live"),
    resident: container.f64("resident.resident"),
    swapped: container.f64("resident.swapped"),
    untouched: container.f64("resident.untouched"),
    liveError: container.f64("resident.live_error"),
    residentError: container.f64("resident.resident_error"),
    swappedError: container.f64("resident.swapped_error"),
    untouchedError: container.f64("resident.untouched_error"),
  };
}

function readScopes(container: Container, table: "scope" | "base_scope"): Scopes {
  return {
    count: container.header.tables[table] ?? 0,
    thread: container.u32(`${table}.thread`),
    tag: container.u32(`${table}.tag`),
    entered: container.f64(`${table}.entered`),
    calls: container.f64(`${table}.calls`),
    bytes: container.f64(`${table}.bytes`),
  };
}

/** FNV-1a in two lanes: 52 bits, so that collisions within a profile are unlikely. */
function hash(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x01000193;
  for (let i = 0; i < text.length; i++) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(i), 0x85ebca6b);
  }
  return (low >>> 0).toString(36) + ((high >>> 12) & 0xfffff).toString(36);
}

interface Keys {
  keyOf(index: number): string;
  indexOf(key: string): number | undefined;
}

/** Keys are hashes of names; if two items have the same name, their key means the first. */
function makeKeys(count: number, name: (index: number) => string): Keys {
  const keys: string[] = new Array<string>(count);
  const keyOf = (index: number) => (keys[index] ??= hash(name(index)));
  let byKey: Map<string, number> | undefined;
  const indexOf = (key: string) => {
    if (key === "") return undefined; /* the most frequent question, which must not build the map */
    if (!byKey) {
      byKey = new Map();
      for (let i = count - 1; i >= 0; i--) byKey.set(keyOf(i), i);
    }
    return byKey.get(key);
  };
  return { keyOf, indexOf };
}

/** A named tag is identified by its path, a tag of another kind by its kind and its parent. */
function tagNames({ tags }: Header): string[] {
  const names: string[] = [];
  for (const { kind, path, parent } of tags)
    names.push(path !== null ? `named ${path}` : `${kind} ${parent === null ? "" : (names[parent] ?? "")}`);
  return names;
}

/** Unless somebody has looked, the totals do not say what is lost. */
function withLost(header: Header): Header {
  const nothing = { value: 0, error: 0, low: 0, high: 0 };
  return { ...header, totals: { ...header.totals, ...missing(header.totals, nothing) } };
}

function missing(totals: Partial<Estimates>, nothing: Estimate): Partial<Estimates> {
  return { lost_objects: totals.lost_objects ?? nothing, lost_space: totals.lost_space ?? nothing };
}

export function openProfile(bytes: Uint8Array): Profile {
  const container = openContainer(bytes);
  const header = withLost(container.header);
  const text = readTexts(container);
  const functions = readFunctions(container);
  const moduleName = (module: number) => header.modules[module]?.name ?? "";
  const functionKeys = makeKeys(functions.count, (index) => {
    const module = moduleName(functions.module[index]);
    return `${text(functions.full[index])}\n${text(functions.source[index])}\n${module}`;
  });
  const tags = tagNames(header);
  const tagKeys = makeKeys(tags.length, (index) => tags[index]);
  return {
    header,
    text,
    functions,
    places: {
      count: header.tables["place"] ?? 0,
      function: container.u32("place.function"),
      line: container.u32("place.line"),
    },
    nodes: {
      count: header.tables["node"] ?? 0,
      parent: container.u32("node.parent"),
      place: container.u32("node.place"),
    },
    sites: readSites(container),
    shares: readShares(container),
    residents: readResidents(container),
    scopes: readScopes(container, "scope"),
    baseScopes: readScopes(container, "base_scope"),
    functionKey: functionKeys.keyOf,
    functionOfKey: functionKeys.indexOf,
    tagKey: tagKeys.keyOf,
    tagOfKey: tagKeys.indexOf,
    functionName: (index) => text(functions.name[index]),
    moduleName,
  };
}
