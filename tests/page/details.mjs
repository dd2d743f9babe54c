// SPDX-License-Identifier: MIT
// details.mjs - tags, threads, sizes and lifetimes: figures equal the export's, and a click narrows the whole page.

import assert from "node:assert/strict";
import { figure, key, sums, sumsBy } from "./figures.mjs";
import { near } from "./sight.mjs";

const sum = (values) => values.reduce((total, value) => total + value, 0);
async function data(view, selector, name) {
  await view.drawn();
  return Number(await view.page.locator(selector).first().getAttribute(`data-${name}`));
}

/** Named tags at the top of the tree. */
function topTags(exported) {
  const tags = exported.tags.map((tag, index) => ({ ...tag, index }));
  return tags.filter((tag) => tag.parent === 0 && tag.kind === "named");
}

/** Bytes allocated under a tag or one below it. */
function bytesUnder({ tags, ...exported }, tag) {
  const within = (index) => index === tag || (index !== null && within(tags[index].parent));
  return sums({ tags, ...exported }, (site) => within(site.tag))[key("allocated")];
}

async function comesTo(view, wanted, what) {
  const total = await view.until(view.total, (found) => Math.abs(found - wanted) < 1, `${wanted} of ${what}`);
  near(total, wanted, what);
}

export const claims = {
  "a click on a tag narrows the page as export --tag does": async (sight) => {
    const exported = sight.exported("server");
    const tag = topTags(exported)[0];
    const view = await sight.open("server", { hash: "tab=tags&metric=allocated" });
    await view.page.locator(`#tag-tree [data-tag="${tag.index}"] button.plain`).click();
    const wanted = sums(sight.exported("server", "--tag", tag.path))[key("allocated")];
    await comesTo(view, wanted, tag.path);
    assert.ok((await view.text(".chips")).includes(tag.name));
    await view.page.locator(".chip").first().click();
    await view.becomes(view.total, sums(exported)[key("allocated")]);
  },

  "the tag tree has the figures of the export": async (sight) => {
    const exported = sight.exported("server");
    const view = await sight.open("server", { hash: "tab=tags&metric=allocated" });
    const said = await view.text("#tag-tree");
    const tags = topTags(exported);
    assert.ok(tags.length > 0, "the export has no tags");
    for (const tag of tags) {
      const bytes = bytesUnder(exported, tag.index);
      assert.ok(said.includes(tag.name) && said.includes(figure("allocated", bytes)), `${tag.name}: ${bytes}`);
    }
  },

  "the treemap of tags adds up to the export, and a click on a box narrows the page": async (sight) => {
    const exported = sight.exported("server");
    const view = await sight.open("server", { hash: "tab=tags&metric=allocated" });
    const map = view.page.locator("#treemap");
    if (!(await map.count())) await view.page.getByRole("button", { name: /treemap/i }).click();
    near(await data(view, "#treemap", "total"), sums(exported)[key("allocated")], "all");
    const box = view.page.locator("#treemap button[data-box]").last();
    await box.click();
    await view.page.locator(".chip").waitFor();
    assert.ok((await view.total()) < sums(exported)[key("allocated")]);
  },

  "threads have the calls of the export, and a click narrows the page to their name": async (sight) => {
    const exported = sight.exported("server");
    const view = await sight.open("server", { hash: "tab=threads&metric=calls" });
    const wanted = sumsBy(exported, "calls", (site) => exported.threads[site.thread].name);
    const said = await view.text("#threads-table");
    for (const [name, calls] of wanted) {
      assert.ok(said.includes(name), name);
      assert.ok(said.includes(figure("calls", calls)), `${name}: ${calls}: ${said}`);
    }
    const [name, calls] = [...wanted].sort((a, b) => b[1] - a[1])[0];
    await view.page.locator("#threads-table").getByRole("button", { name, exact: true }).click();
    await comesTo(view, calls, name);
  },

  "the histogram of sizes adds up to the export's": async (sight) => {
    for (const name of ["leaky", "sampled"]) {
      const view = await sight.open(name, { hash: "tab=sizes" });
      near(await data(view, "#sizes-chart", "total"), sum(sight.exported(name).totals.sizes), name);
    }
  },

  "the histograms of lifetimes and ages add up to the export's": async (sight) => {
    const { totals } = sight.exported("leaky");
    const view = await sight.open("leaky", { hash: "tab=lifetimes" });
    near(await data(view, "#lifetimes-chart", "total"), sum(totals.lifetimes), "lifetimes");
    near(await data(view, "#ages-chart", "total"), sum(totals.ages), "ages");
  },

  "the map of what roots hold has the figures of the export, and a click shows the way to the blocks": async (sight) => {
    const holders = sight.exported("held").holders;
    const view = await sight.open("held", { hash: "tab=held" });
    near(await data(view, "#treemap", "total"), sum(holders.map((holder) => holder.bytes)), "all");
    const root = view.page.locator("#treemap .treebox", { hasText: /^tree_root/ });
    await root.click({ position: { x: 12, y: 8 } }); /* its name: the rest of it are other boxes */
    const detail = view.page.locator("#held-detail");
    await detail.waitFor();
    assert.match(await detail.innerText(), /tree_root[^]*retains 31\.9 KiB in 511 blocks/);
    const below = view.page.locator('#treemap [aria-label^="tree_root"][aria-label*="→ make_node:"]');
    await below.click();
    assert.match((await view.text("#held-way")).replace(/\s+/g, " "), /tree_root.*make_node/);
    await below.click();
    await detail.waitFor({ state: "detached" });
  },

  "roots that are too small for a box of their own are one box": async (sight) => {
    const view = await sight.open("held", { hash: "tab=held", width: 160, height: 844 });
    await view.page.locator('#treemap [aria-label*=" more:"]').first().waitFor({ state: "attached" });
    near(await data(view, "#treemap", "total"), sum(sight.exported("held").holders.map((holder) => holder.bytes)), "all");
  },

  "memory that is not resident has the figures of the export, and a key chooses another reading": async (sight) => {
    const readings = sight.exported("memory").residency;
    const fullest = readings.reduce((best, each, i) => (each.live_bytes > readings[best].live_bytes ? i : best), 0);
    const view = await sight.open("memory", { hash: "tab=memory" });
    const seconds = async () => Number(await data(view, "#residency [data-seconds]", "seconds"));
    assert.equal(await seconds(), readings[fullest].time_s);
    const rows = (await view.text("#residency-table")).replace(/\s+/g, " ");
    assert.match(rows, /untouched footprint\/holds\.c\S+ ← main 64\.0 MiB \S+ KiB 64\.0 MiB/, rows);
    await view.page.locator("#residency-table .unfold").first().click();
    assert.match(await view.text("#residency-table .unfolded"), /untouched[^]*main/);
    const [key, next] = fullest > 0 ? ["ArrowLeft", fullest - 1] : ["ArrowRight", 1];
    await view.page.locator("#residency [role=slider]").press(key);
    await view.becomes(seconds, readings[next].time_s, "the next reading");
  },

  "the tag tree has a line for untagged memory even if little of it is live": async (sight) => {
    const view = await sight.open("tags sampled", { hash: "tab=tags&metric=live" });
    const said = (await view.text("#tag-tree")).replace(/\s+/g, " ");
    assert.ok(sight.told("report", "--by", "tag", sight.plan.profiles["tags sampled"].profile).includes("(no tag)"));
    assert.ok(said.includes("(no tag)"), said);
  },

  "a module has the same colour in the graph and in the treemap": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=tags&metric=allocated" });
    const coloursOf = (locator) =>
      locator.evaluateAll((all) => [...new Set(all.map((each) => getComputedStyle(each).backgroundColor))]);
    const boxes = view.page.locator("#treemap .treebox:not(.group)");
    await boxes.first().waitFor();
    const entry = view.page.locator(".flame-legend li", { hasText: "indexer" });
    const [wanted] = await coloursOf(entry.locator("span").first());
    const drawn = await coloursOf(boxes);
    assert.ok(drawn.includes(wanted), `${wanted} is not among ${drawn}`);
  },

  "the choice of tree or treemap survives a visit to another tab": async (sight) => {
    const view = await sight.open("server", { hash: "tab=tags" });
    await view.page.locator("#tags-treemap").click();
    await view.page.locator("#tags-modules").click();
    await view.tab("sites");
    await view.tab("tags");
    await view.page.locator("#tags-modules[aria-pressed=true]").waitFor();
    await view.page.locator("#tags-tree").click();
    await view.tab("sites");
    await view.tab("tags");
    await view.page.locator("#tag-tree").waitFor();
  },

  "for a profile without tags, the page explains what tags are": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=tags" });
    assert.match(await view.text("#tabpanel"), /plimsoll_push|PLIMSOLL_TAG|plimsoll\.h/);
  },
};
