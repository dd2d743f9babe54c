// SPDX-License-Identifier: MIT
// facts.test.ts - headline figures, facts about a profile, and what metrics are called.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Header, ProcessInfo, Sampling, Side } from "../src/data/header";
import { intervalDataset, wholeDataset, type Dataset } from "../src/model/dataset";
import { autoFacts, callFacts, describeMethod, extentFacts, runFacts } from "../src/model/facts";
import { headlines, PART } from "../src/model/headlines";
import { describeUnrecorded } from "../src/model/losses";
import { metricTitle } from "../src/model/metric";
import { selectionTotals } from "../src/model/totals";
import { buildProfile } from "./lib/build";
import { givenProfiles, NOTHING_GIVEN, readGiven } from "./lib/given";

const SITES = [{ stack: ["main", "f"], calls: 4, bytes: 400, live: { blocks: 1, bytes: 100 } }];
const plain = buildProfile({ sites: SITES }).header;

function headerWith(change: Partial<Header>): Header {
  return buildProfile({ sites: SITES, header: change }).header;
}

function lines(dataset: Dataset, narrowed = false) {
  const included = new Uint8Array(dataset.count).fill(1);
  const totals = selectionTotals(dataset, included, { tag: null, thread: null, focus: [], hide: [] });
  const all = headlines({ profile: dataset.profile, dataset, included, narrowed, totals });
  return new Map(all.map((line) => [line.label, line]));
}

test("what is live is called the same everywhere: as reports call it", () => {
  const titles = (title_live: string) => {
    const header = headerWith({ page: { ...plain.page, title_live } });
    return [metricTitle(header, "live"), metricTitle(header, "blocks")];
  };
  assert.deepEqual(titles("Live"), ["Live", "Live blocks"]);
  assert.deepEqual(titles("Never freed"), ["Never freed", "Blocks never freed"]);
  assert.deepEqual(titles("Live when it ended"), ["Live when it ended", "Blocks live when it ended"]);
});

test("of two runs, what is live is called by how the later one ended", () => {
  const extent = { ...plain.extent, difference: true };
  const title = (change: Partial<ProcessInfo>) =>
    metricTitle(headerWith({ extent, process: { ...plain.process, ...change } }), "live");
  assert.equal(title({}), "Never freed");
  assert.equal(title({ signal: 9 }), "Live when it ended");
  assert.equal(title({ running: true }), "Live");
});

test("stacks are as many as the report says", { skip: NOTHING_GIVEN }, () => {
  for (const { name, open } of givenProfiles()) {
    const note = lines(wholeDataset(open())).get("Threads")?.note ?? "";
    const [, stacks] = /· stacks ([\d,]+)/.exec(readGiven(`${name}.report`)) ?? [];
    assert.ok(stacks && note.startsWith(`${stacks} stack`), `${name}: ${note}, not ${stacks}`);
  }
});

test("figures that are known of the whole alone are not shown of a part", () => {
  const profile = buildProfile({ sites: SITES });
  assert.ok(lines(wholeDataset(profile)).get("Threads")?.note.includes("1 stack"));
  assert.ok(!lines(wholeDataset(profile), true).get("Threads")?.note.includes("stack"));
  assert.equal(lines(intervalDataset(profile, 0, 5)).get("Threads"), undefined);
});

test("the highest RSS is called that", () => {
  const moment = { ...momentAt(1), rss_bytes: 4096 };
  const profile = buildProfile({ sites: SITES, header: { timeline: [moment] } });
  assert.equal(lines(wholeDataset(profile)).get("RSS")?.note, "highest");
});

function momentAt(time_s: number): Header["timeline"][number] {
  const nothing = { live_bytes: 0, live_blocks: 0, allocated_bytes: 0, calls: 0, interval_bytes: 0 };
  return { time_s, rss_bytes: null, file_bytes: null, ...nothing };
}

test("figures of a part say so in front, whatever made it a part", () => {
  const part = (extent: Partial<Header["extent"]>, narrowed = false) => {
    const profile = buildProfile({ sites: SITES, header: { extent: { ...plain.extent, ...extent } } });
    const line = lines(wholeDataset(profile), narrowed).get(PART);
    return line && [line.value, line.note];
  };
  assert.equal(part({}), undefined);
  assert.deepEqual(part({ selection: "tag request" }), ["tag request", ""]);
  assert.deepEqual(part({ selection: "tag request" }, true), ["tag request", "what is selected"]);
  assert.deepEqual(part({ reset_s: 5, resets: 1 }), ["since the reset at 5 s", ""]);
});

