// SPDX-License-Identifier: MIT
// layers.test.ts - who held the heap over time.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Snapshot } from "../src/data/header";
import { Role } from "../src/data/profile";
import {
  assignSlots,
  heldBy,
  knownMoments,
  LAYERS,
  makeLayers,
  progressOf,
  sitesThrough,
  spreadRows,
  stackLayers,
} from "../src/model/time/layers";
import { buildProfile, type BuiltSite } from "./lib/build";

function snapshot(time_s: number, live_bytes: number, more: Partial<Snapshot> = {}): Snapshot {
  return {
    time_s,
    live_bytes,
    live_blocks: 1,
    left_out_bytes: 0,
    allocated_bytes: live_bytes,
    calls: 1,
    others_allocated: 0,
    others_calls: 0,
    others_bytes: 0,
    others_objects: 0,
    unnamed_bytes: 0,
    unnamed_calls: 0,
    ...more,
  };
}

const SITES: BuiltSite[] = [
  { stack: ["main", "load", "malloc"], calls: 10, bytes: 1000, live: { blocks: 4, bytes: 400 }, tag: "request" },
  {
    stack: ["main", "load", "helper", "malloc"],
    calls: 10,
    bytes: 500,
    live: { blocks: 1, bytes: 100 },
    tag: "request/parse",
  },
  { stack: ["main", "keep", "malloc"], calls: 1, bytes: 50, live: { blocks: 1, bytes: 50 } },
];

/** A profile in which both snapshots name sites 0 and 1, and none names site 2. */
function made() {
  const share = (snapshot: number, site: number, bytes: number) => ({
    snapshot,
    site,
    blocks: 1,
    bytes,
    calls: 1,
    allocated: bytes,
  });
  return buildProfile({
    sites: SITES,
    functions: { malloc: { role: Role.Allocator }, helper: { role: Role.Library } },
    snapshots: [snapshot(2, 330, { others_bytes: 0.6 }), snapshot(6, 700)],
    shares: [share(0, 0, 200), share(0, 1, 100), share(1, 0, 500), share(1, 1, 150)],
  });
}

test("the composition of the heap is known at the start, at snapshots and at the end", () => {
  assert.deepEqual(knownMoments(made()).time, [0, 2, 6, 10]);
});

test("sites of one name are one layer, and all layers add up to live memory", () => {
  const { layers, others } = makeLayers(made(), "site");
  assert.deepEqual(
    layers.map((layer) => layer.name),
    ["load", "load → helper", "keep"],
  );
  assert.deepEqual([...layers[0].bytes], [0, 200, 500, 400]);
  assert.deepEqual([...layers[1].bytes], [0, 100, 150, 100]);
  assert.deepEqual([...layers[2].bytes], [0, 0, 0, 50]);
  assert.deepEqual([...others], [0, 30, 50, 0]);
});

test("by tag, sites without a tag are a layer of their own", () => {
  const { layers } = makeLayers(made(), "tag");
  assert.deepEqual(
    layers.map((layer) => layer.name),
    ["request", "request/parse", "(no tag)"],
  );
  assert.deepEqual([...layers[1].bytes], [0, 100, 150, 100]);
});

test("only the heaviest sites are layers; the layer of others has the rest", () => {
  const sites = Array.from({ length: 20 }, (_, i): BuiltSite => ({
    stack: [`f${i}`],
    calls: 1,
    bytes: i + 1,
    live: { blocks: 1, bytes: i + 1 },
  }));
  const { layers, others } = makeLayers(buildProfile({ sites }), "site");
  assert.equal(layers.length, LAYERS);
  assert.equal(layers[0].name, "f19");
  assert.equal(others.at(-1), (12 * 13) / 2);
});

test("snapshots may be in any order", () => {
  const share = (snapshot: number, bytes: number) => ({
    snapshot,
    site: 0,
    blocks: 1,
    bytes,
    calls: 1,
    allocated: bytes,
  });
  const profile = buildProfile({
    sites: [SITES[2]],
    snapshots: [snapshot(6, 50), snapshot(2, 20)],
    shares: [share(0, 50), share(1, 20)],
  });
  assert.deepEqual([...makeLayers(profile, "site").layers[0].bytes], [0, 20, 50, 50]);
});

test("what some sites held includes an estimate for those that a snapshot does not name", () => {
  const profile = made();
  assert.deepEqual([...heldBy(profile, Uint8Array.of(1, 1, 0))], [0, 300, 650, 500]);
  assert.deepEqual([...heldBy(profile, Uint8Array.of(0, 0, 1))], [0, 30, 0, 50]);
});

test("stacks through a function include those of its callees", () => {
  const profile = made();
  const named = (name: string) =>
    Array.from({ length: profile.functions.count }, (_, i) => i).find((i) => profile.functionName(i) === name) ?? -1;
  assert.deepEqual([...sitesThrough(profile, named("load"))], [1, 1, 0]);
  assert.deepEqual([...sitesThrough(profile, named("main"))], [1, 1, 1]);
  assert.deepEqual([...sitesThrough(profile, named("helper"))], [0, 1, 0]);
});

test("a layer keeps its colour while others come and go, and no two layers have the same colour", () => {
  const first = assignSlots(new Map(), ["a", "b", "c"]);
  const second = assignSlots(first, ["x", "y", "c", "z", "a"]);
  assert.equal(second.get("a"), first.get("a"));
  assert.equal(second.get("c"), first.get("c"));
  assert.equal(new Set(second.values()).size, 5);
  const full = assignSlots(
    new Map(),
    Array.from({ length: LAYERS }, (_, i) => `f${i}`),
  );
  assert.equal(new Set(full.values()).size, LAYERS);
  for (const slot of full.values()) assert.ok(slot >= 0 && slot < LAYERS);
});

test("the colour of a single layer depends on its name alone", () => {
  assert.deepEqual(assignSlots(new Map(), ["index_add_term"]), assignSlots(new Map(), ["index_add_term"]));
});

test("between known times, shares change when live memory does, and layers add up to it", () => {
  const time = [0, 1, 2, 3, 4, 5];
  const live = [0, 100, 100, 100, 300, 300];
  const known = [0, 2, 5];
  const total = [0, 100, 300];
  const progress = progressOf(time, live, known);
  const first = spreadRows(progress, live, total, [0, 80, 60]);
  const others = spreadRows(progress, live, total, [0, 20, 240]);
  assert.deepEqual(first.map(Math.round), [0, 80, 80, 80, 60, 60]);
  assert.deepEqual(stackLayers([first, others])[1].map(Math.round), live);
});

test("while live memory is constant, shares are interpolated linearly", () => {
  const progress = progressOf([0, 1, 2], [50, 50, 50], [0, 2]);
  assert.deepEqual(spreadRows(progress, [50, 50, 50], [50, 50], [0, 40]), [0, 20, 40]);
});

test("while live memory is constant, progress is proportional to time", () => {
  const { moment, part } = progressOf([0, 1, 2, 4], [5, 5, 5, 5], [0, 4]);
  assert.deepEqual([...moment], [0, 0, 0, 1]);
  assert.deepEqual([...part], [0, 0.25, 0.5, 0]);
});
