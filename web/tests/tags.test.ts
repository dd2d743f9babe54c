// SPDX-License-Identifier: MIT
// tags.test.ts - the tag tree: self and total add up, scopes take precedence, and treemaps have the same figures.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Estimates } from "../src/data/header";
import { Role, type Profile, type Scopes } from "../src/data/profile";
import { boxesOf, modulesOf, type Box } from "../src/model/tags/treemap";
import { wholeDataset } from "../src/model/figures/dataset";
import { includedSites, type Narrowing } from "../src/model/figures/narrow";
import { chosenTag, growTags, hotRows, scopesApply, tagName, tagPath, type TagTree } from "../src/model/tags/tags";
import type { Metric } from "../src/model/figures/metric";
import { buildProfile, type BuiltSite } from "./lib/build";
import { differences, givenProfiles, NOTHING_GIVEN, readGiven } from "./lib/given";

const ALL: Narrowing = { tag: null, thread: null, focus: [], hide: [] };

const SITES: BuiltSite[] = [
  { stack: ["main", "boot"], calls: 2, bytes: 20, live: { blocks: 2, bytes: 20 } },
  { stack: ["main", "parse"], tag: "request/parse", calls: 30, bytes: 3000, live: { blocks: 1, bytes: 100 } },
  { stack: ["main", "answer"], tag: "request/answer", thread: "worker", calls: 50, bytes: 800 },
  { stack: ["main", "accept"], tag: "request", thread: "worker", calls: 5, bytes: 50, live: { blocks: 5, bytes: 50 } },
  { stack: ["main", "index"], tag: "index", calls: 1, bytes: 5000, live: { blocks: 1, bytes: 5000 } },
];

/** thread, tag, entered, calls, bytes */
function scopesOf(rows: [number, number, number, number, number][]): Scopes {
  return {
    count: rows.length,
    thread: Uint32Array.from(rows, (row) => row[0]),
    tag: Uint32Array.from(rows, (row) => row[1]),
    entered: Float64Array.from(rows, (row) => row[2]),
    calls: Float64Array.from(rows, (row) => row[3]),
    bytes: Float64Array.from(rows, (row) => row[4]),
  };
}

function tagAt(profile: Profile, path: string): number {
  return profile.header.tags.findIndex((tag) => (tag.path ?? "") === path);
}

function grow(profile: Profile, metric: Metric, narrowing: Partial<Narrowing> = {}): TagTree {
  const dataset = wholeDataset(profile);
  const state = { ...ALL, ...narrowing };
  const included = includedSites(dataset, state);
  const sign = (site: number) => (!included[site] ? 0 : site < dataset.base ? -1 : 1);
  const values = dataset.values(metric).map((value, site) => sign(site) * value);
  return growTags(dataset, values, included, {
    tag: chosenTag(profile, state.tag),
    thread: state.thread,
    metric,
    scopes: scopesApply(dataset, state),
  });
}

function rowOf(tree: TagTree, profile: Profile, path: string): number {
  return tree.tag.indexOf(tagAt(profile, path));
}

function withScopes(): Profile {
  const profile = buildProfile({ sites: SITES });
  const at = (path: string) => tagAt(profile, path);
  profile.scopes = scopesOf([
    [0, 0, 0, 2, 20],
    [0, at("request/parse"), 3, 30, 3000],
    [1, at("request/answer"), 4, 50, 800],
    [1, at("request"), 7, 5, 50],
    [0, at("index"), 1, 1, 5000],
  ]);
  return profile;
}

