// SPDX-License-Identifier: MIT
// search.mjs - a search marks the matching boxes and shows their total; a match inside another one counts once.

import assert from "node:assert/strict";
import { figure, functionsOf, key, sums } from "./figures.mjs";
import { near } from "./sight.mjs";

async function search(view, text) {
  await view.page.fill("#search", text);
  await view.until(() => view.page.url(), (url) => new URL(url).hash.includes("search="), "the search in the link");
  return view.until(view.graph, ({ matches }) => Number(matches) > 0, `matches of ${text}`);
}

function wantedOf(exported, pattern, metric) {
  const matches = (site) => functionsOf(site, exported).some((name) => pattern.test(name));
  return sums(exported, matches)[key(metric)];
}

export const claims = {
  "matches add up to the export's stacks with a matching function": async (sight) => {
    for (const [name, pattern, metric] of [
      ["leaky", "^index_", "allocated"],
      ["leaky", "index_|parse_", "calls"],
      ["shapes", "shapes::", "allocated"],
      ["sampled", "shapes::", "calls"],
    ]) {
      const view = await sight.open(name, { hash: `metric=${metric}` });
      const { matchTotal } = await search(view, pattern);
      const wanted = wantedOf(sight.exported(name), new RegExp(pattern), metric);
      assert.ok(wanted > 0);
      near(Number(matchTotal), wanted, `${name}: ${pattern}, ${metric}`);
      const said = await view.text(".flame");
      assert.ok(said.includes(figure(metric, wanted)), `${figure(metric, wanted)} is not in "${said.slice(0, 400)}"`);
    }
  },

  "the page reports an invalid pattern and keeps the last valid one": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const { matches } = await search(view, "index_");
    await view.page.fill("#search", "index_(");
    await view.page.locator("#search[aria-invalid=true]").waitFor();
    assert.match(await view.text(".search"), /not a regular expression \(unterminated group\); still showing index_$/);
    assert.equal((await view.graph()).matches, matches);
  },

  "/ focuses the search, Enter goes to the next match, Escape clears the search": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    await view.press("/");
    assert.equal(await view.page.evaluate(() => document.activeElement.id), "search");
    await view.page.keyboard.type("main");
    await view.press("Enter");
    await view.until(view.graph, ({ matches }) => Number(matches) > 0, "matches");
    await view.page.locator("#search").focus();
    await view.press("Escape");
    await view.until(view.graph, ({ matches }) => Number(matches ?? 0) === 0, "no match");
  },

  "a search that was cleared does not come back, however late the page gets to it": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    await view.page.locator("#search").evaluate(async (input) => {
      const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      input.focus();
      input.value = "main";
      input.dispatchEvent(new Event("input", { bubbles: true }));
      await painted();
      await painted();
      for (const end = performance.now() + 200; performance.now() < end; ); /* the page is busy: the pause is over */
      input.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
      await new Promise((resolve) => setTimeout(resolve, 400)); /* comes after every timer that was set before */
    });
    assert.equal(await view.page.inputValue("#search"), "");
    assert.equal(Number((await view.graph()).matches ?? 0), 0);
    assert.ok(!view.page.url().includes("search="), view.page.url());
  },

  "a search does not scroll; Enter scrolls to the match and shows its tooltip": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated", height: 480 });
    const top = () => view.page.locator("#flame").evaluate((canvas) => canvas.getBoundingClientRect().top + scrollY);
    const before = await top();
    await search(view, "index_add_term");
    assert.equal(await top(), before);
    assert.ok(before > 480, "the graph is visible already");
    await view.page.locator("#search").press("Enter");
    await view.page.locator("#flame-tip").waitFor();
    assert.match(await view.text("#flame-tip"), /^index_add_term/);
    const more = await view.page.locator("#flame-more").boundingBox();
    assert.ok(more.y >= 0 && more.y + more.height <= 480, JSON.stringify(more));
    await view.page.locator("#search").focus();
    await view.becomes(() => view.page.locator("#flame-tip").count(), 0);
  },

  "Enter right after typing goes to the first match": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    await view.page.locator("#search").pressSequentially("index_add_term");
    await view.press("Enter");
    await view.page.locator("#flame-tip").waitFor();
    assert.match(await view.text("#flame-tip"), /^index_add_term/);
  },

  "an unknown name has no match": async (sight) => {
    const view = await sight.open("leaky");
    await view.page.fill("#search", "no_such_function");
    await view.until(() => view.page.url(), (url) => url.includes("no_such"), "the search in the link");
    await view.until(view.graph, ({ matches }) => Number(matches) === 0, "no match");
  },
};
