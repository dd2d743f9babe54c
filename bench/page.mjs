// SPDX-License-Identifier: MIT
// page.mjs - opens pages in chromium and measures how soon something is drawn, and how smoothly it moves.
//
// usage: node page.mjs ROUNDS ZOOMS PAGE...      {PAGE: {drawn_ms: [], frame_ms: [], draw_ms: [], nodes}} as JSON
//
// A page reports its first drawing with performance.mark("plimsoll-drawn"), counted from the start of the navigation.
// Frames are those of requestAnimationFrame while the mouse zooms into boxes of the graph and out again. draw_ms is the
// time of the last drawing after each zoom, measured by the page. A page without a graph is clicked at the same rate.

import { pathToFileURL } from "node:url";
import { print, withBrowser } from "../tests/lib/browser.mjs";
import { PATIENCE_MS } from "../tests/lib/patience.mjs";

const [rounds, zooms] = process.argv.slice(2, 4).map(Number);
const pages = process.argv.slice(4);
const SIZE = { width: 1440, height: 900 };
const PAUSE_MS = 250; /* longer than the animation of a zoom */
const STILL_MS = 500;

const drawn = () => performance.getEntriesByName("plimsoll-drawn")[0]?.startTime;

async function open(browser, path) {
  const context = await browser.newContext({ viewport: SIZE, offline: true });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  await page.waitForFunction(drawn);
  return page;
}

async function timeToDraw(browser, path) {
  const page = await open(browser, path);
  const ms = await page.evaluate(drawn);
  await page.context().close();
  return ms;
}

/** Where to click: on a box of every level in turn, or, without a graph, on the canvas. */
async function target(page, number) {
  const canvas = await page.locator("#flame").boundingBox();
  const box = await page.evaluate((n) => {
    const boxes = window.plimsoll?.flame?.boxes().filter((each) => each.width > 20 && each.y >= 0) ?? [];
    return boxes.length ? boxes[(n * 7919) % boxes.length] : { x: 5, y: 5, width: 20, height: 10 };
  }, number);
  return [canvas.x + box.x + box.width / 2, canvas.y + box.y + box.height / 2];
}

async function framesWhileZooming(browser, path) {
  const page = await open(browser, path);
  await page.locator("#flame").scrollIntoViewIfNeeded();
  await page.waitForTimeout(STILL_MS);
  await page.evaluate(() => {
    window.frames_seen = [];
    const see = (now) => {
      window.frames_seen.push(now);
      requestAnimationFrame(see);
    };
    requestAnimationFrame(see);
  });
  const draw_ms = [];
  for (let i = 0; i < zooms; i++) {
    const [x, y] = await target(page, i);
    await page.mouse.click(x, y);
    await page.waitForTimeout(PAUSE_MS);
    draw_ms.push(await page.evaluate(() => window.plimsoll?.flame?.milliseconds() ?? 0));
    if (i % 4 === 3) await page.keyboard.press("Escape");
  }
  const times = await page.evaluate(() => window.frames_seen);
  const graph = page.locator("#flame");
  const nodes = await graph.evaluate((canvas) => Number(canvas.closest("[data-nodes]")?.dataset.nodes ?? 1));
  await page.context().close();
  return { frame_ms: times.slice(1).map((time, i) => time - times[i]), draw_ms, nodes };
}

print(
  await withBrowser(async (browser) => {
    const found = Object.fromEntries(pages.map((path) => [path, { drawn_ms: [] }]));
    for (let round = 0; round < rounds; round++)
      for (const path of pages) found[path].drawn_ms.push(await timeToDraw(browser, path));
    for (const path of pages) Object.assign(found[path], await framesWhileZooming(browser, path));
    return found;
  }),
);
