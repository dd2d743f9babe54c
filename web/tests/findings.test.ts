// SPDX-License-Identifier: MIT
// findings.test.ts - findings are those of reports, in the same order and with the same names.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Advice, Leak } from "../src/data/header";
import { Role } from "../src/data/profile";
import { findFindings, type Finding } from "../src/model/overview/findings";
import { buildProfile, type BuiltSite } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN, readGiven } from "./lib/given";

const MOST_REPORTED = 5;

/** As a report begins the line: "f (src/f.c:12) → std::make_shared holds 2 MiB". It writes modules after addresses. */
function beginning({ name, place, via, caller, headline }: Finding): string {
  if (name === "") return headline; /* about the whole process */
  const [, module, address] = /^(.*)\+(0x[0-9a-f]+)$/.exec(name) ?? ["", place, name];
  return `${address} (${module})${via && ` → ${via}`}${caller} ${headline}`;
}

function reported(name: string): string[] {
  const [, list] = /What stands out\n([^]*?)\n\n/.exec(`${readGiven(`${name}.report`)}\n\n`) ?? [];
  const lines = (list ?? "").replace(/\n {4}/g, " ").split("\n");
  return lines.filter((line) => /^ *\d+\. /.test(line)).map((line) => line.replace(/^ *\d+\. /, ""));
}

test("the findings are those of the report", { skip: NOTHING_GIVEN }, () => {
  let seen = 0;
  for (const { name, open } of givenProfiles()) {
    const found = findFindings(open()).slice(0, MOST_REPORTED).map(beginning);
    const lines = reported(name);
    seen += lines.length;
    assert.deepEqual(found, lines.map((line, i) => line.slice(0, found[i]?.length)), name);
  }
  assert.ok(seen > 20, `${seen}`);
});

const LIBRARY = { role: Role.Library, module: "libstdc++.so" };
const FUNCTIONS = { malloc: { role: Role.Allocator }, make_shared: LIBRARY, insert: LIBRARY };

function advise(node: number, change: Partial<Advice> = {}): Advice {
  return {
    kind: "leak",
    node,
    function: "f",
    file: "f.c",
    line: 1,
    headline: "holds",
    other_nodes: [],
    evidence: "",
    action: "",
    gain_bytes: 0,
    gain_calls: 0,
    weight: 0.5,
    ...change,
  };
}

const TWO_WAYS: BuiltSite[] = ["make_shared", "insert"].map((library) => ({
  stack: ["main", "f f.c:1", library, "malloc"],
  calls: 10,
  bytes: 1000,
  live: { blocks: 10, bytes: 1000 },
}));

const SUMMED: BuiltSite[] = [
  ["main", "f f.c:1", "insert", "malloc"],
  ["main", "g g.c:7", "f f.c:1", "make_shared", "malloc"],
  ["main", "f f.c:2", "malloc"],
].map((stack) => ({ stack, calls: 10, bytes: 10_240, live: { blocks: 10, bytes: 10_240 } }));

test("the sum of a line is not called after one of its sites, and does not count other lines", () => {
  const [first] = findFindings(buildProfile({ sites: SUMMED, functions: FUNCTIONS }));
  assert.deepEqual([first.name, first.place, first.via], ["f", "f.c:1", ""]);
  assert.match(first.headline, /^held 20\.0 KiB: 66\.7% of .*, 1\.0 KiB a block on average, in 2 sites$/);
});

test("a line of one site is called after the library function that it calls", () => {
  const [first] = findFindings(buildProfile({ sites: SUMMED.slice(0, 1), functions: FUNCTIONS }));
  assert.deepEqual([first.name, first.place, first.via], ["f", "f.c:1", "insert"]);
  assert.doesNotMatch(first.headline, /sites/);
});

test("findings about one function differ in the library function that it calls", () => {
  const { sites } = buildProfile({ sites: TWO_WAYS, functions: FUNCTIONS });
  const advice = Array.from(sites.node, (node) => advise(node));
  const profile = buildProfile({ sites: TWO_WAYS, functions: FUNCTIONS, header: { advice } });
  const leaks = findFindings(profile).filter(({ kind }) => kind === "leak");
  assert.deepEqual(leaks.map(({ name, via }) => `${name} → ${via}`), ["f → make_shared", "f → insert"]);
});

test("findings that begin in one wrapper of malloc name the caller that tells them apart", () => {
  const built: BuiltSite[] = ["names n.c:3", "numbers n.c:9"].map((caller) => ({
    stack: ["main", caller, "f f.c:1", "malloc"],
    calls: 10,
    bytes: 1000,
    live: { blocks: 10, bytes: 1000 },
  }));
  const { sites } = buildProfile({ sites: built, functions: FUNCTIONS });
  const advice = Array.from(sites.node, (node) => advise(node));
  const callersOf = (kept: Advice[]) => {
    const profile = buildProfile({ sites: built, functions: FUNCTIONS, header: { advice: kept } });
    return findFindings(profile).filter(({ kind }) => kind === "leak").map(({ caller }) => caller);
  };
  assert.deepEqual(callersOf(advice), [" ← names (n.c:3)", " ← numbers (n.c:9)"]);
  assert.deepEqual(callersOf(advice.slice(0, 1)), [""]);
});

