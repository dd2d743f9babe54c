// SPDX-License-Identifier: MIT
// alone.mjs - a report is one file: it needs nothing else, and can reach nothing else.
//
// Every report of these tests is opened from disk, offline, and any request for something else fails its claim
// (sight.mjs). What is left to show is that this is not for want of trying.

import assert from "node:assert/strict";
import fs from "node:fs";

const ATTEMPTS = {
  "connect-src": () => fetch("https://example.invalid/").catch(() => {}),
  "img-src": () => (window.add("img").src = "https://example.invalid/x.png"),
  "script-src-elem": () => (window.add("script").textContent = "window.hacked=1"),
  "style-src-elem": () => (window.add("style").textContent = "body{color:red}"),
  "script-src-attr": () => document.body.setAttribute("onclick", "window.hacked=1"),
  "frame-src": () => (window.add("iframe").src = "https://example.invalid/"),
  "font-src": () => new FontFace("x", "url(https://example.invalid/x.woff)").load().catch(() => {}),
};

/** Tries each, on a page as it is, and looks at what the page's policy said to that. */
async function refuses(sight, page) {
  await page.evaluate(() => {
    window.add = (tag) => document.body.appendChild(document.createElement(tag));
    window.refused = new Set();
    addEventListener("securitypolicyviolation", (event) => window.refused.add(event.effectiveDirective));
  });
  for (const act of Object.values(ATTEMPTS)) await page.evaluate(act);
  await page.evaluate(() => document.body.click());
  await page.waitForTimeout(300);
  const refused = await page.evaluate(() => [...window.refused]);
  assert.deepEqual(refused.sort(), Object.keys(ATTEMPTS).sort());
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  const requests = sight.problems().filter((problem) => problem.startsWith("request"));
  assert.deepEqual(requests, []);
  sight.problems().length = 0; // each refusal was told on the console
}

export const claims = {
  "a report has everything in one file": async (sight) => {
    const text = fs.readFileSync(sight.plan.profiles.leaky.report, "utf8");
    assert.doesNotMatch(text.slice(0, text.indexOf("<style>")), /src=|href=(?!"data:,")/);
    const view = await sight.open("leaky");
    assert.ok((await view.total()) > 0);
  },

  "a report forbids itself any network, and any script but its own": async (sight) => {
    const { page } = await sight.open("leaky");
    const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute("content");
    assert.match(policy, /^default-src 'none'; script-src 'sha256-[^ ']+'; style-src 'sha256-[^ ']+';/);
    assert.doesNotMatch(policy, /unsafe|connect-src|https?:|\*/);
    await refuses(sight, page);
  },

  "a report keeps to light, dark and the width of the window without a network too": async (sight) => {
    for (const dark of [false, true]) {
      const { page } = await sight.open("leaky", { dark, width: 1024 });
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const [red] = background.match(/\d+/g).map(Number);
      assert.equal(red < 128, dark, background);
    }
  },

  "a file that was cut short says that it cannot be shown": async (sight) => {
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
