// SPDX-License-Identifier: MIT
// timeline.test.ts - the timeline, headline figures and facts.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Estimates, Moment } from "../src/data/header";
import { wholeDataset } from "../src/model/figures/dataset";
import { printCommand, printTime, processFacts } from "../src/model/overview/facts";
import { findFindings } from "../src/model/overview/findings";
import { headlines } from "../src/model/overview/headlines";
import { findLosses } from "../src/model/overview/losses";
import {
  allocatedBy,
  captionStretch,
  columnRates,
  COLUMNS,
  highest,
  highestRss,
  makeCurves,
  peakHeight,
  samplingTurns,
  snapStretch,
  stretchState,
  tellApart,
  timeRows,
  type Run,
} from "../src/model/time/timeline";
import { usualState } from "../src/state";
import { placeBeside } from "../src/views/timeline/marks";
import { makeChart, type Chart } from "../src/views/timeline/scene";
import { buildProfile } from "./lib/build";

function moment(time_s: number, live_bytes: number, allocated_bytes: number, more: Partial<Moment> = {}): Moment {
  return {
    time_s,
    live_bytes,
    allocated_bytes,
    live_blocks: 1,
    calls: 1,
    rss_bytes: null,
    file_bytes: null,
    profiler_bytes: null,
    interval_bytes: 0,
    ...more,
  };
}

const RUN: Run = {
  moments: [moment(1, 100, 100, { rss_bytes: 5000 }), moment(2, 300, 500), moment(4, 200, 900, { rss_bytes: 7000 })],
  duration: 5,
  peak: { seconds: 3, bytes: 450 },
  ending: null,
};

function at<T>(time: number[], values: T[], seconds: number): T {
  const row = time.indexOf(seconds);
  assert.notEqual(row, -1, `there is a row at ${seconds} s`);
  return values[row];
}

test("a level is valid until the next moment, and nothing is live at the start", () => {
  const time = timeRows([RUN], [1.5, 0.5]);
  const { live } = makeCurves(RUN, time, 5);
  assert.equal(at(time, live, 0.5), 0);
  assert.equal(at(time, live, 1), 100);
  assert.equal(at(time, live, 1.5), 100);
  assert.equal(at(time, live, 4), 200);
  assert.equal(at(time, live, 5), 200);
});

test("the curve ends at the live bytes of the profile, even if blocks were freed after the last moment", () => {
  const run = { ...RUN, ending: 150 };
  const time = timeRows([run]);
  const { live } = makeCurves(run, time, 5);
  assert.equal(at(time, live, 4), 200);
  assert.equal(at(time, live, 5), 150);
});

test("the curve reaches the peak even between two moments", () => {
  const time = timeRows([RUN]);
  const { live } = makeCurves(RUN, time, 5);
  assert.equal(at(time, live, 3), 450);
  assert.equal(highest(live), 450);
});

test("RSS has gaps where it was not recorded", () => {
  const time = timeRows([RUN]);
  const { rss } = makeCurves(RUN, time, 5);
  assert.equal(at(time, rss, 0), null);
  assert.equal(at(time, rss, 1), 5000);
  assert.equal(at(time, rss, 2), null);
  assert.equal(at(time, rss, 5), 7000);
  assert.equal(highestRss(RUN.moments, 0, 10)?.rss_bytes, 7000);
  assert.equal(highestRss(RUN.moments, 0, 3)?.rss_bytes, 5000);
  assert.equal(highestRss(RUN.moments, 1.5, 3), null);
});

test("rows are sorted and have no duplicates", () => {
  const time = timeRows([RUN, { ...RUN, duration: 8 }], [2, 2, -1, NaN, 99]);
  for (let i = 1; i < time.length; i++) assert.ok(time[i] > time[i - 1]);
  assert.equal(time[0], 0);
  assert.equal(time.at(-1), 8);
});

