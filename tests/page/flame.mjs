// SPDX-License-Identifier: MIT
// flame.mjs - the flame graph: its boxes are the export's stacks, and mouse, keyboard and touch work on them.

import assert from "node:assert/strict";
import { functionsOf, key, METRICS, sums, sumsBy } from "./figures.mjs";
import { near } from "./sight.mjs";

const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });

async function click(view, box, options = {}) {
  await view.page.locator("#flame").click({ position: middle(box), ...options });
}

async function zoomTo(view, name) {
  await click(view, await view.box(name));
  return view.until(async () => (await view.graph()).zoom, (zoom) => zoom !== "", `a zoom to ${name}`);
}

async function hover(view, box) {
  await view.page.locator("#flame").hover({ position: middle(box) });
}

function withFunction(exported, name) {
  return sums(exported, (site) => functionsOf(site, exported).includes(name));
}

/** The widest box: the root. */
function widest(boxes) {
  return boxes.reduce((best, box) => (box.width > best.width ? box : best));
}

/** Boxes directly below the root, by name. */
async function firstLevel(view) {
  const boxes = await view.boxes();
  const levels = [...new Set(boxes.map((box) => box.y))].sort((a, b) => a - b);
  return new Map(boxes.filter((box) => box.y === levels[1]).map((box) => [box.name, box.value]));
}

/** The same once the graph is grouped: a button is pressed before the graph is drawn. */
function groups(view, wanted) {
  const isGrouped = (found) => [...found.keys()].some((name) => wanted.has(name));
  return view.until(() => firstLevel(view), isGrouped, `one of ${[...wanted.keys()]}`);
}

export const claims = {};

for (const name of ["leaky", "server", "sampled"])
  claims[`the graph of ${name} adds up to the export's sites, by every metric`] = async (sight) => {
    const view = await sight.open(name);
    const wanted = sums(sight.exported(name));
    for (const metric of Object.keys(METRICS)) {
      const total = wanted[key(metric)];
      await view.addsUp(metric, total);
      assert.equal(await view.page.locator("#metric").inputValue(), metric);
      if (total > 0) near(widest(await view.boxes()).value, total, `${metric}, the widest box`);
    }
  };

