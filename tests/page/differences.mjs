// SPDX-License-Identifier: MIT
// differences.mjs - the page of two profiles: what changed from the first to the second.

import assert from "node:assert/strict";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { figure, key, METRICS, sums } from "./figures.mjs";
import { near } from "./sight.mjs";

/** +7.7 MiB, −3 KiB */
function change(metric, value) {
  return (value < 0 ? "−" : "+") + figure(metric, Math.abs(value));
}

export const claims = {
  "a difference adds up to export --diff-base, by every metric": async (sight) => {
    const wanted = sums(sight.exported("difference"));
    const view = await sight.open("difference");
    for (const metric of Object.keys(METRICS)) await view.addsUp(metric, wanted[key(metric)]);
  },

  "the page of a difference opens with the changes, and names both runs": async (sight) => {
    const view = await sight.open("difference", { hash: "metric=allocated" });
    await view.page.locator("#tab-changes[aria-selected=true]").waitFor();
    const said = (await view.text("#tabpanel")).replace(/\s+/g, " ");
    assert.match(said, /\+244 KiB new/); // only in the second run
    assert.match(said, /shapes::render .* gone/); // only in the first run
    await view.page.locator("#tabpanel .unfold").first().click();
    assert.match(await view.text("#tabpanel .unfolded"), /shapes::audit/);
    const all = await view.page.locator("body").innerText();
    for (const name of ["before", "after"]) assert.ok(all.includes(name), name);
  },

  "the total change is that of the export": async (sight) => {
    const { totals } = sight.exported("difference");
    const view = await sight.open("difference", { hash: "metric=allocated" });
    const said = (await view.page.locator("main").innerText()).replace(/\s+/g, " ");
    const wanted = change("allocated", totals.alloc_space.value);
    assert.ok(said.includes(wanted) || said.includes(wanted.replace("−", "-")), `${wanted} is not on the page`);
  },

  "a difference says how the figures of each run were obtained": async (sight) => {
    const { shapes, sampled } = sight.plan.profiles;
    const report = path.join(sight.plan.directory, "mixed.html");
    sight.told("html", "-o", report, shapes.profile, sampled.profile);
    assert.equal(await (await sight.visit(pathToFileURL(report).href)).text(".method"), "exact → sampled");
    assert.equal(await (await sight.open("difference")).text(".method"), "exact");
  },

  "the tooltip of a box has the figures before and after": async (sight) => {
    const view = await sight.open("difference", { hash: "metric=allocated" });
    const box = (await view.boxes()).filter((each) => each.width > 60).at(-1);
    await view.page.locator("#flame").hover({ position: { x: box.x + box.width / 2, y: box.y + box.height / 2 } });
    assert.match(await view.text("#flame-tip"), /→/);
  },

  "view A B serves the same page of a difference": async (sight) => {
    const { base, profile } = sight.plan.profiles.difference;
    const view = await sight.visit(await sight.serve(base, profile), { hash: "metric=allocated" });
    near(await view.total(), sums(sight.exported("difference"))[key("allocated")], "allocated");
    await view.page.locator("#tab-changes").waitFor();
  },
};