test("rates over all columns add up to the allocated bytes", () => {
  const rates = columnRates(RUN.moments, 5);
  assert.equal(rates.length, COLUMNS);
  const sum = rates.reduce((total, rate) => total + (rate * 5) / COLUMNS, 0);
  assert.ok(Math.abs(sum - 900) < 1e-6);
  assert.equal(rates[COLUMNS - 1], 0, "nothing after the last moment");
});

test("bytes allocated between two moments are spread evenly", () => {
  assert.deepEqual(allocatedBy(RUN.moments, [0, 0.5, 1, 1.5, 2, 3, 4, 5]), [0, 50, 100, 300, 500, 700, 900, 900]);
});

test("after its end, a shorter run has no curve", () => {
  const time = timeRows([RUN, { ...RUN, duration: 8 }]);
  const { live, rate } = makeCurves(RUN, time, 8);
  assert.equal(at(time, live, 8), null);
  assert.equal(at(time, rate, 8), null);
  assert.equal(at(time, live, 5), 200);
});

test("the curves of an empty run are 0", () => {
  const run: Run = { moments: [], duration: 0, peak: null, ending: null };
  const time = timeRows([run]);
  assert.deepEqual(time, [0]);
  assert.equal(highest(makeCurves(run, time, 0).live), 0);
});

test("switches between exact and sampled are found, changes of the sampling interval are not switches", () => {
  const moments = [0, 0, 64, 128, 0].map((interval_bytes, i) => moment(i, 0, 0, { interval_bytes }));
  assert.deepEqual(samplingTurns(moments), [
    { seconds: 2, interval: 64 },
    { seconds: 4, interval: 0 },
  ]);
});

test("a dragged range snaps to the nearest times", () => {
  const moments = [0, 1, 2, 3, 10];
  assert.deepEqual(snapStretch(moments, 0.9, 2.2), { since: 1, until: 2 });
  assert.deepEqual(snapStretch(moments, 2.2, 0.9), { since: 1, until: 2 }, "in either direction");
  assert.deepEqual(snapStretch(moments, 4, 5), { since: 3, until: 10 }, "the gap around it");
  assert.deepEqual(snapStretch(moments, 0.1, 0.2), { since: 0, until: 1 });
  assert.deepEqual(snapStretch(moments, 9.9, 12), { since: 3, until: 10 });
  assert.equal(snapStretch([0], 0, 1), null);
});

test("the ends of the run are written as null, so that a running program is followed", () => {
  const moments = [0, 1, 2];
  assert.deepEqual(stretchState(moments, { since: 0, until: 1 }), { since: null, until: 1 });
  assert.deepEqual(stretchState(moments, { since: 1, until: 2 }), { since: 1, until: null });
  assert.deepEqual(stretchState(moments, { since: 0, until: 2 }), { since: null, until: null });
});

test("of times too close to each other one is offered, and the last is kept", () => {
  assert.deepEqual(tellApart([0, 1, 2, 9.999, 10]), [0, 1, 2, 10]);
  assert.deepEqual(tellApart([0, 10]), [0, 10]);
  assert.deepEqual(tellApart([0]), [0]);
  assert.deepEqual(tellApart([]), []);
});

function estimates(values: Partial<Record<keyof Estimates, number>>, error = 0): Estimates {
  const one = (value = 0) => ({ value, error, low: value - error, high: value + error });
  return {
    alloc_objects: one(values.alloc_objects),
    alloc_space: one(values.alloc_space),
    inuse_objects: one(values.inuse_objects),
    inuse_space: one(values.inuse_space),
    peak_objects: one(),
    peak_space: one(),
    temp_objects: one(),
    lost_objects: one(),
    lost_space: one(),
  };
}

