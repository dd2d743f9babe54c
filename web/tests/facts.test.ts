// SPDX-License-Identifier: MIT
// facts.test.ts - headline figures, facts about a profile, and titles of metrics.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Header, ProcessInfo, Sampling, Side } from "../src/data/header";
import { intervalDataset, wholeDataset, type Dataset } from "../src/model/figures/dataset";
import { autoFacts, callFacts, describeMethod, extentFacts, runFacts } from "../src/model/overview/facts";
import { headlines, PART } from "../src/model/overview/headlines";
import { describeUnrecorded } from "../src/model/overview/losses";
import { metricTitle } from "../src/model/figures/metric";
import { selectionTotals } from "../src/model/figures/totals";
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

test("the title of live memory is that of reports", () => {
  const titles = (title_live: string) => {
    const header = headerWith({ page: { ...plain.page, title_live } });
    return [metricTitle(header, "live"), metricTitle(header, "blocks")];
  };
  assert.deepEqual(titles("Live"), ["Live", "Live blocks"]);
  assert.deepEqual(titles("Never freed"), ["Never freed", "Blocks never freed"]);
  assert.deepEqual(titles("Live when it ended"), ["Live when it ended", "Blocks live when it ended"]);
});

test("in a comparison, the title of live memory depends on how the second run ended", () => {
  const extent = { ...plain.extent, difference: true };
  const title = (change: Partial<ProcessInfo>) =>
    metricTitle(headerWith({ extent, process: { ...plain.process, ...change } }), "live");
  assert.equal(title({}), "Never freed");
  assert.equal(title({ signal: 9 }), "Live when it ended");
  assert.equal(title({ running: true }), "Live");
});

test("the number of stacks is that of the report", { skip: NOTHING_GIVEN }, () => {
  for (const { name, open } of givenProfiles()) {
    const note = lines(wholeDataset(open())).get("Threads")?.note ?? "";
    const [, stacks] = /· stacks ([\d,]+)/.exec(readGiven(`${name}.digits.report`)) ?? [];
    assert.ok(stacks && note.startsWith(`${stacks} stack`), `${name}: ${note}, not ${stacks}`);
  }
});

test("figures that are known only for the whole run are not shown for a part", () => {
  const profile = buildProfile({ sites: SITES });
  assert.ok(lines(wholeDataset(profile)).get("Threads")?.note.includes("1 stack"));
  assert.ok(!lines(wholeDataset(profile), true).get("Threads")?.note.includes("stack"));
  assert.equal(lines(intervalDataset(profile, 0, 5)).get("Threads"), undefined);
});

test("the figure of RSS says that it is the highest", () => {
  const moment = { ...momentAt(1), rss_bytes: 4096 };
  const profile = buildProfile({ sites: SITES, header: { timeline: [moment] } });
  assert.equal(lines(wholeDataset(profile)).get("RSS")?.note, "highest");
});

function momentAt(time_s: number): Header["timeline"][number] {
  const nothing = { live_bytes: 0, live_blocks: 0, allocated_bytes: 0, calls: 0, interval_bytes: 0 };
  return { time_s, rss_bytes: null, file_bytes: null, profiler_bytes: null, ...nothing };
}

test("the first headline says which part of the run the figures are of", () => {
  const part = (extent: Partial<Header["extent"]>, narrowed = false) => {
    const profile = buildProfile({ sites: SITES, header: { extent: { ...plain.extent, ...extent } } });
    const line = lines(wholeDataset(profile), narrowed).get(PART);
    return line && [line.value, line.note];
  };
  assert.equal(part({}), undefined);
  assert.deepEqual(part({ selection: "tag request" }), ["tag request", ""]);
  assert.deepEqual(part({ selection: "tag request" }, true), ["tag request", "the selection"]);
  assert.deepEqual(part({ reset_s: 5, resets: 1 }), ["since the reset at 5 s", ""]);
});

test("a peak with slack has an explanation", () => {
  const help = (slack_bytes: number) =>
    lines(wholeDataset(buildProfile({ sites: SITES, header: { peak: { time_s: 1, slack_bytes } } }))).get("Peak")?.help;
  assert.equal(help(0), undefined);
  assert.match(help(50) ?? "", /50 B at most/);
});

const terms = (facts: { term: string }[]) => facts.map(({ term }) => term);

test("a merged profile has no facts about a process", () => {
  const header = headerWith({ extent: { ...plain.extent, merged: 3 }, sampling: { ...plain.sampling, mode: "auto" } });
  assert.deepEqual(terms(runFacts(header)), ["Machine"]);
  assert.deepEqual(autoFacts(header), []);
  assert.ok(terms(runFacts(plain)).includes("Process"));
});

