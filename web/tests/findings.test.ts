// SPDX-License-Identifier: MIT
// findings.test.ts - what stands out is what reports say stands out, in their order and by their names.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Advice, Leak } from "../src/data/header";
import { Role } from "../src/data/profile";
import { findFindings, type Finding } from "../src/model/findings";
import { buildProfile, type BuiltSite } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN, readGiven } from "./lib/given";

const MOST_REPORTED = 5;

/** As reports begin a line: "f (src/f.c:12) → std::make_shared holds". They write modules behind addresses. */
function beginning({ name, place, via, headline }: Finding): string {
  const [, module, address] = /^(.*)\+(0x[0-9a-f]+)$/.exec(name) ?? ["", place, name];
  return `${address} (${module})${via && ` → ${via}`} ${headline.split(" ")[0]}`;
}

function reported(name: string): string[] {
  const [, list] = /What stands out\n([^]*?)\n\n/.exec(`${readGiven(`${name}.report`)}\n\n`) ?? [];
  const lines = (list ?? "").replace(/\n {4}/g, " ").split("\n");
  return lines.filter((line) => /^ *\d+\. /.test(line)).map((line) => line.replace(/^ *\d+\. /, ""));
}

test("what stands out is what the report says", { skip: NOTHING_GIVEN }, () => {
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

test("ways through a library are told apart", () => {
  const { sites } = buildProfile({ sites: TWO_WAYS, functions: FUNCTIONS });
  const advice = Array.from(sites.node, (node) => advise(node));
  const profile = buildProfile({ sites: TWO_WAYS, functions: FUNCTIONS, header: { advice } });
  const leaks = findFindings(profile).filter(({ kind }) => kind === "leak");
  assert.deepEqual(leaks.map(({ name, via }) => `${name} → ${via}`), ["f → make_shared", "f → insert"]);
});

test("a function that has no name is the same in advice and by its weight: it is listed once", () => {
  const sites: BuiltSite[] = [
    { stack: ["main", "perl+0x1113", "malloc"], calls: 5, bytes: 500, live: { blocks: 5, bytes: 500 } },
  ];
  const { node } = buildProfile({ sites, functions: FUNCTIONS }).sites;
  const advice = [advise(node[0], { function: "0x1113", file: null, line: null })];
  const profile = buildProfile({ sites, functions: FUNCTIONS, header: { advice } });
  assert.deepEqual(findFindings(profile).map(({ kind, name }) => `${kind} ${name}`), ["leak perl+0x1113"]);
});

function leakAt(node: number, blocks: number, bytes: number): Leak {
  const exactly = (value: number) => ({ value, error: 0, low: value, high: value });
  const known = { stacks: 1, verdict: "once", evidence: "", bytes_per_s: null, first_s: null, last_s: null } as const;
  return { node, blocks: exactly(blocks), bytes: exactly(bytes), ...known };
}

test("nobody is accused of what is kept on purpose", () => {
  const sites: BuiltSite[] = [
    { stack: ["main", "kept"], calls: 9, bytes: 900, live: { blocks: 9, bytes: 900 } },
    { stack: ["main", "other"], calls: 5, bytes: 500, live: { blocks: 5, bytes: 500 } },
  ];
  const { node } = buildProfile({ sites }).sites;
  const suppressed = { stacks: 1, blocks: 9, bytes: 900 };
  const leaks = { ending: "exited", suppressed, items: [leakAt(node[1], 5, 500)], items_left_out: 0 } as const;
  const named = (header: object) => findFindings(buildProfile({ sites, header })).map(({ name }) => name);
  assert.ok(named({}).includes("kept"));
  assert.deepEqual(new Set(named({ leaks })), new Set(["other"]));
});
