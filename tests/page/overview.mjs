// SPDX-License-Identifier: MIT
// overview.mjs - the top of the page: the program, how its figures were obtained, headline figures, findings.

import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { errorOf, figure, key } from "./figures.mjs";
import { tabsOf } from "./walk.mjs";

const HEADLINES = ["allocated", "calls", "peak", "live"];
const TABS = ["sites", "functions", "leaks", "tags", "threads", "sizes", "lifetimes"];

async function headline(view, metric) {
  return (await view.text(`.strip [data-metric="${metric}"]`)).replace(/\s+/g, " ");
}

/** Checks that each headline has the figure of the export. */
async function agrees(view, totals) {
  for (const metric of HEADLINES) {
    const said = await headline(view, metric);
    const estimate = totals[key(metric)];
    assert.ok(said.includes(figure(metric, estimate.value)), `${metric}: "${said}" is not ${estimate.value}`);
    assert.ok(said.includes(errorOf(metric, estimate)), `${metric}: "${said}" is not ± ${estimate.error}`);
    if (!(estimate.error > 0)) assert.ok(!said.includes("±"), `${metric}: "${said}" is exact`);
  }
}

const all = (view) => view.page.locator("main").innerText();

const ALL = ["leaky", "server", "shapes", "sampled", "tags sampled", "auto", "exact", "pools", "phases", "losses"];
export const claims = {};

/** Headline figures that are wider than their box. */
function overflowing() {
  const right = (element) => Math.floor(element.getBoundingClientRect().right);
  return [...document.querySelectorAll(".strip li")]
    .filter((item) => [...item.querySelectorAll("span")].some((text) => right(text) > right(item)))
    .map((item) => item.innerText);
}

claims["headline figures stay in their boxes, also on a phone"] = async (sight) => {
  for (const name of ["leaky", "server", "sampled", "auto"])
    for (const width of [390, 1000, 1400]) {
      const view = await sight.open(name, { width, height: 844 });
      assert.deepEqual(await view.page.evaluate(overflowing), [], `${name}, ${width}`);
    }
};

for (const name of ALL)
  claims[`no view of the profile ${name} is empty`] = async (sight) => {
    const view = await sight.open(name);
    assert.ok((await view.total()) > 0);
    assert.ok(Number((await view.graph()).drawn) > 0);
    const tabs = await tabsOf(view);
    assert.deepEqual(tabs.filter((tab) => tab !== "source"), TABS);
    for (const tab of tabs) {
      await view.tab(tab);
      assert.ok((await view.text("#tabpanel")).trim().length > 20, tab);
    }
  };

