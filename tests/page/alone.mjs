// SPDX-License-Identifier: MIT
// alone.mjs - an HTML report is one file: it needs nothing else, and can load nothing else.
//
// All tests open reports from disk, offline, and any request fails the claim (sight.mjs). Here we check that the
// report's policy also blocks deliberate attempts.

import assert from "node:assert/strict";
import fs from "node:fs";
import { becomes } from "./sight.mjs";

const ATTEMPTS = {
  "connect-src": () => fetch("https://example.invalid/").catch(() => {}),
  "img-src": () => (window.add("img").src = "https://example.invalid/x.png"),
  "script-src-elem": () => (window.add("script").textContent = "window.hacked=1"),
  "style-src-elem": () => (window.add("style").textContent = "body{color:red}"),
  "script-src-attr": () => document.body.setAttribute("onclick", "window.hacked=1"),
  "frame-src": () => (window.add("iframe").src = "https://example.invalid/"),
  "font-src": () => new FontFace("x", "url(https://example.invalid/x.woff)").load().catch(() => {}),
};

/** Makes each attempt on an unchanged page, and checks that the page's policy refused every one. */
async function refuses(sight, page) {
  await page.evaluate(() => {
    window.add = (tag) => document.body.appendChild(document.createElement(tag));
    window.refused = new Set();
    addEventListener("securitypolicyviolation", (event) => window.refused.add(event.effectiveDirective));
  });
  for (const act of Object.values(ATTEMPTS)) await page.evaluate(act);
  await page.evaluate(() => document.body.click());
  const look = () => page.evaluate(() => [...window.refused]);
  const refused = await becomes(page, look, (found) => found.length >= Object.keys(ATTEMPTS).length, "all refusals");
  assert.deepEqual(refused.sort(), Object.keys(ATTEMPTS).sort());
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const requests = sight.problems().filter((problem) => problem.startsWith("request"));
  assert.deepEqual(requests, []);
  sight.problems().length = 0; // the browser logs each refusal on the console
}

export const claims = {
  "a report is one file that refers to no other": async (sight) => {
    const text = fs.readFileSync(sight.plan.profiles.leaky.report, "utf8");
    assert.doesNotMatch(text.slice(0, text.indexOf("<style>")), /src=|href=(?!"data:,")/);
    const view = await sight.open("leaky");
    assert.ok((await view.total()) > 0);
  },

  "a report's policy forbids all network access and all scripts but its own": async (sight) => {
    const { page } = await sight.open("leaky");
    const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
    assert.match(policy, /^default-src 'none'; script-src 'sha256-[^ ']+'; style-src 'sha256-[^ ']+';/);
    assert.doesNotMatch(policy, /unsafe|connect-src|https?:|\*/);
    await refuses(sight, page);
  },

  "a report follows the system's light or dark colours": async (sight) => {
    for (const dark of [false, true]) {
      const { page } = await sight.open("leaky", { dark, width: 1024 });
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const [red] = background.match(/\d+/g).map(Number);
      assert.equal(red < 128, dark, background);
    }
  },

  "a truncated file says that it cannot be shown": async (sight) => {
    const whole = fs.readFileSync(sight.plan.profiles.leaky.report, "utf8");
    const at = whole.indexOf('id="profile">') + 'id="profile">'.length;
    const end = whole.indexOf("</script>", at);
    const path = `${sight.plan.directory}/cut.html`;
    fs.writeFileSync(path, whole.slice(0, at + 400) + whole.slice(end));
    const { page } = await sight.visit(`file://${path}`);
    assert.match(await page.locator("h1").innerText(), /cannot be shown/);
    assert.ok((await page.locator("[role=alert] p").innerText()).length > 10);
  },
};
