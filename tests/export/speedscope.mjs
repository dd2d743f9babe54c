// SPDX-License-Identifier: MIT
// speedscope.mjs - opens files in speedscope, like a user in a browser, and prints how it has read each: the file that
// its own Export writes. A file that it cannot read is an error.
//
// usage: node speedscope.mjs FILE...

import { fileURLToPath } from "node:url";
import { downloaded, print, withPage } from "../lib/browser.mjs";

const APP = fileURLToPath(new URL("../node_modules/speedscope/dist/release/index.html", import.meta.url));

async function open(page, file) {
  await page.goto(`file://${APP}`);
  await page.setInputFiles("input[type=file]", file);
  const read = page.getByText("Left Heavy");
  const failed = page.getByText("Something went wrong");
  await read.or(failed).first().waitFor();
  if (await failed.isVisible()) throw new Error(`speedscope cannot read ${file}`);
  return JSON.parse(await downloaded(page, () => page.keyboard.press("Control+s")));
}

print(
  await withPage(async (page) => {
    const found = [];
    for (const file of process.argv.slice(2)) found.push(await open(page, file));
    return found;
  }),
);