test("a function without a name that has advice is not listed again for its weight", () => {
  const sites: BuiltSite[] = [
    { stack: ["main", "perl+0x1113", "malloc"], calls: 5, bytes: 5000, live: { blocks: 5, bytes: 5000 } },
  ];
  const { node } = buildProfile({ sites, functions: FUNCTIONS }).sites;
  const found = (gain_bytes: number) => {
    const advice = [advise(node[0], { function: "0x1113", file: null, line: null, gain_bytes })];
    const profile = buildProfile({ sites, functions: FUNCTIONS, header: { advice } });
    return findFindings(profile).map(({ kind, name }) => `${kind} ${name}`);
  };
  assert.deepEqual(found(5000), ["leak perl+0x1113"]);
  /* Unless the leak is the smaller part. */
  assert.deepEqual(found(1000), ["leak perl+0x1113", "live perl+0x1113"]);
});

function leakAt(node: number, blocks: number, bytes: number): Leak {
  const exactly = (value: number) => ({ value, error: 0, low: value, high: value });
  const known = { stacks: 1, verdict: "once", evidence: "", bytes_per_s: null, first_s: null, last_s: null } as const;
  return { node, blocks: exactly(blocks), bytes: exactly(bytes), ...known };
}

test("suppressed memory is no finding", () => {
  const sites: BuiltSite[] = [
    { stack: ["main", "kept"], calls: 9, bytes: 9000, live: { blocks: 9, bytes: 9000 } },
    { stack: ["main", "other"], calls: 5, bytes: 5000, live: { blocks: 5, bytes: 5000 } },
  ];
  const { node } = buildProfile({ sites }).sites;
  const suppressed = { stacks: 1, blocks: 9, bytes: 9000 };
  const leaks = { ending: "exited", suppressed, items: [leakAt(node[1], 5, 5000)], items_left_out: 0 } as const;
  const named = (header: object) => findFindings(buildProfile({ sites, header })).map(({ name }) => name);
  assert.ok(named({}).includes("kept"));
  assert.deepEqual(new Set(named({ leaks })), new Set(["other"]));
});

test("a figure that is not known to within itself is no finding, although a block of it was counted", () => {
  const stack = ["main", "f f.c:1", "malloc"];
  const rare: BuiltSite = { stack, calls: 9, bytes: 90_000, live: { blocks: 9, bytes: 90_000 } };
  const counted: BuiltSite = { stack, calls: 1, bytes: 100, live: { blocks: 1, bytes: 100 } };
  const kinds = (samples: number) => findFindings(buildProfile({ sites: [{ ...rare, samples }, counted] }));
  assert.deepEqual(kinds(1), []);
  assert.ok(kinds(100).length > 0);
});

test("nobody is sent to addresses that a program has mapped", () => {
  const site = { stack: ["main", "f f.c:1", "mmap"], calls: 5, bytes: 5 << 20, live: { blocks: 5, bytes: 5 << 20 } };
  const peak = (addresses: boolean) => {
    const sites = [{ ...site, live: { blocks: 0, bytes: 0 }, peak: { blocks: 5, bytes: 5 << 20 } }];
    const held = findFindings(buildProfile({ sites, addresses })).find(({ metric }) => metric === "peak");
    return held?.headline ?? "";
  };
  assert.match(peak(false), /^held 5\.0 MiB when the heap was largest.*begin here$/);
  assert.match(peak(true), /^held 5\.0 MiB when the heap was largest.* on average$/);
});

const HOLDER: BuiltSite = {
  stack: ["main", "hold f.c:1", "malloc"],
  calls: 10,
  bytes: 1 << 20,
  live: { blocks: 10, bytes: 1 << 20 },
};

test("the line that holds most of the memory comes before findings about calls", () => {
  const sites: BuiltSite[] = [HOLDER, { stack: ["main", "call f.c:9", "malloc"], calls: 99990, bytes: 1 << 20 }];
  const { sites: built } = buildProfile({ sites, functions: FUNCTIONS });
  const advice = [advise(built.node[1], { kind: "reuse", weight: 0.99 })];
  const found = findFindings(buildProfile({ sites, functions: FUNCTIONS, header: { advice } }));
  assert.deepEqual(found.slice(0, 2).map(({ kind, name }) => [kind, name]), [
    ["live", "hold"],
    ["reuse", "call"],
  ]);
});

test("few calls and few bytes are no findings, whatever their share", () => {
  const found = (calls: number, bytes: number) =>
    findFindings(
      buildProfile({ sites: [HOLDER, { stack: ["main", "call f.c:9", "malloc"], calls, bytes }], functions: FUNCTIONS }),
    ).filter(({ name }) => name === "call");
  assert.deepEqual(found(9000, 100).map(({ kind }) => kind), []);
  assert.deepEqual(found(11000, 100).map(({ kind }) => kind), ["calls"]);
  const held = (bytes: number) =>
    findFindings(buildProfile({ sites: [{ ...HOLDER, bytes, live: { blocks: 10, bytes } }] }));
  assert.deepEqual(held(4000), []);
  assert.ok(held(5000).length > 0);
});