describe("the tag tree", () => {
  test("a total is self and the totals below", () => {
    const profile = withScopes();
    for (const metric of ["live", "allocated", "calls"] as const) {
      const tree = grow(profile, metric);
      for (let row = 0; row < tree.count; row++) {
        let sum = tree.self[row];
        for (let other = 1; other < tree.count; other++) if (tree.parent[other] === row) sum += tree.total[other];
        assert.equal(tree.total[row], sum);
      }
    }
  });

  test("a parent is followed by all tags below it, the heaviest first", () => {
    const profile = withScopes();
    const tree = grow(profile, "allocated");
    const names = [...tree.tag].map((tag) => tagName(profile, tag));
    assert.deepEqual(names, ["(no tag)", "index", "request", "parse", "answer"]);
    assert.deepEqual([...tree.below], [4, 0, 2, 0, 0]);
    assert.deepEqual([...tree.depth], [0, 1, 1, 2, 2]);
    assert.deepEqual([...tree.parent], [0, 0, 0, 2, 2]);
  });

  test("estimates have the same values as the tree", () => {
    const profile = withScopes();
    const tree = grow(profile, "live");
    for (let row = 0; row < tree.count; row++) {
      assert.equal(tree.estimateTotal(row).inuse_space.value, tree.total[row]);
      assert.equal(tree.estimateSelf(row).inuse_space.value, tree.self[row]);
    }
    assert.equal(tree.estimateTotal(rowOf(tree, profile, "request")).alloc_objects.value, 85);
    assert.equal(tree.estimateTotal(0).alloc_space.value, profile.header.totals.alloc_space.value);
  });

  test("entries of a tag are those of its scopes in the chosen threads", () => {
    const profile = withScopes();
    const all = grow(profile, "calls");
    assert.equal(all.entered[rowOf(all, profile, "request")], 7);
    const worker = grow(profile, "calls", { thread: "worker" });
    assert.equal(worker.entered[rowOf(worker, profile, "request/answer")], 4);
    assert.equal(rowOf(worker, profile, "index"), -1);
    assert.equal(worker.total[0], 55);
  });

  test("scopes are exact in a sampled profile, and no figure exceeds them", () => {
    const sites = [{ ...SITES[1], samples: 3, calls: 40, bytes: 4000, live: { blocks: 40, bytes: 4000 } }];
    const profile = buildProfile({ sites });
    profile.scopes = scopesOf([[0, tagAt(profile, "request/parse"), 3, 30, 3000]]);
    const tree = grow(profile, "allocated");
    const row = rowOf(tree, profile, "request/parse");
    assert.equal(tree.total[row], 3000);
    assert.deepEqual(tree.estimateTotal(row).alloc_space, { value: 3000, error: 0, low: 3000, high: 3000 });
    const live = tree.estimateTotal(row).inuse_space;
    assert.ok(live.value <= 3000 && live.high <= 3000 && live.low <= live.value);
    assert.equal(grow(profile, "live").total[row], 3000);
  });

  test("scopes do not apply to a selection by stacks", () => {
    const profile = withScopes();
    const key = [...Array(profile.functions.count).keys()].map(profile.functionKey)[2];
    const tree = grow(profile, "allocated", { focus: [key] });
    assert.equal(tree.exact, false);
    assert.ok(tree.entered.every((entered) => entered === 0));
  });

  test("the selected tag is the top", () => {
    const profile = withScopes();
    const request = tagAt(profile, "request");
    const tree = grow(profile, "allocated", { tag: request });
    assert.equal(tree.tag[0], request);
    assert.equal(tree.total[0], 3850);
    assert.deepEqual(tagPath(profile, tree.tag[1]), [request, tree.tag[1]]);
    assert.equal(chosenTag(profile, 99), 0);
  });

  test("each tag of the hot path has at least half of its parent", () => {
    const tree = grow(withScopes(), "allocated");
    assert.deepEqual(hotRows(tree), [1]);
  });

  test("a thousand nested tags work", () => {
    const path = Array.from({ length: 1000 }, (_, i) => `t${i}`).join("/");
    const profile = buildProfile({ sites: [{ stack: ["main"], tag: path, calls: 1, bytes: 8 }] });
    const tree = grow(profile, "allocated");
    assert.equal(tree.count, 1001);
    assert.equal(tree.total[0], 8);
    assert.equal(boxesOf(tree, { most: 50, share: 0, depth: 6 }).size, 8);
  });

  test("figures of a difference are signed", () => {
    const profile = buildProfile({
      difference: true,
      sites: [
        { stack: ["main"], tag: "a", calls: 5, bytes: 500, before: true },
        { stack: ["main"], tag: "a", calls: 2, bytes: 200 },
        { stack: ["main"], tag: "b", calls: 1, bytes: 100 },
      ],
    });
    const tree = grow(profile, "allocated");
    assert.equal(tree.total[rowOf(tree, profile, "a")], -300);
    assert.equal(tree.total[0], -200);
    assert.equal(tree.estimateTotal(0).alloc_space.value, -200);
    const box = boxesOf(tree, { most: 10, share: 0, depth: 6 });
    assert.equal(box.size, 400);
    assert.equal(box.value, -200);
  });
});

