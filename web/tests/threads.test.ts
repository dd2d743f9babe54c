// SPDX-License-Identifier: MIT
// threads.test.ts - threads by name: groups add up to the total, and exact counters take precedence.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Profile } from "../src/data/profile";
import { wholeDataset } from "../src/model/figures/dataset";
import { includedSites, type Narrowing } from "../src/model/figures/narrow";
import { tabulateThreads, type ThreadTable } from "../src/model/tags/threads";
import { buildProfile } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN } from "./lib/given";

const ALL: Narrowing = { tag: null, thread: null, focus: [], hide: [] };

function made(): Profile {
  const profile = buildProfile({
    sites: [
      { stack: ["main", "read"], thread: "main", calls: 3, bytes: 30, live: { blocks: 1, bytes: 10 } },
      { stack: ["work"], thread: "a", tag: "job", calls: 10, bytes: 1000 },
      { stack: ["work"], thread: "b", calls: 20, bytes: 500, live: { blocks: 5, bytes: 50 } },
    ],
  });
  profile.header.threads.forEach((thread, index) => {
    if (thread.name !== "main") thread.name = "worker";
    thread.calls = [3, 10, 20][index];
    thread.bytes = [30, 1000, 500][index];
    thread.functions.malloc = thread.calls;
    thread.start_s = index;
    thread.end_s = index === 0 ? null : index + 4;
    thread.alive = index === 0;
  });
  profile.scopes = {
    count: 3,
    thread: Uint32Array.of(0, 1, 2),
    tag: Uint32Array.of(0, 1, 0),
    entered: Float64Array.of(0, 2, 0),
    calls: Float64Array.of(3, 10, 20),
    bytes: Float64Array.of(30, 1000, 500),
  };
  return profile;
}

function tabulate(profile: Profile, narrowing: Partial<Narrowing> = {}): ThreadTable {
  const dataset = wholeDataset(profile);
  const state = { ...ALL, ...narrowing };
  return tabulateThreads(dataset, includedSites(dataset, state), state, "alloc_space");
}

describe("threads", () => {
  test("of one name are one row, and the heaviest comes first", () => {
    const { groups, unfold } = tabulate(made());
    assert.deepEqual(groups.map((row) => [row.name, row.threads, row.value]), [["worker", 2, 1500], ["main", 1, 30]]);
    assert.deepEqual(unfold(groups[0]).map((row) => row.value), [1000, 500]);
    assert.equal(groups[0].start_s, 1);
    assert.equal(groups[0].end_s, 6);
    assert.equal(groups[1].end_s, null);
    assert.equal(groups[1].alive, 1);
    assert.equal(groups[0].functions.malloc, 30);
  });

  test("groups add up to the total", () => {
    const { groups, total } = tabulate(made());
    for (const key of ["alloc_space", "alloc_objects", "inuse_space"] as const)
      assert.equal(groups.reduce((sum, row) => sum + row.estimates[key].value, 0), total[key].value);
    assert.equal(total.alloc_space.value, 1530);
  });

  test("under a tag, figures are those of its scopes", () => {
    const { groups, total, exact, functions } = tabulate(made(), { tag: 1 });
    assert.equal(total.alloc_space.value, 1000);
    assert.deepEqual(groups.map((row) => row.value), [1000, 0]);
    assert.ok(exact);
    assert.ok(!functions);
  });

  test("after a kill, sites may have more calls than counters, and are used instead", () => {
    const profile = made();
    profile.header.threads[1].bytes = 0;
    assert.equal(tabulate(profile).total.alloc_space.value, 1530);
  });
});

describe("threads of real profiles", { skip: NOTHING_GIVEN }, () => {
  for (const given of givenProfiles().filter((each) => !each.exported().extent.difference))
    test(`${given.name}: threads add up to the totals of the export`, () => {
      const profile = given.open();
      const { groups, total, exact } = tabulate(profile);
      assert.ok(exact);
      const { totals } = given.exported();
      assert.equal(total.alloc_objects.value, totals.alloc_objects.value);
      assert.equal(total.alloc_space.value, totals.alloc_space.value);
      assert.equal(groups.reduce((sum, row) => sum + row.estimates.alloc_space.value, 0), totals.alloc_space.value);
      assert.equal(groups.reduce((sum, row) => sum + row.members.length, 0), profile.header.threads.length);
    });
});
