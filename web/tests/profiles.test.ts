// SPDX-License-Identifier: MIT
// profiles.test.ts - what the page computes from a profile is what `plimsoll export --format json` says of it: of every
// site, of stretches of time, and of parts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Estimates } from "../src/data/header";
import type { Profile } from "../src/data/profile";
import { intervalDataset, wholeDataset, type Dataset } from "../src/model/dataset";
import { addSites, estimateSite, estimateSums, newSums, siteValues } from "../src/model/figures";
import { METRICS } from "../src/model/metric";
import { includedSites, type Narrowing } from "../src/model/narrow";
import { selectionTotals } from "../src/model/totals";
import { differences, givenDifferences, givenProfiles, NOTHING_GIVEN } from "./lib/given";
import type { Exported, Given, Part } from "./lib/given";

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

/** As the page does it: what is left of the whole, and then, of that, a stretch of time. */
function choose(profile: Profile, { since, until }: Part, narrowing: Narrowing): Chosen {
  const whole = wholeDataset(profile);
  const left = includedSites(whole, narrowing);
  if (since === null && until === null) return { dataset: whole, included: left };
  const dataset = intervalDataset(profile, since ?? 0, until ?? profile.header.process.duration_s, left);
  return { dataset, included: Uint8Array.of(...left, ...left) };
}

/** From the start of the run there is nothing to compare with: the page has sites without figures, the export none. */
function firstExported(dataset: Dataset): number {
  return dataset.kind === "interval" && dataset.since === 0 ? dataset.base : 0;
}

/** What is not known of a stretch of time is zero in the export, and never shown on the page. */
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
  assert.equal(at, exported.sites.length, "as many sites");
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
  for (const { key } of METRICS) {
    const values = siteValues(profile.sites.amounts, key);
    const isWrong = (i: number) => Math.abs(values[i] - exported.sites[i][key].value) > 1e-9 * values[i];
    expectNone(exported.sites.flatMap((_, i) => (isWrong(i) ? [`site ${i} ${key}: ${values[i]}`] : [])));
  }
  const totals = selectionTotals(dataset, includedSites(dataset, EVERYTHING), EVERYTHING);
  expectNone(differences("total", totals, exported.totals));
}

function checkPart(given: Given, part: Part): void {
  const profile = given.open();
  const narrowing = only(profile, part);
  const { dataset, included } = choose(profile, part, narrowing);
  const exported = part.exported();
  assert.equal(exported.extent.difference, dataset.kind !== "whole");
  checkSites(dataset, included, exported);
  expectNone(differences("total", selectionTotals(dataset, included, narrowing), exported.totals));
}

function nameOf({ narrowing, since, until }: Part): string {
  const { tag, thread, focus, hide } = narrowing;
  const words = { tag, thread, focus: focus.join(), hide: hide.join(), since, until };
  const said = Object.entries(words).filter(([, value]) => value !== null && value !== "");
  return said.map(([name, value]) => `${name} ${value}`).join(", ");
}

test("there are profiles of every kind", { skip: NOTHING_GIVEN }, () => {
  const profiles = ALL_GIVEN.map((given) => given.open());
  const some = (what: string, has: (profile: Profile) => boolean) => assert.ok(profiles.some(has), what);
  some("exact", ({ header }) => header.sampling.exact && header.totals.alloc_objects.value > 0);
  some("sampled", ({ header }) => header.sampling.mode === "sampled");
  some("counted, then sampled", ({ header }) => header.sampling.samples > 0 && header.sampling.exact_calls > 0);
  some("of many tags and threads", ({ header }) => header.tags.length > 3 && header.threads.length > 3);
  some("with sites that may have gone on unseen", ({ sites }) => sites.amounts.unseenInterval.some((each) => each > 0));
  some("with uneven samples", ({ sites }) => sites.amounts.skewSpace.some((each) => each > 0));
  some("with sites that are not named", ({ header }) => header.snapshots.some((each) => each.others_calls > 0));
  some("with shares of several threads", ({ shares }) => shares.divided.includes(1));
  some("with sites without a stack", ({ sites }) => sites.otherSizes.includes(1));
  some("of what was paused", ({ header, scopes }) => scopes.tag.some((tag) => header.tags[tag].kind === "paused"));
  some("of two runs", ({ header }) => header.extent.difference && header.extent.base_sites > 0);
});

test("sites add up to what is known of the whole, where everything was counted", { skip: NOTHING_GIVEN }, () => {
  const given = givenProfiles().find(({ name }) => name === "after");
  assert.ok(given);
  const { sites, header } = given.open();
  const sums = newSums();
  for (let i = 0; i < sites.count; i++) addSites(sums, sites.amounts, i);
  expectNone(differences("sum", estimateSums(sums), header.totals));
});

for (const given of ALL_GIVEN)
  describe(given.name, () => {
    test("every site, every figure", () => checkWhole(given));
    for (const part of given.parts) test(nameOf(part), () => checkPart(given, part));
  });
