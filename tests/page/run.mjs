// SPDX-License-Identifier: MIT
// run.mjs - checks every claim about the page, one after the other, in one browser.
//
// usage: node run.mjs --list                     the sentences, as JSON
//        node run.mjs PLAN [WORD...]             a line of JSON for each: {sentence, failure, seconds}
//
// A module of claims exports `claims`: {sentence: async (sight) => ...}. A claim holds if its function returns and no
// page that it opened had a problem (sight.mjs). PLAN is the file that browser_claims.py writes. With
// PAGE_MODULES=flame,search in the environment, only the claims of these modules are checked.

import fs from "node:fs";
import { withBrowser } from "../lib/browser.mjs";
import { PATIENCE_MS } from "../lib/patience.mjs";
import { makeSight } from "./sight.mjs";

const ALL = [
  "overview",
  "flame",
  "search",
  "moments",
  "tables",
  "details",
  "differences",
  "served",
  "alone",
  "hostile",
  "access",
];
const MODULES = process.env.PAGE_MODULES?.split(",") ?? ALL;

async function collect() {
  const claims = {};
  for (const name of MODULES) Object.assign(claims, (await import(`./${name}.mjs`)).claims);
  return claims;
}

function timeout() {
  return new Promise((_, reject) => setTimeout(() => reject(new Error("took too long")), 2 * PATIENCE_MS).unref());
}

async function attempt(browser, plan, claim) {
  const sight = makeSight(browser, plan);
  let failure = null;
  try {
    await Promise.race([claim(sight), timeout()]);
  } catch (error) {
    failure = error.stack ?? String(error);
  }
  const wrong = sight.problems();
  await sight.close();
  if (wrong.length) failure = [`the page had problems: ${wrong.join("; ")}`, failure ?? ""].join("\n");
  return failure;
}

const claims = await collect();
if (process.argv[2] === "--list") console.log(JSON.stringify(Object.keys(claims)));
else {
  const plan = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
  const words = process.argv.slice(3);
  await withBrowser(async (browser) => {
    for (const [sentence, claim] of Object.entries(claims)) {
      if (!words.every((word) => sentence.includes(word))) continue;
      const begin = performance.now();
      const failure = await attempt(browser, plan, claim);
      const seconds = (performance.now() - begin) / 1000;
      process.stdout.write(JSON.stringify({ sentence, failure, seconds }) + "\n");
    }
  });
}
