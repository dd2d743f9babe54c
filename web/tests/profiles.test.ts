// SPDX-License-Identifier: MIT
// profiles.test.ts - the page computes the same figures as `plimsoll export --format json`: for every site, for time
// intervals, and for parts of a profile.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Estimates } from "../src/data/header";
import type { Profile } from "../src/data/profile";
import { intervalDataset, wholeDataset, type Dataset } from "../src/model/figures/dataset";
import { addSites, estimateSite, estimateSums, newSums, siteValues } from "../src/model/figures/figures";
import { knownMetrics, METRICS } from "../src/model/figures/metric";
import { includedSites, type Narrowing } from "../src/model/figures/narrow";
import { selectionTotals } from "../src/model/figures/totals";
import { makeSiteRows } from "../src/model/tables/sites";
import {
  differences,
  givenDifferences,
  givenProfiles,
  NOTHING_GIVEN,
  type Exported,
  type Given,
  type Part,
} from "./lib/given";

const ALL_GIVEN = [...givenProfiles(), ...givenDifferences()];
const EVERYTHING: Narrowing = { tag: null, thread: null, focus: [], hide: [] };

function expectNone(wrong: string[]): void {
  assert.equal(wrong.length, 0, `${wrong.length} differ:\n${wrong.slice(0, 8).join("\n")}`);
}

function only(profile: Profile, part: Part): Narrowing {
  const { tag, thread, focus, hide } = part.narrowing;
  const tagOf = (path: string) => {
    const found = profile.header.tags.findIndex((each) => each.path === path);
    assert.ok(found >= 0, `there is no tag ${path}`);
    return found;
  };
  const keyOf = (name: string) => {
    for (let i = 0; i < profile.functions.count; i++)
      if (profile.functionName(i) === name) return profile.functionKey(i);
    assert.fail(`there is no function ${name}`);
  };
  return { tag: tag === null ? null : tagOf(tag), thread, focus: focus.map(keyOf), hide: hide.map(keyOf) };
}

interface Chosen {
  dataset: Dataset;
  included: Uint8Array;
}

/** As on the page: first the selection without its interval, then the interval of that. */
function choose(profile: Profile, { since, until }: Part, narrowing: Narrowing): Chosen {
  const whole = wholeDataset(profile);
  const left = includedSites(whole, narrowing);
  if (since === null && until === null) return { dataset: whole, included: left };
  const dataset = intervalDataset(profile, since ?? 0, until ?? profile.header.process.duration_s, left);
  return { dataset, included: Uint8Array.of(...left, ...left) };
}

/** If an interval begins at the start of the run, the page has sites without figures for it; the export has none. */
function firstExported(dataset: Dataset): number {
  return dataset.kind === "interval" && dataset.since === 0 ? dataset.base : 0;
}

/** Metrics that are unknown for a time interval are 0 in the export, and never shown on the page. */
function withoutUnknown(dataset: Dataset, estimates: Estimates): Estimates {
  if (dataset.kind !== "interval") return estimates;
  const known = { ...estimates };
  for (const { key, onlyWhole } of METRICS) if (onlyWhole) known[key] = { value: 0, error: 0, low: 0, high: 0 };
  return known;
}

function checkSites(dataset: Dataset, included: Uint8Array, exported: Exported): void {
  const wrong: string[] = [];
  let at = 0;
  for (let i = firstExported(dataset); i < dataset.count; i++) {
    if (!included[i]) continue;
    const theirs = exported.sites[at++];
    if (!theirs) continue;
    wrong.push(...differences(`site ${i}`, withoutUnknown(dataset, estimateSite(dataset.amounts, i)), theirs));
  }
  assert.equal(at, exported.sites.length, "the number of sites differs");
  expectNone(wrong);
}

function checkWhole(given: Given): void {
  const profile = given.open();
  const dataset = wholeDataset(profile);
  const exported = given.exported();
  checkSites(dataset, includedSites(dataset, EVERYTHING), exported);
  exported.sites.forEach((site, i) => {
    assert.equal(profile.sites.thread[i], site.thread);
    assert.equal(profile.sites.tag[i], site.tag);
  });
  for (const { key } of knownMetrics(profile.header)) {
    const values = siteValues(profile.sites.amounts, key);
    const isWrong = (i: number) => Math.abs(values[i] - exported.sites[i][key].value) > 1e-9 * values[i];
    expectNone(exported.sites.flatMap((_, i) => (isWrong(i) ? [`site ${i} ${key}: ${values[i]}`] : [])));
  }
  const totals = selectionTotals(dataset, includedSites(dataset, EVERYTHING), EVERYTHING);
  expectNone(differences("total", totals, exported.totals));
}