test("the caption of an interval has allocations, and whether live memory grew or shrank", () => {
  const totals = estimates({
    alloc_objects: 4000,
    alloc_space: 12 * 2 ** 20,
    inuse_space: 1.1 * 2 ** 20,
    inuse_objects: 12,
  });
  const text = captionStretch({ since: 3.2, until: 5 }, totals, false);
  assert.match(text, /^Between 3\.2 s and 5 s: allocated 12\.0 MiB in 4,000 calls; live grew by 1\.1 MiB/);
  const less = captionStretch(
    { since: 3.2, until: 5 },
    { ...totals, inuse_space: { value: -2048, error: 0, low: -2048, high: -2048 } },
    true,
  );
  assert.match(less, /of the selection: .* live shrank by 2\.0 KiB/);
  assert.match(captionStretch({ since: 0, until: 1 }, estimates({}), false), /live did not change/);
  assert.match(captionStretch({ since: 0, until: 1 }, estimates({ inuse_space: 4096 }, 1024), false), /± 1\.0 KiB/);
});

function lookAt(profile: ReturnType<typeof buildProfile>, included?: Uint8Array) {
  const dataset = wholeDataset(profile);
  return {
    profile,
    dataset,
    included: included ?? new Uint8Array(dataset.count).fill(1),
    narrowed: included !== undefined,
    totals: profile.header.totals,
  };
}

test("headlines have the known figures and omit unknown ones", () => {
  const profile = buildProfile({
    sites: [
      { stack: ["main", "f"], calls: 1000, bytes: 10 * 2 ** 20, live: { blocks: 10, bytes: 2 ** 20 }, temporary: 610 },
    ],
  });
  profile.header.sampling.exact_calls = 1000;
  profile.header.timeline = [moment(1, 0, 0, { rss_bytes: 44.7 * 2 ** 20 })];
  const lines = new Map(headlines(lookAt(profile)).map((line) => [line.label, line]));
  assert.equal(lines.get("Allocated")?.value, "10.0 MiB");
  assert.equal(lines.get("Allocated")?.note, "1.0 MiB/s");
  assert.equal(lines.get("Calls")?.value, "1,000");
  assert.equal(lines.get("Peak")?.note, "at 5 s");
  assert.equal(lines.get("Live")?.note, "in 10 blocks");
  assert.equal(lines.get("Temporary")?.value, "61.0%");
  assert.equal(lines.get("RSS")?.value, "44.7 MiB");
  assert.equal(lines.has("Slack"), false);
  assert.equal(lines.has("Size"), false);
  assert.equal(lines.get("Threads")?.note, "1 stack");
});

test("if nothing was recorded, live memory is unknown, not 0", () => {
  const profile = buildProfile({ sites: [] });
  const live = headlines(lookAt(profile)).find((line) => line.metric === "live");
  assert.equal(live?.value, "not known");
});

test("a command is quoted for a shell", () => {
  assert.equal(printCommand(["./a b", "it's", "--x=1"]), "'./a b' 'it'\\''s' --x=1");
  assert.equal(printTime("2026-11-16T02:03:51.408Z"), "2026-11-16 02:03:51 UTC");
});

test("facts say how the process ended", () => {
  const { process } = buildProfile({ sites: [] }).header;
  const facts = new Map(processFacts(process).map((fact) => [fact.term, fact.text]));
  assert.equal(facts.get("Ran for"), "10.0 s, exited 0");
  assert.equal(facts.get("Machine"), "x86_64");
});

test("only losses that occurred are listed, and complete stacks are not truncated ones", () => {
  const { header } = buildProfile({ sites: [] });
  assert.deepEqual(findLosses(header), []);
  header.losses = { nested: 0, file_full: 3 };
  header.loss_help = { file_full: "records that did not fit" };
  header.stops = { end: 500, depth: 1 };
  header.reading.bad_settings = 0b101;
  assert.deepEqual(
    findLosses(header).map((loss) => [loss.count, loss.text.split(" ").slice(0, 3).join(" ")]),
    [
      [3, "records that did"],
      [1, "deep stack truncated"],
      [2, "settings that the"],
    ],
  );
  const { stacksOnly } = findLosses(header)[1];
  assert.deepEqual([stacksOnly, findLosses(header)[0].stacksOnly], [true, undefined], "truncated stacks lose no figure");
});

