// SPDX-License-Identifier: MIT
// colours.ts - the colour of a box: by module, language, package or tag, or by how it changed.
//
// A colour is chosen by a hash of the name, so it is the same in every run. If names collide, the later ones in
// alphabetical order get another colour. Colours are made in OKLCH, where equal lightness looks equally light, so one
// text colour is readable on all of them (flame.test.ts computes the contrast). The program's own code is stronger than
// that of libraries. Changes are blue (less) to orange (more), which nearly everybody can tell apart.
//
// A change that is within noise is drawn paler. To know that takes sums of variances and of samples over the sites of a
// box, which are consecutive: a few lookups per box, not a confidence interval. Tables and tooltips have the intervals.

import type { MetricKey, Side } from "../../data/header";
import { LANGUAGES, Role, type Profile } from "../../data/profile";
import type { Dataset } from "../figures/dataset";
import { siteVariances } from "../figures/figures";
import { metricInfo, type Metric } from "../figures/metric";
import { boxValue, type Subject, type Tree } from "./tree";
import type { Colouring } from "../../state";

export type Rgb = readonly [number, number, number];

const toByte = (linear: number) => {
  const light = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055));
};

export function oklch(lightness: number, chroma: number, degrees: number): Rgb {
  const a = chroma * Math.cos((degrees * Math.PI) / 180);
  const b = chroma * Math.sin((degrees * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    toByte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    toByte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    toByte(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

export const css = ([red, green, blue]: Rgb) => `rgb(${red} ${green} ${blue})`;

function luminance(rgb: Rgb): number {
  const [red, green, blue] = rgb.map((byte) => {
    const part = byte / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast ratio of WCAG: 4.5 is enough for text. */
export function contrast(a: Rgb, b: Rgb): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

export interface Scheme {
  text: Rgb;
  dimText: Rgb;
  dimFill: Rgb;
  /** A slot: 0 to SLOTS − 1; null: neutral. */
  fill: (slot: number | null, pale: boolean) => Rgb;
  /** -1: gone; 0: the same; 1: new. */
  change: (change: number) => Rgb;
}

const ORANGE = 62;
const BLUE = 252;

function changeFill(change: number, plain: number, full: number, most: number): Rgb {
  const much = Math.min(1, Math.abs(change)) ** 0.7;
  return oklch(plain + (full - plain) * much, most * much, change > 0 ? ORANGE : BLUE);
}

/** Two rings of the same hues, which differ in lightness. */
const HUES = 12;
export const SLOTS = 2 * HUES;

const hueOf = (slot: number) => 15 + (360 / HUES) * (slot % HUES);
const isSecond = (slot: number) => slot >= HUES;

export const SCHEMES: Record<"light" | "dark", Scheme> = {
  light: {
    text: [28, 28, 26],
    dimText: [95, 95, 90],
    dimFill: [238, 238, 235],
    fill: (slot, pale) => {
      if (slot === null) return oklch(pale ? 0.92 : 0.87, 0.004, 90);
      const lightness = (isSecond(slot) ? 0.77 : 0.85) + (pale ? 0.05 : 0);
      return oklch(lightness, pale ? 0.04 : 0.08, hueOf(slot));
    },
    change: (change) => changeFill(change, 0.89, 0.78, 0.13),
  },
  dark: {
    text: [242, 242, 240],
    dimText: [163, 166, 170],
    dimFill: [42, 44, 47],
    fill: (slot, pale) => {
      if (slot === null) return oklch(pale ? 0.33 : 0.38, 0.006, 250);
      const lightness = (isSecond(slot) ? 0.39 : 0.46) - (pale ? 0.06 : 0);
      return oklch(lightness, pale ? 0.035 : 0.075, hueOf(slot));
    },
    change: (change) => changeFill(change, 0.36, 0.5, 0.12),
  },
};

/** FNV-1a, with its upper bits folded in. */
export function slotOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return (hash >>> 0) % SLOTS;
}

const ONWARD = 7; /* coprime to SLOTS, so that every slot is tried */

/** A slot for each name; all differ if there are enough slots. */
export function assignSlots(names: string[]): Map<string, number> {
  const slots = new Map<string, number>();
  const taken = new Set<number>();
  for (const name of [...names].sort()) {
    let slot = slotOf(name);
    if (taken.size < SLOTS) while (taken.has(slot)) slot = (slot + ONWARD) % SLOTS;
    taken.add(slot);
    slots.set(name, slot);
  }
  return slots;
}

/** "std" for std::vector<int>::push_back and void std::swap<int>, "alloc" for <alloc::vec::Vec<T> as Clone>::clone; ""
 * if there is none. A function is not a namespace of what is inside it, such as main::{lambda}. */
function namespaceOf(name: string): string {
  const space = /^[<&*(\s]*(?:\w+[*&]* )*([A-Za-z_]\w*)(?:<[^<>]*>)?::(?!\{)/.exec(name);
  return space?.[1] ?? "";
}

/** The namespace in one of the names (shown, or complete); else the directory of the file; else the module. */
export function packageName(names: string | readonly string[], file: string, module: string): string {
  for (const name of typeof names === "string" ? [names] : names) {
    const space = namespaceOf(name);
    if (space) return space;
  }
  const directory = /^(.*)\/[^/]*$/s.exec(file);
  return directory?.[1] || module || "(unknown)";
}

/** Classes of boxes that have the same colour. */
export interface Classes {
  names: string[];
  /** By class; null: neutral. */
  slots: (number | null)[];
  /** By box; -1: it has none. */
  of: (box: number) => number;
}

const SEVERAL = "several tags";
const NO_TAG = "(no tag)";

const NO_MODULE = "(unknown)";

/** The name of a module in the legend. */
export function moduleClass(profile: Profile, module: number): string {
  return profile.moduleName(module) || NO_MODULE;
}

const moduleSlots = new WeakMap<Profile, Map<string, number>>();

/** The colours of all modules that have a function, so that a module has the same colour in every view. */
export function slotsOfModules(profile: Profile): Map<string, number> {
  let slots = moduleSlots.get(profile);
  if (!slots) {
    const names = [...new Set(profile.functions.module)].map((module) => moduleClass(profile, module));
    moduleSlots.set(profile, (slots = assignSlots([...new Set(names)])));
  }
  return slots;
}

/** The same for tags, by their paths. */
export function slotsOfTags(profile: Profile): Map<string, number> {
  return assignSlots(profile.header.tags.flatMap((tag) => tag.path || []));
}

/** Native code is neutral. The others are far apart, for most kinds of colour blindness, too. */
const LANGUAGE_SLOTS = [null, 8, 3, 1, 11] as const;

function classesByLanguage({ functions }: Profile, tree: Tree): Classes {
  return { names: [...LANGUAGES], slots: [...LANGUAGE_SLOTS], of: (box) => functions.language[tree.key[box]] ?? -1 };
}

function makeClasses(names: string[], slots: Map<string, number>, of: (box: number) => number): Classes {
  return { names, slots: names.map((name) => slots.get(name) ?? null), of };
}

function numberNames(): { names: string[]; of: (name: string) => number } {
  const known = new Map<string, number>();
  const names: string[] = [];
  const of = (name: string) => {
    let number = known.get(name);
    if (number === undefined) {
      known.set(name, (number = names.length));
      names.push(name);
    }
    return number;
  };
  return { names, of };
}

function functionClass(profile: Profile, index: number, colouring: Colouring): string {
  const { functions } = profile;
  if (colouring === "module") return moduleClass(profile, functions.module[index]);
  const module = profile.moduleName(functions.module[index]);
  const names = [profile.functionName(index), profile.text(functions.full[index])];
  return packageName(names, profile.text(functions.file[index]), module);
}

function classesByKey(profile: Profile, tree: Tree, colouring: Colouring): Classes {
  const { names, of } = numberNames();
  const known = new Int32Array(profile.functions.count).fill(-1);
  for (const key of tree.trunk.keys()) if (known[key] === -1) known[key] = of(functionClass(profile, key, colouring));
  const slots = colouring === "module" ? slotsOfModules(profile) : assignSlots(names);
  return makeClasses(names, slots, (box) => known[tree.key[box]] ?? -1);
}

/** A box has the colour of a tag if all sites in it have that tag. */
function classesByTag(profile: Profile, tree: Tree, tagOfSite: Uint32Array, values: Float64Array): Classes {
  const { names, of } = numberNames();
  const several = of(SEVERAL);
  const none = -1;
  const tagClass = profile.header.tags.map((tag) => of(tag.path || NO_TAG));
  const classOf = new Int32Array(tree.count).fill(none);
  const join = (box: number, other: number) => {
    if (other !== none) classOf[box] = classOf[box] === none || classOf[box] === other ? other : several;
  };
  for (let box = tree.count - 1; box >= 0; box--) {
    const ownEnd = tree.childBegin[box] < tree.childEnd[box] ? tree.siteBegin[tree.childBegin[box]] : tree.siteEnd[box];
    for (let i = tree.siteBegin[box]; i < ownEnd; i++)
      if (values[tree.sites[i]] !== 0) join(box, tagClass[tagOfSite[tree.sites[i]]] ?? several);
    if (box > 0) join(tree.parent[box], classOf[box]);
  }
  return makeClasses(names, slotsOfTags(profile), (box) => classOf[box]);
}

export function classesOf(profile: Profile, tree: Tree, colouring: Colouring, { dataset, values }: Subject): Classes {
  if (colouring === "tag") return classesByTag(profile, tree, dataset.tag, values);
  if (colouring === "language") return classesByLanguage(profile, tree);
  return classesByKey(profile, tree, colouring);
}

/** The change of a box relative to its size, -1 to 1. */
export function relativeChange(tree: Tree, box: number): number {
  const whole = tree.widths === "change" ? tree.size[box] : Math.max(tree.before[box], tree.after[box]);
  return whole > 0 ? Math.max(-1, Math.min(1, boxValue(tree, box) / whole)) : 0;
}

/** The user can change their own code; all other code is paler. */
export function isPale(profile: Profile, key: number): boolean {
  return key >= 0 && key < profile.functions.count && profile.functions.role[key] !== Role.Own;
}

export interface LegendRow {
  name: string;
  area: number;
  slot: number | null;
  /** Most of its area belongs to libraries. */
  pale: boolean;
}

export interface Legend {
  rows: LegendRow[];
  others: number;
}

/** The classes that cover most of the graph, and how many others there are. */
export function legendOf(profile: Profile, tree: Tree, classes: Classes, most: number): Legend {
  const area = new Float64Array(classes.names.length);
  const pale = new Float64Array(classes.names.length);
  for (let box = 0; box < tree.count; box++) {
    const number = classes.of(box);
    if (number < 0) continue;
    area[number] += tree.size[box];
    if (isPale(profile, tree.key[box])) pale[number] += tree.size[box];
  }
  const rows = classes.names
    .map((name, i) => ({ name, area: area[i], slot: classes.slots[i], pale: 2 * pale[i] > area[i] }))
    .filter((row) => row.area > 0)
    .sort((a, b) => b.area - a.area || (a.name < b.name ? -1 : 1));
  return { rows: rows.slice(0, most), others: Math.max(0, rows.length - most) };
}

const NOISE_PART = 0.12; /* of the colour of a change */
const STEPS = 16; /* shades in each direction */

/** Changes that are within noise are paler. */
function paintChanges(tree: Tree, scheme: Scheme, isNoise: (box: number) => boolean): (box: number) => string {
  const fills = Array.from({ length: 2 * STEPS + 1 }, (_, step) => css(scheme.change(step / STEPS - 1)));
  return (box) => {
    const change = relativeChange(tree, box) * (isNoise(box) ? NOISE_PART : 1);
    return fills[Math.round(STEPS * change) + STEPS];
  };
}

/** The fill colour of each box, for the canvas; colours are made once. */
export function makePainter(
  profile: Profile,
  tree: Tree,
  classes: Classes,
  scheme: Scheme,
  isNoise: (box: number) => boolean,
): (box: number) => string {
  if (tree.widths !== "value") return paintChanges(tree, scheme, isNoise);
  const shades = classes.slots.map((slot) => [css(scheme.fill(slot, false)), css(scheme.fill(slot, true))]);
  const plain = css(scheme.fill(null, false));
  return (box) => shades[classes.of(box)]?.[isPale(profile, tree.key[box]) ? 1 : 0] ?? plain;
}

const Z = 1.96; /* 95% of a normal distribution lie within ± Z standard deviations */
const RULE_OF_THREE = 3; /* if three samples are expected, the probability of none is 5% */

/** Returns the sum of a value over the sites of a box. */
function sumBoxes(tree: Tree, value: (site: number) => number): (box: number) => number {
  const until = new Float64Array(tree.sites.length + 1);
  for (let i = 0; i < tree.sites.length; i++) until[i + 1] = until[i] + value(tree.sites[i]);
  return (box) => until[tree.siteEnd[box]] - until[tree.siteBegin[box]];
}

/** How much a profile may have without a sample of it; 0 if everything was counted. */
function hiddenIn({ sampling, totals }: Side, key: MetricKey): number {
  if (sampling.exact) return 0;
  const bytes = RULE_OF_THREE * sampling.interval_bytes;
  if (key.endsWith("_space")) return bytes;
  const size = totals.alloc_space.value / Math.max(1, totals.alloc_objects.value);
  return bytes / (size + sampling.call_charge);
}

/** How much may be unseen in a box: the sum over the profiles that have no sample in it. */
function findHidden(dataset: Dataset, key: MetricKey, tree: Tree): (box: number) => number {
  const { diff } = dataset.profile.header;
  if (!diff) return () => 0;
  const { samples } = dataset.amounts.allocated;
  const before = sumBoxes(tree, (site) => (site < dataset.base ? samples[site] : 0));
  const after = sumBoxes(tree, (site) => (site < dataset.base ? 0 : samples[site]));
  const [hiddenBefore, hiddenAfter] = [hiddenIn(diff.before, key), hiddenIn(diff.after, key)];
  return (box) => (before(box) > 0 ? 0 : hiddenBefore) + (after(box) > 0 ? 0 : hiddenAfter);
}

/** Whether a box changed by no more than its error. False if everything was counted. */
export function findNoise(dataset: Dataset, metric: Metric, tree: Tree): (box: number) => boolean {
  if (tree.widths === "value") return () => false;
  const { key } = metricInfo(metric);
  const variances = siteVariances(dataset.amounts, key);
  const variance = sumBoxes(tree, (site) => variances[site]);
  const hidden = findHidden(dataset, key, tree);
  return (box) => {
    const error = Z * Math.sqrt(Math.max(0, variance(box))) + hidden(box);
    return error > 0 && Math.abs(boxValue(tree, box)) <= error;
  };
}
