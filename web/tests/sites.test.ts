// SPDX-License-Identifier: MIT
// sites.test.ts - which stacks are one site, and the figures of sites and lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Role, type Profile } from "../src/data/profile";
import { intervalDataset, wholeDataset, type Dataset } from "../src/model/figures/dataset";
import { isVague } from "../src/model/figures/format";
import { isChange, members } from "../src/model/figures/groups";
import { hasLine, linesOfFunction, sumLines } from "../src/model/tables/lines";
import {
  makeSiteRows,
  meanSizes,
  namesOf,
  sizesOf,
  stacksOf,
  temporaryShares,
  type SiteRows,
} from "../src/model/tables/sites";
import { callersAt, foldSites, ownNodeOf, placeLocation, placeName, printStack } from "../src/model/tables/stacks";
import { buildProfile, type Built, type BuiltSite } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN, readGiven } from "./lib/given";

const FUNCTIONS: NonNullable<Built["functions"]> = {
  malloc: { role: Role.Allocator, module: "/lib/libc.so.6" },
  strdup: { role: Role.Library, module: "/lib/libc.so.6" },
  qsort: { role: Role.Library, module: "/lib/libc.so.6" },
  msort: { role: Role.Library, module: "/lib/libc.so.6" },
  _start: { role: Role.Start },
};

type Said = Partial<BuiltSite> & { stack: string[] };

/** A stack as a string is innermost first, as in reports: "malloc < f f.c:3 < main". */
function build(stacks: (string | Said)[], more: Partial<Built> = {}): Profile {
  const said = (site: string | Said) => (typeof site === "string" ? { stack: site.split(" < ").reverse() } : site);
  const sites = stacks.map((site) => ({ calls: 1, bytes: 10, ...said(site) }));
  return buildProfile({ sites, functions: FUNCTIONS, ...more });
}

function rowsOf(dataset: Dataset): SiteRows {
  return makeSiteRows(dataset, new Uint8Array(dataset.count).fill(1));
}

/** Rows as texts: "name → via ← caller …", as a report would print them. */
function words(profile: Profile): string[] {
  const folding = foldSites(profile);
  return Array.from({ length: folding.count }, (_, row) => {
    const [own, ...callers] = folding.path(row);
    const via = folding.via[row] ? ` → ${profile.text(folding.via[row])}` : "";
    return `${placeName(profile, own)}${via}${callers.map((place) => ` ← ${placeName(profile, place)}`).join("")}`;
  });
}

test("a site is named after the program's own function, and has the library function that it called", () => {
  assert.deepEqual(words(build(["malloc < strdup < parse < main < _start"])), ["parse → strdup ← main"]);
  assert.deepEqual(words(build(["malloc < parse < main < _start"])), ["parse ← main"]);
});

test("stacks that look the same are one site, whatever their threads and tags", () => {
  const profile = build([
    { stack: ["main", "parse", "malloc"], thread: "a", tag: "x" },
    { stack: ["main", "parse", "malloc"], thread: "b", tag: "y" },
    { stack: ["main", "parse", "strdup", "malloc"] },
  ]);
  assert.deepEqual(Array.from(foldSites(profile).ofSite), [0, 0, 1]);
});

test("sites differ in lines and callers", () => {
  const profile = build(["malloc < f f.c:1 < main", "malloc < f f.c:2 < main", "malloc < f f.c:1 < g < main"]);
  assert.equal(foldSites(profile).count, 3);
});

test("the depth of recursion is ignored", () => {
  const profile = build([
    "malloc < f < f < f < main",
    "malloc < f < main",
    "malloc < f < g < f < g < f < g < main",
    "malloc < f < g < main",
  ]);
  assert.deepEqual(words(profile), ["f ← main", "f ← g ← main"]);
});

test("a function that calls itself from another line is named once", () => {
  assert.deepEqual(words(build(["malloc < f f.c:1 < g g.c:7 < g g.c:9 < main"])), ["f ← g ← main"]);
});

test("of consecutive library frames only the outermost is kept", () => {
  const profile = build(["malloc < compare < msort < qsort < sort_all < main"]);
  assert.deepEqual(words(profile), ["compare ← qsort ← sort_all ← main"]);
});