test("facts include calls by function, and bytes copied by realloc if they matter", () => {
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
  assert.deepEqual(of(100), ["malloc 1,234 · realloc 5", "5 calls copied 100 B; 2 of them stayed in place"]);
});

test("the facts of auto mode include the sampling interval", () => {
  const of = (auto: Partial<Header["auto"]>) => {
    const sampling = { ...plain.sampling, mode: "auto" };
    return autoFacts(headerWith({ sampling, auto: { ...plain.auto, exact_now: false, ...auto } }))[0].text;
  };
  assert.match(of({ interval_bytes: 4096, interval_max: 4096 }), /interval grew to 4 KiB/);
  assert.match(of({ interval_bytes: 4096, interval_max: 8192 }), /interval was 4 KiB in the end, 8 KiB at most/);
});

test("the facts of auto mode say how much sites may hide that were not sampled after exact counting ended", () => {
  const of = (unsampled_sites: number) => {
    const auto = { ...plain.auto, unsampled_sites, unsampled_bytes: 800000 };
    return autoFacts(headerWith({ auto })).map(({ text }) => text);
  };
  assert.deepEqual(of(0), []);
  assert.deepEqual(of(1), [
    "1 site has not been sampled since exact counting ended: together at most 781 KiB more, with 95% confidence",
  ]);
  assert.match(of(1200)[0], /^1,200 sites have not been sampled/);
});

test("the line about sites that were not sampled is that of the report", { skip: NOTHING_GIVEN }, () => {
  for (const { name, open } of givenProfiles()) {
    const report = readGiven(`${name}.report`).replace(/\s+/g, " ");
    const told = autoFacts(open().header).find(({ term }) => term === "Not sampled");
    assert.equal(report.includes("not been sampled since exact counting ended"), told !== undefined, name);
    assert.ok(!told || report.includes(told.text), name);
  }
});

test("a word says how figures were obtained; for two runs, two words if they differ", () => {
  const sampled: Sampling = { ...plain.sampling, exact: false };
  const side = (sampling: Sampling): Side => ({ ...plain, subject: "", sampling });
  const compare = (before: Sampling, after: Sampling) =>
    describeMethod(headerWith({ diff: { before: side(before), after: side(after), changes: {} } }));
  assert.equal(describeMethod(plain), "exact");
  assert.equal(describeMethod(headerWith({ sampling: sampled })), "sampled");
  assert.equal(compare(plain.sampling, plain.sampling), "exact");
  assert.equal(compare(plain.sampling, sampled), "exact → sampled");
  const lossy = { ...plain.sampling, method: "exact, but for 3 threads" };
  assert.equal(describeMethod(headerWith({ sampling: lossy })), "exact, with gaps");
});

test("the share of temporary calls has an error if it is an estimate", () => {
  const value = (error: number) => {
    const temp_objects = { value: 2, error, low: 2 - error, high: 2 + error };
    const profile = buildProfile({ sites: SITES, header: { totals: { ...plain.totals, temp_objects } } });
    return lines(wholeDataset(profile)).get("Temporary")?.value;
  };
  assert.equal(value(0), "50.0%");
  assert.equal(value(1), "50.0% ± 25.0%");
});

test("a profile with stacks of some sizes only says so", () => {
  const of = (extent: Partial<Header["extent"]>) =>
    terms(extentFacts(headerWith({ extent: { ...plain.extent, ...extent } })));
  assert.deepEqual(of({}), []);
  assert.deepEqual(of({ size_from: 1024 }), ["Stacks of"]);
  assert.deepEqual(of({ size_to: 1024 }), ["Stacks of"]);
});

test("allocations while the profiler was off are reported as only counted", () => {
  const root = { name: "", path: null, parent: null, depth: 0, kind: "root" } as const;
  const off = { name: "", path: null, parent: 0, depth: 1, kind: "off" } as const;
  const scopes = [0, 1].map((tag) => ({ tag, calls: 2 + tag, bytes: 100 }));
  const profile = buildProfile({ sites: SITES, scopes, header: { tags: [root, off] } });
  const said = "Switched off for a while: 3 calls (100 B) counted as (off), without stacks.";
  assert.deepEqual(describeUnrecorded(profile), [said]);
  assert.deepEqual(describeUnrecorded(buildProfile({ sites: SITES })), []);
});
