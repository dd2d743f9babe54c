// SPDX-License-Identifier: MIT
// sight.mjs - the argument of every claim: opens reports and exports, and watches the pages for problems.
//
// A problem is an exception, an error on the console, a dialog, or a request for anything but the report itself (or, if
// it is served, for another address than its server's). problems() returns those of all pages.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { PATIENCE_MS } from "../lib/patience.mjs";

const OUTPUT_BYTES = 512 << 20;
const known = new Map();

/** `plimsoll export --format json OPTIONS` of a profile or a difference of the plan; cached. */
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

/** Starts `plimsoll view` and returns the address, which is the first line that it prints. */
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
    context.setDefaultTimeout(PATIENCE_MS);
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
    /** Opens the report of a profile from disk. */
    open: (name, options) => visit(pathToFileURL(plan.profiles[name].report).href, options),
    /** Serves a profile and returns its address. */
    serve: (...words) => serve(plan, words, ended),
    /** The output of plimsoll with these arguments. */
    told: (...words) => execFileSync(plan.plimsoll, words, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    exported: (name, ...options) => exportOf(plan, name, options),
    atEnd: (act) => ended.push(act),
    close: async () => {
      for (const act of ended.reverse()) await act();
    },
  };
}

/** A page, and what tests often do with it. */
function makeView(page) {
  /** After an event the page computes and draws in the next frames; until then it shows what was there before. */
  const drawn = () =>
    page.evaluate(async () => {
      for (let frames = 0; frames < 3; frames++)
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    });
  const graph = async () => {
    await drawn();
    return page.locator("#flame").evaluate((canvas) => ({ ...canvas.closest("[data-total]").dataset }));
  };
  const boxes = async () => {
    await drawn();
    return page.evaluate(() => window.plimsoll.flame.boxes());
  };
  const count = (selector) => page.locator(selector).count();
  const nothing = async () => (await count(".flame")) > 0 && (await count("#flame")) === 0;
  const total = async () => {
    await drawn();
    return (await nothing()) ? 0 : Number((await graph()).total);
  };
  return {
    page,
    drawn,
    /** The flame graph's data attributes: what it has drawn. */
    graph,
    /** The graph's total; 0 if the page shows a text instead of a graph. */
    total,
    boxes,
    box: async (name) => {
      const all = await boxes();
      const found = all.find((each) => each.name === name);
      assert.ok(found, `there is no box ${name} among ${all.slice(0, 20).map((each) => each.name)}`);
      return found;
    },
    /** Waits until look() returns the wanted value. */
    becomes: (look, wanted, what) => becomes(page, look, (found) => found === wanted, `${what ?? look}: ${wanted}`),
    until: (look, holds, what) => becomes(page, look, holds, what ?? String(holds)),
    /** Shows a metric, and waits until the graph adds up to this. */
    addsUp: async (metric, wanted, what = metric) => {
      await page.selectOption("#metric", metric);
      await becomes(page, total, (found) => isNear(found, wanted), `${what}: ${wanted}`);
    },
    metric: (metric) => page.selectOption("#metric", metric),
    tab: async (name) => {
      await page.locator(`#tab-${name}`).click();
      await page.locator(`#tab-${name}[aria-selected=true]`).waitFor();
    },
    press: (keys) => page.keyboard.press(keys),
    text: (selector) => page.locator(selector).first().innerText(),
  };
}

export async function becomes(page, look, holds, what) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (holds(found)) return found;
    if (Date.now() > end) assert.fail(`timed out waiting for ${what}; it is ${JSON.stringify(found)}`);
    await page.waitForTimeout(30);
  }
}

/** Equal up to rounding errors of sums. */
function isNear(found, wanted) {
  return Math.abs(found - wanted) <= 1e-9 * Math.max(1, Math.abs(wanted));
}

export function near(found, wanted, what) {
  assert.ok(isNear(found, wanted), `${what}: ${found}, not ${wanted}`);
}
