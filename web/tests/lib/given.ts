// SPDX-License-Identifier: MIT
// given.ts - the input that tests/page/model.py makes for tests: real profiles, with reports and exports of them.

import fs from "node:fs";
import path from "node:path";
import type { Estimate, Estimates, Header } from "../../src/data/header";
import { openProfile, type Profile } from "../../src/data/profile";
import { METRICS } from "../../src/model/figures/metric";
import type { Narrowing } from "../../src/model/figures/narrow";

const DIRECTORY = process.env["PLIMSOLL_MODEL"];

/** For `test(…, {skip})`. */
export const NOTHING_GIVEN: string | false = DIRECTORY ? false : "needs profiles from tests/page/model.py";

interface ExportedSite extends Estimates {
  stack: number | null;
  thread: number;
  tag: number;
}

/** The parts of the JSON export that tests use. */
export type Exported = Pick<Header, "extent" | "totals" | "sampling"> & { sites: ExportedSite[] };

export interface Part {
  /** A tag is given by its path, functions by their names. */
  narrowing: Omit<Narrowing, "tag"> & { tag: string | null };
  since: number | null;
  until: number | null;
  exported: () => Exported;
}

export interface Given {
  name: string;
  open: () => Profile;
  exported: () => Exported;
  parts: Part[];
}

interface Listed {
  name: string;
  difference: boolean;
  page: string;
  json: string;
  parts: (Omit<Part, "exported"> & { json: string })[];
}

function readJson<T>(file: string): T {
  return JSON.parse(fs.readFileSync(file, "utf8")) as T;
}

export function readGiven(file: string): string {
  return fs.readFileSync(path.join(DIRECTORY ?? "", file), "utf8");
}

/** A file of the tree. */
export function readSource(file: string): string {
  return fs.readFileSync(path.join(process.env["PLIMSOLL_SOURCE"] ?? "", file), "utf8");
}

function givenIf(which: (listed: Listed) => boolean): Given[] {
  const listed = DIRECTORY ? readJson<Listed[]>(path.join(DIRECTORY, "profiles.json")) : [];
  return listed.filter(which).map(({ name, page, json, parts }) => ({
    name,
    open: () => openProfile(new Uint8Array(fs.readFileSync(page))),
    exported: () => readJson<Exported>(json),
    parts: parts.map((part) => ({ ...part, exported: () => readJson<Exported>(part.json) })),
  }));
}

export function givenProfiles(): Given[] {
  return givenIf(({ difference }) => !difference);
}

/** Differences of two profiles. */
export function givenDifferences(): Given[] {
  return givenIf(({ difference }) => difference);
}

const ENDS: readonly (keyof Estimate)[] = ["value", "error", "low", "high"];

/** Equal up to rounding errors of sums, relative to the largest part of the figure. */
export function isNear(one: Estimate, other: Estimate, tolerance = 1e-9): boolean {
  const size = Math.max(Math.abs(other.value), Math.abs(other.high), Math.abs(other.low));
  return ENDS.every((end) => Math.abs(one[end] - other[end]) <= tolerance * size);
}

/** Descriptions of all differences. */
export function differences(who: string, one: Estimates, other: Estimates, tolerance?: number): string[] {
  return METRICS.filter(({ key }) => one[key] && other[key] && !isNear(one[key], other[key], tolerance)).map(
    ({ key }) => `${who} ${key}: ${JSON.stringify(one[key])} is not ${JSON.stringify(other[key])}`,
  );
}
