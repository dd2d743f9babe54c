// SPDX-License-Identifier: MIT
// browser.mjs - a page in Debian's headless chromium, for scripts that look at our output as people would.
//
//     await withPage(async (page) => print(await page.title()));
//
// The page is one of playwright-core, without network: it can open files only. Any error in the page fails the script,
// which prints it on stderr. browser.py starts these scripts. A script that needs several pages, or a network, gets a
// whole browser from withBrowser().

import fs from "node:fs";
import { chromium } from "playwright-core";
import { PATIENCE_MS } from "./patience.mjs";

// The headless shell takes half the CPU time of the whole chromium.
const INSTALLED = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const CHROMIUM = process.env.CHROMIUM || INSTALLED.find((path) => fs.existsSync(path));

/** Rejects when the page has an error or opens a dialog, which nobody would answer. */
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
    args: ["--disable-gpu", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])], // chromium has no sandbox for root
    timeout: PATIENCE_MS,
  });
  try {
    return await use(browser);
  } finally {
    await browser.close();
  }
}

/** Calls `use(page)` with a new page and returns its result. An error of the page takes precedence. */
export async function withPage(use) {
  return withBrowser(async (browser) => {
    const context = await browser.newContext({ acceptDownloads: true, offline: true });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    return await Promise.race([failure(page), use(page)]);
  });
}

/** The bytes that the page downloads when `act` is called. */
export async function downloaded(page, act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return fs.readFileSync(await download.path());
}

/** Prints the script's result for browser.py. */
export function print(found) {
  process.stdout.write(JSON.stringify(found) + "\n");
}
