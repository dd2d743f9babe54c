// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MemoryPart, MemoryReading } from "../src/data/header";
import { bandsOf, largestReading, linesOf, nearestReading, rssOf } from "../src/model/memory/readings";

function part(name: string, resident: number, heap = false): MemoryPart {
  return {
    part: name,
    title: name,
    heap,
    virtual_bytes: 2 * resident,
    resident_bytes: resident,
    pss_bytes: resident / 2,
    swap_bytes: 0,
  };
}

function reading(time_s: number, live: number, free: number, rest: number): MemoryReading {
  const parts = [
    part("live", live, true),
    part("free", free, true),
    part("mapped", 7),
    part("code", 5),
    part("shared", rest),
    part("profiler", 3),
    part("unexplained", 0),
  ];
  return { time_s, exact: true, unread: false, parts, facts: {} };
}

const READINGS = [reading(1, 100, 20, 0), reading(2, 300, 0, 40), reading(4, 10, 200, 0)];

test("the lines add up to RSS, and malloc is the sum of its parts", () => {
  const lines = linesOf(READINGS[1]);
  const of = (title: string) => lines.find((line) => line.title === title);
  const outer = lines.filter((line) => line.level === "group").reduce((sum, line) => sum + line.resident, 0);
  assert.equal(outer, rssOf(READINGS[1]));
  assert.equal(of("RSS")?.resident, 300 + 7 + 5 + 40 + 3);
  assert.equal(of("malloc")?.resident, 300);
  assert.equal(of("malloc")?.virtual, 600);
  assert.equal(of("free"), undefined);
  assert.equal(of("unexplained")?.resident, 0);
});

test("the bands lie on each other and end at RSS", () => {
  const bands = bandsOf(READINGS);
  assert.deepEqual(
    bands.map((band) => band.title),
    ["live blocks", "rest of malloc", "anonymous mappings", "modules", "files and shared memory", "Plimsoll itself"],
  );
  bands.slice(1).forEach((band, i) => assert.deepEqual(band.from, bands[i].to));
  assert.deepEqual(bands[bands.length - 1].to, READINGS.map(rssOf));
});

test("every part of the format is in a band", () => {
  const names = ["slack", "other", "cached", "top", "tables", "rest"];
  const others = ["stacks", "data", "files", "copies", "devices", "reserved"];
  const parts = [...names.map((name) => part(name, 1, true)), ...others.map((name) => part(name, 1))];
  const one = [{ ...READINGS[0], parts: [...READINGS[0].parts, ...parts] }];
  const bands = bandsOf(one);
  assert.equal(bands[bands.length - 1].to[0], rssOf(one[0]));
});

test("the reading with the largest RSS, and the nearest to a time, are found", () => {
  assert.equal(largestReading(READINGS), 1);
  assert.equal(nearestReading(READINGS, 3.5), 2);
  assert.equal(nearestReading(READINGS, -1), 0);
});