Object.assign(claims, {
  "a box has the sum of all stacks through its function": async (sight) => {
    const exported = sight.exported("leaky");
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const boxes = await view.boxes();
    const own = new Set(exported.frames.filter(({ file }) => file.includes("leaky")).map((frame) => frame.function));
    const twice = (box) => boxes.some((each) => each !== box && each.name === box.name);
    const once = boxes.filter((box) => own.has(box.name) && !twice(box));
    assert.ok(once.length >= 4, `${boxes.map((box) => box.name)}`);
    for (const box of once) near(box.value, withFunction(exported, box.name)[key("allocated")], box.name);
  },

  "widths are in proportion, and boxes lie within the width of the root": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const boxes = await view.boxes();
    const whole = widest(boxes);
    assert.ok(boxes.length > 5, `${boxes.length} boxes`);
    for (const box of boxes) {
      const wanted = (whole.width * box.value) / whole.value;
      assert.ok(Math.abs(box.width - wanted) <= 2, `${box.name}: ${box.width}, not ${wanted}`);
      assert.ok(box.x >= whole.x - 1 && box.x + box.width <= whole.x + whole.width + 1, box.name);
    }
  },

  "a click zooms a box to the whole width, and Escape zooms out": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const before = await view.boxes();
    const small = before.filter((box) => box.width < 0.6 * widest(before).width && box.width > 40)[0];
    await zoomTo(view, small.name);
    const grown = await view.box(small.name);
    assert.ok(grown.width > 0.95 * widest(await view.boxes()).width, `${grown.width}`);
    assert.equal(grown.value, small.value);
    await view.press("Escape");
    await view.becomes(async () => (await view.graph()).zoom, "");
    near((await view.box(small.name)).width, small.width, "its width as before");
  },

  "the browser's back button undoes a zoom, and forward repeats it": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const before = await view.boxes();
    await zoomTo(view, before.filter((box) => box.width < 0.6 * widest(before).width && box.width > 40)[0].name);
    await view.page.goBack();
    await view.becomes(async () => (await view.graph()).zoom, "");
    await view.page.goForward();
    await view.until(async () => (await view.graph()).zoom, (zoom) => zoom !== "", "the zoom again");
  },

  "arrow keys walk the graph, Enter zooms, Escape zooms out, and each step is announced": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    await view.page.locator("#flame").focus();
    const said = () => view.page.locator("#flame-said").textContent();
    await view.press("Home");
    await view.press("ArrowDown");
    const first = await said();
    assert.match(first, /[\d.]+ ?(B|KiB|MiB)/);
    await view.press("ArrowDown");
    await view.until(said, (words) => words !== first, "other words");
    await view.press("Enter");
    await view.until(async () => (await view.graph()).zoom, (zoom) => zoom !== "", "a zoom");
    await view.press("Escape");
    await view.becomes(async () => (await view.graph()).zoom, "");
  },

  "grouped by tag, each tag has the sum of the export's sites under it": async (sight) => {
    const exported = sight.exported("server");
    const view = await sight.open("server", { hash: "metric=allocated" });
    await view.page.locator("#by-tag").click();
    await view.becomes(() => view.page.locator("#by-tag").getAttribute("aria-pressed"), "true");
    near(await view.total(), sums(exported)[key("allocated")], "all");
    const { tags } = exported;
    const top = (tag) => (tags[tag].parent ? top(tags[tag].parent) : tags[tag].name || "(no tag)");
    const wanted = sumsBy(exported, "allocated", (site) => top(site.tag));
    const found = await groups(view, wanted);
    assert.ok(wanted.size >= 2, `${[...wanted.keys()]}`);
    for (const [name, value] of wanted) near(found.get(name), value, name);
  },

  "grouped by thread, each name has the sum of its threads": async (sight) => {
    const exported = sight.exported("server");
    const view = await sight.open("server", { hash: "metric=calls" });
    await view.press("g");
    await view.becomes(() => view.page.locator("#by-tag").getAttribute("aria-pressed"), "true");
    await view.press("g");
    await view.becomes(() => view.page.locator("#by-thread").getAttribute("aria-pressed"), "true");
    const wanted = sumsBy(exported, "calls", (site) => exported.threads[site.thread].name);
    const found = await groups(view, wanted);
    for (const [name, value] of found) near(value, wanted.get(name), name);
    assert.ok(found.size >= 2, `${[...found.keys()]}`);
  },

  "the inverted graph begins with the functions that allocate": async (sight) => {
    const exported = sight.exported("leaky");
    const view = await sight.open("leaky", { hash: "metric=allocated&inverted=1" });
    near(await view.total(), sums(exported)[key("allocated")], "all");
    const found = await firstLevel(view);
    assert.ok(!found.has("main"), `${[...found.keys()]}`);
    const callers = (await view.boxes()).filter((box) => box.name === "main").length;
    assert.ok(callers > 0, "main is nobody's caller");
  },

  "callers and callees of a function are those of the export": async (sight) => {
    const exported = sight.exported("leaky");
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const name = "parse_line";
    const box = await view.box(name);
    await click(view, box, { button: "right" });
    await view.page.getByRole("menuitem", { name: /callers/i }).click();
    assert.match(await view.until(() => view.page.url(), (url) => url.includes("sandwich="), "the link"), /sandwich=/);
    const wanted = withFunction(exported, name)[key("allocated")];
    near(await view.until(view.total, (total) => Math.abs(total - wanted) < 1, `${wanted}`), wanted, name);
    const names = (await view.boxes()).map((each) => each.name);
    const stacks = exported.sites.map((site) => functionsOf(site, exported)).filter((stack) => stack.includes(name));
    const callers = stacks.map((stack) => stack[stack.lastIndexOf(name) + 1]);
    const callees = stacks.map((stack) => stack[stack.indexOf(name) - 1]).filter((callee) => /_term/.test(callee));
    assert.ok(callers.length && callees.length);
    for (const other of [name, ...callers, ...callees]) assert.ok(names.includes(other), `${other} is not in ${names}`);
    await view.press("Escape");
    await view.until(() => view.page.url(), (url) => !url.includes("sandwich="), "the whole graph again");
  },

  "the menu hides all stacks through a function": async (sight) => {
    const exported = sight.exported("leaky");
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const box = await view.box("parse_line");
    await click(view, box, { button: "right" });
    await view.page.getByRole("menuitem", { name: /hide/i }).click();
    const wanted = sums(exported, (site) => !functionsOf(site, exported).includes("parse_line"))[key("allocated")];
    near(await view.until(view.total, (total) => Math.abs(total - wanted) < 1, `${wanted}`), wanted, "the rest");
  },

  "a stack is copied, or shown for copying by hand if the browser refuses": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const copy = async () => {
      await click(view, await view.box("parse_line"), { button: "right" });
      await view.page.locator("#flame-menu-copy-stack").click();
    };
    await view.page.evaluate(() => (navigator.clipboard.writeText = async (text) => void (window.copied = text)));
    await copy();
    const clipboard = () => view.page.evaluate(() => window.copied);
    const copied = await view.until(clipboard, (text) => text !== undefined, "a copy");
    const lines = copied.trim().split("\n");
    assert.match(lines[0], /parse_line.*parse\.c:\d+/);
    assert.match(lines[1], /parse_file/);
    await view.page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error("no"))));
    await copy();
    assert.equal(await view.page.locator("textarea.flame-copy").inputValue(), copied);
  },

  "the keyboard alone reaches a box of the graph and its menu": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const focused = () => view.page.evaluate(() => document.activeElement.id || document.activeElement.className);
    for (let i = 0; i < 60 && (await focused()) !== "flame"; i++) await view.press("Tab");
    assert.equal(await focused(), "flame");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "."]) await view.press(key);
    await view.page.getByRole("menu").waitFor();
    await view.press("ArrowDown");
    await view.press("Enter");
    await view.until(() => view.page.url(), (url) => url.includes("sandwich="), "callers and callees");
    await view.drawn(); // until then, Escape closes what was open before
    await view.press("Escape");
    await view.until(() => view.page.url(), (url) => !url.includes("sandwich="), "the whole graph again");
  },

  "a tap shows what a box is and does not zoom": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated", width: 390, height: 844, touch: true });
    const box = await view.box("parse_line");
    await view.page.locator("#flame").tap({ position: middle(box) });
    assert.match(await view.text("#flame-tip"), /parse_line/);
    assert.equal((await view.graph()).zoom, "");
    await view.page.locator("#flame-tip-zoom").tap();
    await view.until(async () => (await view.graph()).zoom, (zoom) => zoom !== "", "a zoom");
  },

  "the root can be at the bottom, and colours can be by tag": async (sight) => {
    const view = await sight.open("server", { hash: "metric=allocated" });
    const down = await view.boxes();
    await view.page.getByRole("button", { name: "Flame", exact: true }).click();
    const up = await view.until(view.boxes, (boxes) => widest(boxes).y > widest(down).y, "the root at the bottom");
    assert.equal(up.length, down.length);
    const legend = () => view.page.locator(".flame-legend").innerText();
    const modules = await legend();
    await view.page.locator(".flame select").selectOption("tag");
    await view.until(legend, (words) => words !== modules && /request/.test(words), "tags in the legend");
  },

  "a tooltip has the function, its place, its figure and its share": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const box = await view.box("parse_line");
    await hover(view, box);
    const said = await view.text("#flame-tip");
    assert.match(said, /parse_line/);
    assert.match(said, /parse\.c/);
    assert.match(said, /%/);
    assert.match(said, /MiB|KiB/);
    assert.ok(!said.includes("±"), said);
  },

  "a tooltip has the error of an estimate": async (sight) => {
    const view = await sight.open("sampled", { hash: "metric=allocated" });
    const boxes = await view.boxes();
    await hover(view, boxes.filter((box) => box.width > 60).at(-1));
    assert.match(await view.text("#flame-tip"), /±/);
  },

  "a link reopens the same view": async (sight) => {
    const view = await sight.open("leaky", { hash: "metric=allocated" });
    const before = await view.boxes();
    await zoomTo(view, before.filter((box) => box.width < 0.6 * widest(before).width && box.width > 40)[0].name);
    await view.page.fill("#search", "index_");
    await view.until(() => view.page.url(), (url) => url.includes("search="), "the search in the link");
    await view.tab("functions");
    const again = await sight.visit(view.page.url());
    assert.deepEqual(await again.graph(), await view.graph());
    assert.deepEqual(await again.boxes(), await view.boxes());
    assert.equal(await again.page.locator("#metric").inputValue(), "allocated");
    assert.equal(await again.page.locator("#search").inputValue(), "index_");
    await again.page.locator("#tab-functions[aria-selected=true]").waitFor();
  },

  "100,000 stacks are drawn, zoomed and searched": async (sight) => {
    const view = await sight.open("large", { hash: "metric=allocated" });
    const { nodes, drawn, total } = await view.graph();
    assert.ok(Number(nodes) > 1000 && Number(nodes) < 100_000, `${nodes} boxes: too few, or more than can be seen`);
    assert.ok(Number(drawn) > 100 && Number(drawn) < Number(nodes), `${drawn} drawn`);
    const inverted = await sight.open("large", { hash: "metric=allocated&inverted=1" });
    const other = await inverted.graph();
    assert.equal(other.total, total);
    assert.ok(Number(other.nodes) > 1000 && Number(other.nodes) < 100_000, `${other.nodes} boxes, inverted`);
    const before = await view.boxes();
    await zoomTo(view, before.filter((box) => box.width < 0.3 * widest(before).width)[0].name);
    await view.page.fill("#search", "example");
    await view.until(async () => Number((await view.graph()).matches), (matches) => matches > 1000, "matches");
  },
});