/** Rows, boxes and the headline of a time interval are sums of the same sites, so none may count what another drops. */
function checkSums(dataset: Dataset, included: Uint8Array, totals: Estimates): void {
  for (const { metric, key } of METRICS.filter(({ onlyWhole }) => !onlyWhole)) {
    const values = dataset.values(metric);
    let [sum, gross] = [0, 0];
    for (let i = 0; i < dataset.count; i++) {
      if (!included[i]) continue;
      sum += i < dataset.base ? -values[i] : values[i];
      gross += values[i];
    }
    const apart = Math.abs(sum - totals[key].value);
    assert.ok(apart <= 1e-9 * gross, `${key}: sites add up to ${sum}, the total is ${totals[key].value}`);
  }
}

/** Tables sort rows by their values, and show their estimates. */
function checkRows(dataset: Dataset, included: Uint8Array): void {
  const rows = makeSiteRows(dataset, included);
  for (let row = 0; row < rows.count; row++) {
    const estimates = rows.estimates(row);
    for (const { metric, key } of METRICS.filter(({ onlyWhole }) => !onlyWhole)) {
      const [shown, sorted] = [estimates[key].value, rows.values(metric)[row]];
      const gross = dataset.values(metric).reduce((sum, value) => Math.max(sum, value), 0);
      assert.ok(Math.abs(shown - sorted) <= 1e-9 * gross, `${key}: row ${row} shows ${shown}, sorts as ${sorted}`);
    }
  }
}

function checkPart(given: Given, part: Part): void {
  const profile = given.open();
  const narrowing = only(profile, part);
  const { dataset, included } = choose(profile, part, narrowing);
  const exported = part.exported();
  assert.equal(exported.extent.difference, dataset.kind !== "whole");
  checkSites(dataset, included, exported);
  const totals = selectionTotals(dataset, included, narrowing);
  expectNone(differences("total", totals, exported.totals));
  if (dataset.kind !== "interval") return;
  checkSums(dataset, included, totals);
  checkRows(dataset, included);
}

function nameOf({ narrowing, since, until }: Part): string {
  const { tag, thread, focus, hide } = narrowing;
  const words = { tag, thread, focus: focus.join(), hide: hide.join(), since, until };
  const said = Object.entries(words).filter(([, value]) => value !== null && value !== "");
  return said.map(([name, value]) => `${name} ${value}`).join(", ");
}

test("the given profiles include every kind", { skip: NOTHING_GIVEN }, () => {
  const profiles = ALL_GIVEN.map((given) => given.open());
  const some = (what: string, has: (profile: Profile) => boolean) => assert.ok(profiles.some(has), what);
  some("exact", ({ header }) => header.sampling.exact && header.totals.alloc_objects.value > 0);
  some("sampled", ({ header }) => header.sampling.mode === "sampled");
  some("counted, then sampled", ({ header }) => header.sampling.samples > 0 && header.sampling.exact_calls > 0);
  some("of many tags and threads", ({ header }) => header.tags.length > 3 && header.threads.length > 3);
  some("with unseen allocations", ({ sites }) => sites.amounts.hiddenSpace.some((each) => each > 0));
  some("with uneven samples", ({ sites }) => sites.amounts.skewSpace.some((each) => each > 0));
  some("with unnamed sites", ({ header }) => header.snapshots.some((each) => each.others_calls > 0));
  some("with shares of several threads", ({ shares }) => shares.divided.includes(1));
  some("with sites without a stack", ({ sites }) => sites.otherSizes.includes(1));
  some("with a pause", ({ header, scopes }) => scopes.tag.some((tag) => header.tags[tag].kind === "paused"));
  some("of two runs", ({ header }) => header.extent.difference && header.extent.base_sites > 0);
});

test("if everything was counted, sites add up to the totals", { skip: NOTHING_GIVEN }, () => {
  const given = givenProfiles().find(({ name }) => name === "after");
  assert.ok(given);
  const { sites, header } = given.open();
  const sums = newSums();
  for (let i = 0; i < sites.count; i++) addSites(sums, sites.amounts, i);
  expectNone(differences("sum", estimateSums(sums), header.totals));
});

for (const given of ALL_GIVEN)
  describe(given.name, () => {
    test("every figure of every site is that of the export", () => checkWhole(given));
    for (const part of given.parts) test(nameOf(part), () => checkPart(given, part));
  });