Object.assign(claims, {
  "headlines have the figures of the export": async (sight) => {
    for (const name of ["leaky", "server", "sampled"])
      await agrees(await sight.open(name), sight.exported(name).totals);
  },

  "the share of temporary calls is that of the export": async (sight) => {
    const { totals } = sight.exported("shapes");
    const share = (100 * totals.temp_objects.value) / totals.alloc_objects.value;
    const view = await sight.open("shapes");
    assert.ok((await headline(view, "temporary")).includes(`${share.toFixed(1)}%`), `${share}`);
  },

  "a click on a headline chooses its metric": async (sight) => {
    const view = await sight.open("leaky");
    const { totals } = sight.exported("leaky");
    for (const metric of ["calls", "peak", "allocated"]) {
      await view.page.locator(`.strip [data-metric="${metric}"]`).click();
      await view.becomes(view.total, totals[key(metric)].value, metric);
      assert.equal(await view.page.locator("#metric").inputValue(), metric);
    }
  },

  "the page says which program ran, how, and how figures were obtained": async (sight) => {
    const { process, sampling } = sight.exported("leaky");
    const view = await sight.open("leaky");
    const said = await all(view);
    assert.ok((await view.text("h1")).includes("indexer"));
    for (const fact of [String(process.pid), process.exe, sampling.method]) assert.ok(said.includes(fact), fact);
    assert.equal(await view.text(".method"), "exact");
    assert.equal(await (await sight.open("sampled")).text(".method"), "sampled");
  },

  "the findings are the advice of the export, in the same order": async (sight) => {
    const { advice } = sight.exported("exact");
    const view = await sight.open("exact");
    const items = await view.page.locator(".findings li").allInnerTexts();
    assert.ok(advice.length > 0, "the export has no advice");
    const places = advice.map(({ headline }) => items.findIndex((item) => item.includes(headline)));
    assert.deepEqual(places, [...places].sort((a, b) => a - b), `${items}`);
    advice.forEach((each, i) => {
      const action = each.action.split(";")[0]; // the rest names a command; the page has a button instead
      for (const part of [each.headline, each.function, action])
        assert.ok(items[places[i]]?.includes(part), `${part} is not in ${items}`);
    });
  },

  "advice about a leak leads to the tab of leaks, not to a command": async (sight) => {
    const view = await sight.open("exact");
    const leak = view.page.locator(".findings li[data-kind=leak]").first();
    assert.doesNotMatch(await leak.innerText(), /plimsoll report/);
    await leak.getByRole("button", { name: "when they were made" }).click();
    await view.page.locator("#tab-leaks[aria-selected=true]").waitFor();
    assert.match(await view.text("#tabpanel"), /index_add_term/);
  },

  "the page of a part of a profile says so, and that the timeline is of the whole program": async (sight) => {
    const { profile } = sight.plan.profiles.server;
    const report = path.join(sight.plan.directory, "part.html");
    sight.told("html", "--tag", "request", "-o", report, profile);
    const view = await sight.visit(pathToFileURL(report).href);
    assert.match(await view.text(".strip .part"), /request/);
    assert.match(await view.text(".timeline"), /of the whole program/);
    const [, stacks] = sight.told("report", "--tag", "request", profile).match(/stacks ([\d,]+)/);
    assert.ok((await view.text(".strip")).includes(`${stacks} stack`), stacks);
  },

  "a function in a finding is a button that picks it everywhere": async (sight) => {
    const view = await sight.open("exact");
    const button = view.page.locator(".findings li button").first();
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    await view.page.locator("#sites-table tr[aria-selected=true]").first().waitFor();
    assert.match(view.page.url(), /picked=/);
  },

  "losses are shown if there are any, and only then": async (sight) => {
    const losses = Object.values(sight.exported("losses").losses).filter((count) => count > 0);
    const view = await sight.open("losses");
    const rows = await view.page.locator(".notice tbody tr").count();
    assert.ok(rows >= losses.length && losses.length > 10, `${rows} rows`);
    assert.equal(await view.page.locator(".notice.quiet").count(), 0);
    const sound = await sight.open("leaky");
    assert.equal(await sound.page.locator(".notice").count(), 0);
  },

  "a profile of a program that allocated nothing says so": async (sight) => {
    const view = await sight.open("empty");
    assert.match(await all(view), /nothing was allocated/i);
    for (const tab of await tabsOf(view)) await view.tab(tab);
  },

  "the about box names every bundled package and its licence": async (sight) => {
    const view = await sight.open("leaky");
    await view.page.locator(".brand").click();
    const said = await view.page.locator("dialog").textContent();
    for (const part of ["preact", "uplot", "d3-hierarchy", "MIT", "ISC", "Permission"])
      assert.ok(said.toLowerCase().includes(part.toLowerCase()), part);
  },

  "? opens help with the keys and what metrics mean": async (sight) => {
    const view = await sight.open("leaky");
    await view.press("?");
    const said = await view.page.locator("dialog[open]").innerText();
    for (const part of ["search", "Temporary", "±"]) assert.ok(said.includes(part), part);
    await view.press("Escape");
    await view.page.locator("dialog[open]").waitFor({ state: "detached" });
  },
});
