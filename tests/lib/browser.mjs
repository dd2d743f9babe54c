// SPDX-License-Identifier: MIT
// browser.mjs - a page in Debian's chromium, without a window, for scripts that look at our output as people would.
//
//     await withPage(async (page) => print(await page.title()));
//
// The page is one of playwright-core, without network: files only. What goes wrong in it fails the script, which then
// says so on stderr. Python's side is browser.py. Scripts that need several pages, or a network, take a whole browser
// from withBrowser().

import fs from "node:fs";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";
export const TIMEOUT_MS = 60_000;

/** Rejects when the page has an error, or asks something: nobody is there to answer. */
function failure(page) {
  return new Promise((_, reject) => {
    page.on("pageerror", reject);
    page.on("dialog", (dialog) => {
      reject(new Error(`the page says: ${dialog.message()}`));
      dialog.dismiss();
    });
  });
}

/** Calls `use(browser)` and returns its result. */
export async function withBrowser(use) {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: process.getuid() === 0 ? ["--no-sandbox"] : [], // chromium has no sandbox for root, and says so
    timeout: TIMEOUT_MS,
  });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}

/** Calls `use(page)` with a new page and returns its result; an error of the page comes first. */
export async function withPage(use) {
  return withBrowser(async (browser) => {
    const context = await browser.newContext({ acceptDownloads: true, offline: true });
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    return await Promise.race([failure(page), use(page)]);
  });
}

/** The bytes of what `act` makes the page download. */
export async function downloaded(page, act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return fs.readFileSync(await download.path());
}

/** What the script has found out, for browser.py. */
export function print(found) {
  process.stdout.write(JSON.stringify(found) + "\n");
}