function addUp(box: Box): number {
  return box.children.length === 0 ? box.size : box.children.reduce((sum, child) => sum + addUp(child), 0);
}

describe("boxes", () => {
  test("are as large as their parts, with any limits", () => {
    const tree = grow(withScopes(), "allocated");
    for (const most of [0, 1, 2, 3, 100])
      for (const depth of [1, 2, 6]) {
        const box = boxesOf(tree, { most, share: 0, depth });
        assert.equal(addUp(box), 8870);
        assert.equal(box.value, 8870);
      }
  });

  test("items that are too small become one box with their number", () => {
    const tree = { parent: [0, 0, 0, 0, 3], self: [0, 90, 4, 3, 3] };
    const box = boxesOf(tree, { most: 100, share: 0.05, depth: 6 });
    const summary = (children: Box[]) => children.map(({ kind, more, size }) => [kind, more, size]);
    assert.deepEqual(summary(box.children), [["item", 0, 90], ["item", 0, 6], ["more", 1, 4]]);
    const small = boxesOf(tree, { most: 1, share: 0, depth: 6 });
    assert.deepEqual(summary(small.children), [["item", 0, 90], ["more", 3, 10]]);
  });

  test("modules have the functions that call allocators, not the allocators", () => {
    const profile = buildProfile({
      sites: [
        { stack: ["main", "strdup", "malloc"], calls: 1, bytes: 30 },
        { stack: ["main", "malloc"], calls: 1, bytes: 12 },
      ],
      functions: {
        malloc: { role: Role.Allocator, module: "/lib/libc.so.6" },
        strdup: { role: Role.Library, module: "/lib/libc.so.6" },
      },
    });
    const dataset = wholeDataset(profile);
    const tree = modulesOf(dataset, dataset.values("allocated"));
    const named = [...tree.function].flatMap((index, i) =>
      index < 0 ? [] : [[profile.functionName(index), profile.moduleName(tree.module[i]), tree.self[i]]],
    );
    assert.deepEqual(named.sort(), [["main", "program", 12], ["strdup", "libc.so.6", 30]]);
    assert.equal(boxesOf(tree, { most: 10, share: 0, depth: 6 }).size, 42);
  });
});

interface ExportedNode {
  tag: number;
  self: Estimates & { entered: number };
  total: Estimates;
}

/** The tree of `plimsoll export --format tags-json`, of all threads together. */
function exportedNodes(name: string): ExportedNode[] {
  const { trees } = JSON.parse(readGiven(`${name}.tags.json`)) as { trees: { nodes: ExportedNode[] }[] };
  return trees[0].nodes;
}

describe("tags of real profiles", { skip: NOTHING_GIVEN }, () => {
  for (const given of givenProfiles().filter((each) => !each.exported().extent.difference))
    test(`${given.name}: every figure of the tree is that of the export`, () => {
      const nodes = exportedNodes(given.name);
      const tree = grow(given.open(), "allocated");
      assert.deepEqual([...tree.tag], nodes.map((node) => node.tag));
      const wrong = nodes.flatMap((node, row) => [
        ...differences(`self of ${row}`, tree.estimateSelf(row), node.self),
        ...differences(`total of ${row}`, tree.estimateTotal(row), node.total),
      ]);
      assert.deepEqual(wrong, []);
      assert.deepEqual([...tree.entered], nodes.map((node) => node.self.entered));
    });
});
