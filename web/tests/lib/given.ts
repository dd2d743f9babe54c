// SPDX-License-Identifier: MIT
// given.ts - what tests/page/model.py gives to tests: real profiles with what plimsoll itself says of them.

import fs from "node:fs";
import path from "node:path";
import type { Estimate, Estimates, Header } from "../../src/data/header";
import { openProfile, type Profile } from "../../src/data/profile";
import { METRICS } from "../../src/model/metric";
import type { Narrowing } from "../../src/model/narrow";

const DIRECTORY = process.env["PLIMSOLL_MODEL"];

/** For `test(…, {skip})`. */
export const NOTHING_GIVEN: string | false = DIRECTORY ? false : "tests/page/model.py gives it profiles";

interface ExportedSite extends Estimates {
  stack: number | null;
  thread: number;
  tag: number;
}

/** The JSON export, as far as tests look at it. */
export type Exported = Pick<Header, "extent" | "totals" | "sampling"> & { sites: ExportedSite[] };

export interface Part {
  /** Of a tag the path, of functions the names. */
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

/** Profiles compared with each other. */
export function givenDifferences(): Given[] {
  return givenIf(({ difference }) => difference);
}

const ENDS: readonly (keyof Estimate)[] = ["value", "error", "low", "high"];

/** The same, but for what adding in another order makes of the last digits; relative to the largest of the figure. */
export function isNear(one: Estimate, other: Estimate, tolerance = 1e-9): boolean {
  const size = Math.max(Math.abs(other.value), Math.abs(other.high), Math.abs(other.low));
  return ENDS.every((end) => Math.abs(one[end] - other[end]) <= tolerance * size);
}

/** What differs, in words; nothing if nothing does. */
export function differences(who: string, one: Estimates, other: Estimates, tolerance?: number): string[] {
  return METRICS.filter(({ key }) => !isNear(one[key], other[key], tolerance)).map(
    ({ key }) => `${who} ${key}: ${JSON.stringify(one[key])} is not ${JSON.stringify(other[key])}`,
  );
}
