// SPDX-License-Identifier: MIT
// sight.mjs - what a claim about the page is given: reports to open, the truth to hold them against, and an eye on
// whatever must not happen meanwhile.
//
// On every page: no error, no word on the console about one, no dialog, and no request but for the report itself (or,
// where it is served, for what its server has). All of that is collected as problems().

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

const WAIT_MS = 10_000;
const OUTPUT_BYTES = 512 << 20;
const known = new Map();

/** `plimsoll export --format json OPTIONS` of a profile of the plan, or of a difference: read once. */
function exportOf(plan, name, options) {
  const { profile, base } = plan.profiles[name];
  const words = ["export", "--format", "json", ...(base ? ["--diff-base", base] : []), ...options, profile];
  const text = words.join(" ");
  if (!known.has(text)) {
    const output = execFileSync(plan.plimsoll, words, { maxBuffer: OUTPUT_BYTES, stdio: ["ignore", "pipe", "ignore"] });
    known.set(text, JSON.parse(output));
  }
  return known.get(text);
}

/** Starts `plimsoll view`: what it is told goes to its log, and its first line is the address. */
async function serve(plan, words, ended) {
  const server = spawn(plan.plimsoll, ["view", "--no-open", ...words], { stdio: ["ignore", "pipe", "pipe"] });
  ended.push(() => server.kill());
  let said = "";
  server.stderr.on("data", (part) => (said += part));
  return new Promise((resolve, reject) => {
    let line = "";
    server.stdout.on("data", (part) => {
      line += part;
      if (line.includes("\n")) resolve(line.slice(0, line.indexOf("\n")));
    });
    server.on("exit", (status) => reject(new Error(`plimsoll view ended with status ${status}: ${said}`)));
  });
}

function allowed(address, request) {
  const url = request.url();
  if (url.startsWith("data:") || url.startsWith("blob:")) return true;
  if (address.startsWith("file:")) return url.split("#")[0] === address.split("#")[0];
  return url.startsWith(new URL(".", address.split("#")[0]).href);
}

async function watch(page, address, problems) {
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => message.type() === "error" && problems.push(`console: ${message.text()}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.route("**/*", (route, request) => {
    if (allowed(address, request)) return route.continue();
    problems.push(`request: ${request.url()}`);
    return route.abort();
  });
}

export function makeSight(browser, plan) {
  const problems = [];
  const ended = [];

  async function visit(address, options = {}) {
    const { width = 1440, height = 900, dark = false, hash = "", touch = false } = options;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
      offline: address.startsWith("file:"),
      hasTouch: touch,
    });
    context.setDefaultTimeout(WAIT_MS);
    const page = await context.newPage();
    ended.push(() => context.close());
    await watch(page, address, problems);
    await page.goto(address + (hash ? `#${hash}` : ""));
    await page.locator("h1").waitFor();
    return makeView(page);
  }

  return {
    plan,
    visit,
    problems: () => problems,
    /** The report of a profile, from disk. */
    open: (name, options) => visit(pathToFileURL(plan.profiles[name].report).href, options),
    /** The address where a profile is served. */
    serve: (...words) => serve(plan, words, ended),
    /** What plimsoll prints when it is called like this. */
    told: (...words) => execFileSync(plan.plimsoll, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    exported: (name, ...options) => exportOf(plan, name, options),
    atEnd: (act) => ended.push(act),
    close: async () => {
      for (const act of ended.reverse()) await act();
    },
  };
}

/** A page, and the few things that are done with it again and again. */
function makeView(page) {
  const graph = () => page.locator("#flame").evaluate((canvas) => ({ ...canvas.closest("[data-total]").dataset }));
  const count = (selector) => page.locator(selector).count();
  const nothing = async () => (await count(".flame")) > 0 && (await count("#flame")) === 0;
  return {
    page,
    /** What the flame graph says it has drawn. */
    graph,
    /** What the graph adds up to; where there is none, it says that there is nothing to draw. */
    total: async () => ((await nothing()) ? 0 : Number((await graph()).total)),
    boxes: () => page.evaluate(() => window.plimsoll.flame.boxes()),
    box: async (name) => {
      const boxes = await page.evaluate(() => window.plimsoll.flame.boxes());
      const found = boxes.find((each) => each.name === name);
      assert.ok(found, `there is no box ${name} among ${boxes.slice(0, 20).map((each) => each.name)}`);
      return found;
    },
    /** Waits until `look` returns what is wanted. */
    becomes: (look, wanted, what) => becomes(page, look, (found) => found === wanted, `${what ?? look}: ${wanted}`),
    until: (look, holds, what) => becomes(page, look, holds, what ?? String(holds)),
    metric: (metric) => page.selectOption("#metric", metric),
    tab: async (name) => {
      await page.locator(`#tab-${name}`).click();
      await page.locator(`#tab-${name}[aria-selected=true]`).waitFor();
    },
    press: (keys) => page.keyboard.press(keys),
    text: (selector) => page.locator(selector).first().innerText(),
  };
}

async function becomes(page, look, holds, what) {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const found = await look();
    if (holds(found)) return found;
    if (Date.now() > end) assert.fail(`waited in vain for ${what}; it is ${JSON.stringify(found)}`);
    await page.waitForTimeout(30);
  }
}

/** Equal but for the last digits of a sum. */
export function near(found, wanted, what) {
  const slack = 1e-9 * Math.max(1, Math.abs(wanted));
  assert.ok(Math.abs(found - wanted) <= slack, `${what}: ${found}, not ${wanted}`);
}