test("a peak that is not known to the byte explains itself", () => {
  const help = (slack_bytes: number) =>
    lines(wholeDataset(buildProfile({ sites: SITES, header: { peak: { time_s: 1, slack_bytes } } }))).get("Peak")?.help;
  assert.equal(help(0), undefined);
  assert.match(help(50) ?? "", /50 B at most/);
});

const terms = (facts: { term: string }[]) => facts.map(({ term }) => term);

test("several profiles as one are no process that ran", () => {
  const header = headerWith({ extent: { ...plain.extent, merged: 3 }, sampling: { ...plain.sampling, mode: "auto" } });
  assert.deepEqual(terms(runFacts(header)), ["Machine"]);
  assert.deepEqual(autoFacts(header), []);
  assert.ok(terms(runFacts(plain)).includes("Process"));
});

test("calls by function and copies by realloc are among the facts, copies where they matter", () => {
  const of = (moved_bytes: number) =>
    callFacts({
      ...plain,
      totals: {
        ...plain.totals,
        functions: { malloc: 1234, calloc: 0, realloc: 5, aligned: 0, new: 0 },
        reallocs: { calls: 5, in_place: 2, moved_bytes },
      },
    }).map(({ text }) => text);
  assert.deepEqual(of(0), ["malloc 1,234 · realloc 5"]);
  assert.deepEqual(of(100), ["malloc 1,234 · realloc 5", "100 B copied in 5 calls, 2 stayed in place"]);
});

test("how far apart samples were is said as what it is", () => {
  const of = (auto: Partial<Header["auto"]>) => {
    const sampling = { ...plain.sampling, mode: "auto" };
    return autoFacts(headerWith({ sampling, auto: { ...plain.auto, exact_now: false, ...auto } }))[0].text;
  };
  assert.match(of({ interval_bytes: 4096, interval_max: 4096 }), /farther and farther apart, 4 KiB in the end/);
  assert.match(of({ interval_bytes: 4096, interval_max: 8192 }), /4 KiB apart in the end, 8 KiB at the widest/);
});

test("how figures were obtained is a word; of two runs, two words where they differ", () => {
  const sampled: Sampling = { ...plain.sampling, exact: false };
  const side = (sampling: Sampling): Side => ({ ...plain, subject: "", sampling });
  const compare = (before: Sampling, after: Sampling) =>
    describeMethod(headerWith({ diff: { before: side(before), after: side(after), changes: {} } }));
  assert.equal(describeMethod(plain), "exact");
  assert.equal(describeMethod(headerWith({ sampling: sampled })), "sampled");
  assert.equal(compare(plain.sampling, plain.sampling), "exact");
  assert.equal(compare(plain.sampling, sampled), "exact → sampled");
  const lossy = { ...plain.sampling, method: "exact, but for 3 threads" };
  assert.equal(describeMethod(headerWith({ sampling: lossy })), "exact, but for gaps");
});

test("the share of temporary calls has its error, where it is an estimate", () => {
  const value = (error: number) => {
    const temp_objects = { value: 2, error, low: 2 - error, high: 2 + error };
    const profile = buildProfile({ sites: SITES, header: { totals: { ...plain.totals, temp_objects } } });
    return lines(wholeDataset(profile)).get("Temporary")?.value;
  };
  assert.equal(value(0), "50.0%");
  assert.equal(value(1), "50.0% ± 25.0%");
});

test("that only some sizes were wanted is said of profiles for which it is so", () => {
  const of = (extent: Partial<Header["extent"]>) =>
    terms(extentFacts(headerWith({ extent: { ...plain.extent, ...extent } })));
  assert.deepEqual(of({}), []);
  assert.deepEqual(of({ size_from: 1024 }), ["Stacks of"]);
  assert.deepEqual(of({ size_to: 1024 }), ["Stacks of"]);
});

test("what was only counted is said where figures begin", () => {
  const root = { name: "", path: null, parent: null, depth: 0, kind: "root" } as const;
  const off = { name: "", path: null, parent: 0, depth: 1, kind: "off" } as const;
  const scopes = [0, 1].map((tag) => ({ tag, calls: 2 + tag, bytes: 100 }));
  const profile = buildProfile({ sites: SITES, scopes, header: { tags: [root, off] } });
  assert.deepEqual(describeUnrecorded(profile), ["Off for a while: 3 calls (100 B) only counted, as (off)."]);
  assert.deepEqual(describeUnrecorded(buildProfile({ sites: SITES })), []);
});
