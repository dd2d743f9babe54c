// SPDX-License-Identifier: MIT
// screenshots.mjs - takes the pictures of docs/page.md. tools/screenshots calls it, and makes the reports.
//
// usage: node screenshots.mjs REPORTS OUT [NAME...]      OUT/NAME-light.png, OUT/NAME-dark.png

import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { withBrowser } from "../tests/lib/browser.mjs";
import { PATIENCE_MS } from "../tests/lib/patience.mjs";
import { shrink } from "./picture.mjs";

const [reports, out, ...names] = process.argv.slice(2);
const LAPTOP = { width: 1440, height: 900 };
const BYTES_MAX = 3e6;
const PHONE = { width: 390, height: 844 };

/** Scrolls so that `selector` begins below the bar. */
async function top(page, selector) {
  await page.locator(selector).first().evaluate((element) => {
    const bar = document.querySelector(".bar").getBoundingClientRect().height;
    scrollTo(0, element.getBoundingClientRect().top + scrollY - bar - 12);
  });
}

const graph = (page) => top(page, ".flame");
const details = (page) => top(page, ".tabs");

/** Where the box of a function is; the widest, if there are several. */
async function boxOf(page, name) {
  await graph(page);
  const boxes = await page.evaluate(() => window.plimsoll.flame.boxes());
  const found = boxes.filter((each) => each.name === name).sort((a, b) => b.width - a.width)[0];
  if (!found) throw new Error(`there is no box ${name} among ${boxes.map((each) => each.name)}`);
  return { x: found.x + found.width / 3, y: found.y + found.height / 2 };
}

const hover = (name) => async (page) => page.locator("#flame").hover({ position: await boxOf(page, name) });

const sandwich = (name) => async (page) => {
  await page.locator("#flame").click({ position: await boxOf(page, name), button: "right" });
  await page.locator("#flame-menu-sandwich").click();
  await page.mouse.move(5, 5);
};

const press = (selector, then) => async (page) => {
  await page.locator(selector).first().click();
  await then(page);
};

/** Chooses a part of the run, as the two boxes below the timeline do. */
async function choosePart(page) {
  const moments = await page.locator("#since option").count();
  await page.selectOption("#since", String(Math.floor(moments / 3)));
  await page.selectOption("#until", String(Math.floor((2 * moments) / 3)));
  await page.locator("#layers-by [data-by=site]").click();
}

/** One row for each picture: the report, what the address says, and what is done then. */
const VIEWS = {
  overview: { report: "scene" },
  timeline: { report: "indexer", hash: "metric=allocated", act: choosePart },
  flame: { report: "scene", hash: "metric=allocated", act: hover("scene::Renderer::render") },
  search: { report: "scene", hash: "metric=allocated&search=std::vector", act: graph },
  sandwich: { report: "scene", hash: "metric=allocated", act: sandwich("scene::Renderer::render") },
  sites: { report: "scene", hash: "tab=sites", act: press("#sites-table .unfold", details) },
  functions: { report: "scene", hash: "tab=functions", act: details },
  leaks: { report: "indexer", hash: "tab=leaks", act: details },
  source: { report: "scene", hash: "tab=source&metric=allocated", act: details },
  tags: { report: "server", hash: "tab=tags&metric=allocated", act: details },
  treemap: { report: "server", hash: "tab=tags&metric=allocated&columns=treemap", act: details },
  threads: { report: "server", hash: "tab=threads&metric=calls", act: details },
  sizes: { report: "server", hash: "tab=sizes", act: details },
  lifetimes: { report: "server", hash: "tab=lifetimes", act: details },
  difference: { report: "difference", hash: "tab=changes" },
  changes: { report: "difference", hash: "tab=changes", act: details },
  phone: { report: "scene", size: PHONE },
};

async function take(browser, name, theme) {
  const { report, hash = "", act, size = LAPTOP } = VIEWS[name];
  const context = await browser.newContext({
    viewport: size,
    colorScheme: theme,
    reducedMotion: "reduce",
    offline: true,
    deviceScaleFactor: 1,
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.goto(`${pathToFileURL(path.join(reports, report)).href}.html${hash && `#${hash}`}`);
  await page.locator("#flame").waitFor();
  await act?.(page);
  await page.waitForTimeout(400);
  const picture = shrink(await page.screenshot());
  await context.close();
  fs.writeFileSync(path.join(out, `${name}-${theme}.png`), picture);
  return picture.length;
}

await withBrowser(async (browser) => {
  let bytes = 0;
  for (const name of Object.keys(VIEWS))
    if (names.length === 0 || names.includes(name))
      for (const theme of ["light", "dark"]) bytes += await take(browser, name, theme);
  console.log(`${(bytes / 1024).toFixed(0)} KiB of pictures`);
  if (bytes > BYTES_MAX) throw new Error(`more than ${BYTES_MAX / 1e6} MB`);
});
