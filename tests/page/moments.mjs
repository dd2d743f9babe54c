// SPDX-License-Identifier: MIT
// moments.mjs - the timeline: every view shows the interval that is chosen there.
//
// phases.c does three things one after the other; its profile has the composition of the heap about every 0.1 s.

import assert from "node:assert/strict";
import { figure, key, sums } from "./figures.mjs";
import { near } from "./sight.mjs";

const METRICS = ["allocated", "calls", "live", "blocks"];

/** The chosen interval, in seconds. */
async function interval(view) {
  const { since, until } = await view.page.locator("#timeline").evaluate((element) => ({ ...element.dataset }));
  return [Number(since), Number(until)];
}

async function drag(view, from, to) {
  const plot = view.page.locator("#timeline .u-over").first();
  const { x, y, width, height } = await plot.boundingBox();
  await view.page.mouse.move(x + from * width, y + height / 2);
  await view.page.mouse.down();
  await view.page.mouse.move(x + ((from + to) / 2) * width, y + height / 2, { steps: 4 });
  await view.page.mouse.move(x + to * width, y + height / 2, { steps: 4 });
  await view.page.mouse.up();
  await view.until(() => view.page.url(), (url) => /since=|until=/.test(url), "the interval in the link");
}

/** Checks that every metric of the interval is that of `export --since --until`. */
async function agrees(sight, view) {
  const [since, until] = await interval(view);
  assert.ok(since < until, `${since} to ${until}`);
  const exported = sight.exported("phases", "--since", `${since}s`, "--until", `${until}s`);
  const wanted = sums(exported);
  for (const metric of METRICS)
    await view.addsUp(metric, wanted[key(metric)], `${metric} from ${since} to ${until}`);
  await view.metric("allocated");
  const said = (await view.text('.strip [data-metric="allocated"]')).replace(/\s+/g, " ");
  assert.ok(said.includes(figure("allocated", exported.totals[key("allocated")].value)), said);
  return exported;
}

export const claims = {
  "an interval chosen by dragging has the figures of export --since --until": async (sight) => {
    for (const [from, to] of [
      [0.05, 0.3],
      [0.4, 0.62],
      [0.7, 0.97],
    ]) {
      const view = await sight.open("phases", { hash: "metric=allocated" });
      await drag(view, from, to);
      await agrees(sight, view);
      await view.page.context().close();
    }
  },

  "RSS is drawn at first, and a click on its name removes it": async (sight) => {
    const view = await sight.open("phases");
    const entry = view.page.locator(".legend li button", { hasText: "RSS" });
    assert.doesNotMatch(await entry.innerText(), /not drawn/);
    await entry.click();
    await view.until(() => entry.innerText(), (said) => said.includes("not drawn"), "it is left out");
  },

  "a metric that is unknown for an interval is replaced, and the page says so": async (sight) => {
    const times = sight.exported("phases").snapshots.map((each) => each.time_s);
    const view = await sight.open("phases", { hash: `metric=peak&since=${times[Math.floor(times.length / 2)]}` });
    assert.equal(await view.page.locator("#metric").inputValue(), "allocated");
    assert.match(await view.text(".timeline"), /Peak is known only for the whole run/);
  },

  "a link to an interval that ends before it begins shows the whole run": async (sight) => {
    const view = await sight.open("phases", { hash: "since=2&until=1&metric=allocated" });
    near(await view.total(), sums(sight.exported("phases"))[key("allocated")], "allocated");
    assert.equal(await view.page.locator("#whole-run").count(), 0);
  },

  "an interval chosen without a mouse has the figures of export --since --until": async (sight) => {
    const view = await sight.open("phases", { hash: "metric=allocated" });
    const choices = view.page.locator(".timeline select");
    assert.equal(await choices.count(), 2);
    const moments = await view.page.locator("#since option").count();
    await view.page.selectOption("#since", String(Math.floor(moments / 3)));
    await view.page.selectOption("#until", String(Math.floor((2 * moments) / 3)));
    await view.until(() => view.page.url(), (url) => /since=.*until=/.test(url), "the interval in the link");
    await agrees(sight, view);
  },

  "an interval shows no functions of other phases": async (sight) => {
    const view = await sight.open("phases", { hash: "metric=allocated" });
    await drag(view, 0.04, 0.28);
    const names = (await view.boxes()).filter((box) => box.value > 0).map((box) => box.name);
    assert.ok(names.includes("make_first") && !names.includes("make_last"), `${names}`);
  },

  "metrics that are unknown for an interval are not offered": async (sight) => {
    const view = await sight.open("phases", { hash: "metric=allocated" });
    await drag(view, 0.3, 0.8);
    const offered = await view.page.locator("#metric option").evaluateAll((all) => all.map((option) => option.value));
    assert.deepEqual(offered.sort(), [...METRICS].sort());
  },

  "a button goes back to the whole run": async (sight) => {
    const view = await sight.open("phases", { hash: "metric=allocated" });
    await drag(view, 0.3, 0.8);
    await view.page.getByRole("button", { name: /whole run/i }).click();
    await view.becomes(view.total, sight.exported("phases").totals[key("allocated")].value);
  },

  "the timeline has live memory, RSS and the peak": async (sight) => {
    const view = await sight.open("phases");
    const said = await view.text(".timeline");
    for (const part of [/live/i, /RSS/, /allocated/]) assert.match(said, part);
    const { totals } = sight.exported("phases");
    const words = await view.page.locator("#timeline").getAttribute("aria-label");
    assert.ok(words.includes(`peak ${figure("peak", totals.peak_space.value)}`), words);
    assert.ok((await view.page.locator("#timeline canvas").count()) > 0);
  },

  "layers by site name the sites": async (sight) => {
    const view = await sight.open("phases");
    await view.page.locator("#layers-by [data-by=site]").click();
    const said = await view.text(".timeline");
    for (const name of ["make_first", "make_last"]) assert.ok(said.includes(name), said);
  },

  "a picked function has a curve of its own": async (sight) => {
    const view = await sight.open("phases");
    await view.page.locator("#sites-table tr[data-row]").filter({ hasText: "make_last" }).click();
    await view.until(() => view.text(".timeline"), (words) => words.includes("make_last"), "its name in the legend");
  },

  "a link reopens the interval": async (sight) => {
    const view = await sight.open("phases", { hash: "metric=allocated" });
    await drag(view, 0.4, 0.7);
    const again = await sight.visit(view.page.url());
    assert.deepEqual(await interval(again), await interval(view));
    assert.equal(await again.total(), await view.total());
  },
};
