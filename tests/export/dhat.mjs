// SPDX-License-Identifier: MIT
// dhat.mjs - opens files in valgrind's dh_view.html, like a user in a browser, and prints the text that it shows for
// each, sorted by total bytes. A file that it cannot read is an error.
//
// usage: node dhat.mjs VIEWER FILE...

import { print, withPage } from "../lib/browser.mjs";

const [viewer, ...files] = process.argv.slice(2);

async function open(page, file) {
  await page.goto(`file://${viewer}`);
  await page.selectOption("select", { label: "Total (bytes)" });
  await page.setInputFiles("input[type=file]", file);
  const shown = page.locator("pre");
  const failed = page.locator(".error");
  await shown.or(failed).first().waitFor();
  if (await failed.isVisible()) throw new Error(`${file}: ${await failed.innerText()}`);
  return shown.textContent();
}

print(
  await withPage(async (page) => {
    const found = [];
    for (const file of files) found.push(await open(page, file));
    return found;
  }),
);
