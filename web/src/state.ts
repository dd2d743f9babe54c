// SPDX-License-Identifier: MIT
// state.ts - the selection, which all views follow and which is stored in the URL.
//
// Functions are identified by keys (profile.functionKey), and in the URL so are tags: a link means the same in every
// reading of the profile, and in profiles of other runs. Default values are omitted from the URL; invalid values are
// replaced by the default.

import type { Profile } from "./data/profile";
import { isMetric, type Metric } from "./model/figures/metric";

export const GROUPINGS = ["stack", "tag", "thread"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export const COLOURINGS = ["module", "language", "package", "tag"] as const;
export type Colouring = (typeof COLOURINGS)[number];

export const TABS = [
  "sites",
  "functions",
  "leaks",
  "changes",
  "tags",
  "threads",
  "sizes",
  "lifetimes",
  "memory",
  "held",
  "source",
] as const;
export type Tab = (typeof TABS)[number];

/** How the timeline is divided. */
export const CHARTS = ["total", "site", "tag"] as const;
export type Chart = (typeof CHARTS)[number];

export interface State {
  metric: Metric;
  by: Grouping;
  /** The interval in seconds since the start; null: from the start, to the end. */
  since: number | null;
  until: number | null;
  /** A regular expression, as typed. */
  search: string;
  /** Only this tag and those below it: an index, or NO_SUCH_TAG. Only threads of this name. null: all. */
  tag: number | null;
  thread: string | null;
  /** Function keys: only stacks that go through all of `focus`, and through none of `hide`. */
  focus: string[];
  hide: string[];
  /** The picked function, which is highlighted in every view. "" none. */
  picked: string;
  /** The function whose callers and callees are shown. "" none. */
  sandwich: string;
  /** The path to the box that the flame graph is zoomed to (model/flame/find.ts). "" none. */
  zoom: string;
  inverted: boolean;
  colour: Colouring;
  /** "all" includes the frames of allocators and of startup code. */
  frames: "usual" | "all";
  chart: Chart;
  tab: Tab;
  /** Of tables: "column" or "-column" (descending); the chosen columns, separated by commas; the filter. "" default. */
  sort: string;
  columns: string;
  filter: string;
}

/** For a link to a tag that this profile does not have: it has no sites. */
export const NO_SUCH_TAG = 0xffffffff;

/** Needed to write and read URLs. */
export type Keys = Pick<Profile, "tagKey" | "tagOfKey">;

/** New values, or a function that computes them from the current selection. */
export type Change = Partial<State> | ((now: State) => Partial<State>);

export function usualState(metric: Metric, tab: Tab = "sites"): State {
  return {
    metric,
    by: "stack",
    since: null,
    until: null,
    search: "",
    tag: null,
    thread: null,
    focus: [],
    hide: [],
    picked: "",
    sandwich: "",
    zoom: "",
    inverted: false,
    colour: "module",
    frames: "usual",
    chart: "total",
    tab,
    sort: "",
    columns: "",
    filter: "",
  };
}

function oneOf<T extends string>(words: readonly T[], word: string, otherwise: T): T {
  return words.includes(word as T) ? (word as T) : otherwise;
}

function seconds(word: string): number | null {
  const value = Number(word);
  return word !== "" && Number.isFinite(value) && value >= 0 ? value : null;
}

function list(word: string): string[] {
  return word.split(",").filter((part) => part !== "");
}

type Codec<K extends keyof State> = {
  write: (value: State[K], keys: Keys) => string;
  read: (word: string, usual: State[K], keys: Keys) => State[K];
};

const text = { write: (value: string) => value, read: (word: string) => word };

const UNKNOWN = "none";

function writeTag(tag: number | null, keys: Keys): string {
  if (tag === null) return "";
  return tag === NO_SUCH_TAG ? UNKNOWN : keys.tagKey(tag);
}

/** How each member is written to a URL and read back. */
const CODECS: { [K in keyof State]: Codec<K> } = {
  metric: { write: (value) => value, read: (word, usual) => (isMetric(word) ? word : usual) },
  by: { write: (value) => value, read: (word, usual) => oneOf(GROUPINGS, word, usual) },
  since: { write: (value) => (value === null ? "" : String(value)), read: seconds },
  until: { write: (value) => (value === null ? "" : String(value)), read: seconds },
  search: text,
  tag: { write: writeTag, read: (word, _, keys) => (word === "" ? null : (keys.tagOfKey(word) ?? NO_SUCH_TAG)) },
  thread: { write: (value) => (value === null ? "" : `=${value}`), read: (word) => (word ? word.slice(1) : null) },
  focus: { write: (value) => value.join(","), read: list },
  hide: { write: (value) => value.join(","), read: list },
  picked: text,
  sandwich: text,
  zoom: text,
  inverted: { write: (value) => (value ? "1" : ""), read: (word) => word === "1" },
  colour: { write: (value) => value, read: (word, usual) => oneOf(COLOURINGS, word, usual) },
  frames: { write: (value) => value, read: (word, usual) => oneOf(["usual", "all"] as const, word, usual) },
  chart: { write: (value) => value, read: (word, usual) => oneOf(CHARTS, word, usual) },
  tab: { write: (value) => value, read: (word, usual) => oneOf(TABS, word, usual) },
  sort: text,
  columns: text,
  filter: text,
};

function writeMember<K extends keyof State>(state: State, key: K, keys: Keys): string {
  return CODECS[key].write(state[key], keys);
}

function readMember<K extends keyof State>(state: State, key: K, word: string, keys: Keys): void {
  state[key] = CODECS[key].read(word, state[key], keys);
}

const MEMBERS = Object.keys(CODECS) as (keyof State)[];

/** An interval that ends before it begins is invalid. */
function isForward({ since, until }: State): boolean {
  return since === null || until === null || since < until;
}

/** The part of a URL after "#". */
export function writeState(state: State, usual: State, keys: Keys): string {
  const parameters = new URLSearchParams();
  for (const key of MEMBERS) {
    const word = writeMember(state, key, keys);
    if (word !== writeMember(usual, key, keys)) parameters.set(key, word);
  }
  return parameters.toString();
}

export function readState(fragment: string, usual: State, keys: Keys): State {
  const state = { ...usual };
  const parameters = new URLSearchParams(fragment.replace(/^#/, ""));
  for (const key of MEMBERS) {
    const word = parameters.get(key);
    if (word !== null) readMember(state, key, word, keys);
  }
  return isForward(state) ? state : { ...state, since: null, until: null };
}