test("the function that holds most is a finding, with its share and place, unless advice covers it", () => {
  const sites = [
    { stack: ["main", "hoard hoard.c:7"], calls: 100, bytes: 9000, live: { blocks: 90, bytes: 9000 } },
    { stack: ["main", "work"], calls: 90000, bytes: 1000, live: { blocks: 1, bytes: 1000 } },
  ];
  const profile = buildProfile({ sites });
  const [first, ...rest] = findFindings(profile);
  assert.equal(first.kind, "live");
  assert.equal(first.name, "hoard");
  assert.equal(first.place, "hoard.c:7");
  assert.match(first.headline, /^held 8\.8 KiB: 90\.0% of what was live, 100 B a block on average$/);
  assert.deepEqual(
    rest.map((each) => [each.kind, each.name]),
    [["calls", "work"]],
    "each is named once",
  );
  profile.header.advice = [
    {
      kind: "pool",
      node: null,
      function: null,
      file: null,
      line: null,
      other_nodes: [],
      headline: "",
      evidence: "",
      action: "",
      gain_bytes: 0,
      gain_calls: 0,
      weight: 0.9,
    },
    {
      kind: "leak",
      node: 2,
      function: "hoard",
      file: "hoard.c",
      line: 7,
      other_nodes: [],
      headline: "grows",
      evidence: "",
      action: "",
      gain_bytes: 9000,
      gain_calls: 0,
      weight: 0.01,
    },
  ];
  const advised = findFindings(profile);
  assert.equal(advised[0].kind, "leak", "a leak comes first");
  assert.equal(advised[0].function, profile.places.function[profile.nodes.place[2]]);
  assert.ok(!advised.some((each) => each.kind === "live" && each.name === "hoard"));
});

test("the mark of the peak is no lower than the level at its time", () => {
  assert.equal(peakHeight(RUN), 450);
  assert.equal(peakHeight({ ...RUN, peak: { seconds: 3, bytes: 200 } }), 300);
  assert.equal(peakHeight({ ...RUN, peak: { seconds: 0.5, bytes: 200 } }), 200);
});

test("the text of a mark stays within the plot", () => {
  assert.equal(placeBeside(100, 50, 8, 60, 300), 108);
  assert.equal(placeBeside(280, 50, 8, 60, 300), 222);
  assert.equal(placeBeside(150, 200, 8, 60, 300), 60);
});

function chartOf(rss_bytes: number, rss: boolean): Chart {
  const site = { stack: ["main"], calls: 1, bytes: 300, live: { blocks: 1, bytes: 300 } };
  const timeline = [moment(1, 300, 300, { rss_bytes }), moment(2, 300, 300, { rss_bytes })];
  const profile = buildProfile({ sites: [site], header: { timeline } });
  const dataset = wholeDataset(profile);
  const included = new Uint8Array([1]);
  const look = {
    profile,
    state: usualState("live"),
    set: () => undefined,
    dataset,
    included,
    narrowed: false,
    values: dataset.values("live"),
    totals: profile.header.totals,
  };
  return makeChart({ look, by: "total", layers: null, slots: new Map(), rss });
}

test("RSS shares the axis of live memory, and can be hidden", () => {
  const entry = ({ legend }: Chart) => legend.find(({ name }) => name === "RSS");
  const near = chartOf(600, true);
  assert.equal(near.scene.top.bytes, 600);
  assert.equal(entry(near)?.note, "");
  const far = chartOf(60_000, true);
  assert.equal(far.scene.top.bytes, 60_000);
  assert.equal(entry(far)?.note, "hide it to see live memory larger");
  const hidden = chartOf(60_000, false);
  assert.equal(entry(hidden)?.drawn, false);
  assert.equal(hidden.scene.top.bytes, 300);
});