test("sites differ in their first six frames only", () => {
  const profile = build([
    "malloc < a < b < c < d < e < f < g < main",
    "malloc < a < b < c < d < e < f < h < main",
    "malloc < a < b < c < d < e < x < h < main",
  ]);
  assert.equal(foldSites(profile).count, 2);
});

test("a very deep stack is folded as a whole", () => {
  const libraries = Array.from({ length: 80 }, (_, i) => (i % 2 ? `msort s.c:${i}` : `qsort s.c:${i}`));
  const profile = build([["malloc", "own", ...libraries, "caller", "main"].join(" < ")]);
  assert.deepEqual(words(profile), ["own ← msort ← caller ← main"]);
});

test("figures of a row are the sums over its stacks", () => {
  const profile = build([
    { stack: ["main", "f", "malloc"], calls: 3, bytes: 30, live: { blocks: 1, bytes: 10 }, temporary: 2, thread: "a" },
    { stack: ["main", "f", "malloc"], calls: 1, bytes: 70, thread: "b" },
    { stack: ["main", "g", "malloc"], calls: 5, bytes: 5 },
  ]);
  const rows = rowsOf(wholeDataset(profile));
  assert.deepEqual(Array.from(rows.values("calls")), [4, 5]);
  assert.deepEqual(Array.from(rows.values("allocated")), [100, 5]);
  assert.deepEqual(Array.from(temporaryShares(rows)), [0.5, 0]);
  assert.deepEqual(rows.estimates(0).alloc_space, { value: 100, error: 0, low: 100, high: 100 });
  assert.deepEqual(namesOf(rows, 0, "allocated", "thread"), ["b", "a"]);
  assert.deepEqual(stacksOf(rows, 0, "calls").map((stack) => stack.value), [4]);
});

test("figures of a sampled profile have errors", () => {
  const rows = rowsOf(wholeDataset(build([{ stack: ["main", "f", "malloc"], calls: 100, bytes: 1000, samples: 10 }])));
  const { value, error } = rows.estimates(0).alloc_space;
  assert.equal(value, 1000);
  assert.ok(error > 0);
});

test("excluded sites have no row", () => {
  const dataset = wholeDataset(build(["malloc < f < main", "malloc < g < main"]));
  const rows = makeSiteRows(dataset, Uint8Array.from([0, 1]));
  assert.equal(rows.count, 1);
  assert.deepEqual(Array.from(members(rows.groups, 0)), [1]);
});

test("in a difference, sites of the first profile count negatively, in the row of the same site of the second", () => {
  const profile = build(
    [
      { stack: ["main", "f", "malloc"], bytes: 30, before: true },
      { stack: ["main", "f", "malloc"], bytes: 100 },
    ],
    { difference: true },
  );
  const dataset = wholeDataset(profile);
  const rows = rowsOf(dataset);
  assert.deepEqual(Array.from(rows.values("allocated")), [70]);
  assert.deepEqual(Array.from(meanSizes(rows)), [100]);
  assert.equal(rows.estimates(0).alloc_space.value, 70);
  assert.ok(isChange(dataset, "allocated"));
});

test("an interval has rows only for sites that changed in it", () => {
  const others = {
    others_allocated: 0,
    others_calls: 0,
    others_bytes: 0,
    others_objects: 0,
    unnamed_bytes: 0,
    unnamed_calls: 0,
  };
  const moment = { live_bytes: 0, live_blocks: 0, left_out_bytes: 0, ...others };
  const profile = build(
    [
      { stack: ["main", "early", "malloc"], calls: 1, bytes: 10 },
      { stack: ["main", "late", "malloc"], calls: 1, bytes: 10 },
    ],
    {
      snapshots: [{ ...moment, time_s: 5, allocated_bytes: 10, calls: 1 }],
      shares: [{ snapshot: 0, site: 0, blocks: 0, bytes: 0, calls: 1, allocated: 10 }],
    },
  );
  const dataset = intervalDataset(profile, 5, 10);
  const rows = rowsOf(dataset);
  assert.deepEqual(Array.from(rows.folded, (row) => placeName(profile, rows.folding.place[row])), ["late"]);
  assert.ok(isChange(dataset, "live") && !isChange(dataset, "allocated"));
});

test("sizes of a row are summed over its stacks", () => {
  const profile = build(
    [
      { stack: ["main", "f", "malloc"], sizes: { 1: 2, 3: 1 } },
      { stack: ["main", "g", "malloc"], sizes: { 1: 100 } },
      { stack: ["main", "f", "malloc"], thread: "b", sizes: { 1: 5 } },
    ],
    { header: { scales: { unit_s: null, sizes_from: [0, 16, 32, 64], lifetimes_from_s: [], ages_until_s: [] } } },
  );
  assert.deepEqual(Array.from(sizesOf(rowsOf(wholeDataset(profile)), 0).counts), [0, 7, 0, 1]);
});

test("the last node of a stack gives the function that it is named after, and its callers", () => {
  const profile = build(["malloc < strdup < f f.c:3 < g < g < main"]);
  const node = profile.sites.node[0];
  assert.equal(callersAt(profile, node), "← g ← main");
  assert.equal(placeName(profile, profile.nodes.place[ownNodeOf(profile, node)]), "f");
  assert.equal(ownNodeOf(profile, profile.sites.own[0]), profile.sites.own[0]);
});

test("a stack is printed innermost first, with files and lines", () => {
  const profile = build(["malloc < f f.c:3 < main main.c:9"]);
  assert.equal(printStack(profile, profile.sites.node[0]), "malloc\nf  f.c:3\nmain  main.c:9");
  assert.equal(placeLocation(profile, foldSites(profile).place[0]), "f.c:3");
});

test("a line has its own figure and that with callees, in which recursion counts once", () => {
  const profile = build(["malloc < f f.c:3 < f f.c:5 < f f.c:5 < main main.c:9", "malloc < main main.c:9"], {
    header: {
      sources: [
        { file: "f.c", younger: false, first: 1, lines: ["", "", "", "", ""] },
        { file: "main.c", younger: false, first: 9, lines: [""] },
      ],
    },
  });
  const dataset = wholeDataset(profile);
  const lines = sumLines(dataset, dataset.values("allocated"));
  assert.deepEqual([lines.own("f.c", 3), lines.through("f.c", 3)], [10, 10]);
  assert.deepEqual([lines.own("f.c", 5), lines.through("f.c", 5)], [0, 10]);
  assert.deepEqual([lines.own("main.c", 9), lines.through("main.c", 9)], [10, 20]);
  assert.deepEqual([lines.own("f.c", 4), lines.own("g.c", 3)], [0, 0]);
  assert.deepEqual(linesOfFunction(profile, profile.places.function[foldSites(profile).place[0]]), [3, 5]);
  assert.ok(hasLine(profile.header.sources[0], 5) && !hasLine(profile.header.sources[0], 6));
});

/** The calls in each line of `plimsoll report --metric=calls`. */
function reportedCalls(report: string): number[] {
  const table = report.split("\nCalls ")[1] ?? "";
  const lines = table.matchAll(/^ {2}[ █▉▊▋▌▍▎▏]{8} +([\d,]+)(?: ± [\d,]+)? +[\d.]+% /gm);
  return Array.from(lines, ([, calls]) => Number(calls.replaceAll(",", ""))).sort((a, b) => a - b);
}

test("rows are the lines of a report", { skip: NOTHING_GIVEN }, () => {
  for (const given of givenProfiles()) {
    const reported = reportedCalls(readGiven(`${given.name}.digits.report`));
    const rows = rowsOf(wholeDataset(given.open()));
    const certain = (value: number, row: number) => value > 0 && !isVague(rows.estimates(row).alloc_objects);
    const calls = Array.from(rows.values("calls")).filter(certain); /* a vague one is written as "at most" */
    assert.deepEqual(calls.map(Math.round).sort((a, b) => a - b), reported, given.name);
    assert.ok(reported.length > 0 || given.name === "forged-empty", given.name);
  }
});
