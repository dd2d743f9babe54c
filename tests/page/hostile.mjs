// SPDX-License-Identifier: MIT
// hostile.mjs - every name is shown as text: opens a profile whose names are attacks (tests/lib/hostile.c) in every view.

import assert from "node:assert/strict";
import { functionsOf } from "./figures.mjs";
import { everywhere, GROUPINGS } from "./walk.mjs";

/** The traces that an attack would have left on the page. */
function traces() {
  const made = [...document.querySelectorAll("img, iframe, object, embed, form, base, svg[onload], style ~ style")];
  const runs = ({ name, value }) =>
    name.startsWith("on") || (/^(href|src|action|style|srcdoc)$/.test(name) && value.includes("hacked"));
  const handlers = [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(runs));
  const scripts = [...document.scripts].filter((script) => /hacked/.test(script.textContent ?? ""));
  const polluted = [{}.hacked, Object.prototype.undefined, [].hacked].filter((value) => value !== undefined);
  return {
    hacked: window.hacked ?? null,
    found: [...made, ...handlers, ...scripts].map((element) => element.outerHTML.slice(0, 200)),
    polluted: polluted.length,
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}

async function unharmed(page, where) {
  const { hacked, found, polluted, wider } = await page.evaluate(traces);
  assert.equal(hacked, null, `${where}: a name ran as a script`);
  assert.deepEqual(found, [], `${where}: a name became markup`);
  assert.equal(polluted, 0, where);
  assert.ok(wider <= 0, `${where}: the page is ${wider} px wider than the window`);
}

/** The text without white space and invisible characters, which a table may show in another way. */
function visible(text) {
  return text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u{fffd}]+/gu, "");
}

async function hoverEverything(view) {
  for (const { x, y, width, height } of (await view.boxes()).slice(0, 60)) {
    const at = await view.page.locator("#flame").boundingBox();
    await view.page.mouse.move(at.x + x + Math.min(width, 3) / 2, at.y + y + height / 2);
  }
}

export const claims = {
  "hostile names do nothing in any view": async (sight) => {
    const view = await sight.open("hostile");
    await everywhere(view, (where) => unharmed(view.page, where));
  },

  "hostile names do nothing in the graph, its tooltips and its groupings": async (sight) => {
    const view = await sight.open("hostile", { hash: "metric=calls" });
    for (const by of GROUPINGS) {
      await view.page.locator(`#by-${by}`).click();
      await view.page.locator("#flame").scrollIntoViewIfNeeded();
      await hoverEverything(view);
      await unharmed(view.page, by);
    }
  },

  "hostile names do nothing on a phone": async (sight) => {
    const view = await sight.open("hostile", { width: 390, height: 844 });
    await everywhere(view, (where) => unharmed(view.page, where));
  },

  "hostile names are shown unchanged": async (sight) => {
    const view = await sight.open("hostile", { hash: "metric=calls&tab=functions&sort=-self" });
    const exported = sight.exported("hostile", "--names", "none");
    const attacks = exported.sites.flatMap((site) => functionsOf(site, exported).slice(0, -2)); // without main, _start
    const names = new Set(attacks.filter((name) => visible(name)));
    assert.ok(names.size >= 25);
    const cells = await view.page.locator("#functions-table").innerText();
    const shown = visible(cells);
    const missing = [...names].filter((name) => !shown.includes(visible(name).slice(0, 60)));
    assert.deepEqual(missing, []);
  },

  "a search finds functions that have the names of JavaScript's properties": async (sight) => {
    const view = await sight.open("hostile", { hash: "metric=calls" });
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      await view.page.fill("#search", `^${name}$`);
      await view.until(view.graph, ({ matches }) => Number(matches) === 2, `two boxes ${name}`);
    }
  },

  "hostile values in the address do nothing": async (sight) => {
    const attack = encodeURIComponent('"><img src=/hacked onerror=window.hacked=30>');
    const names = "search zoom picked sandwich focus hide sort columns filter tab metric chart colour since tag";
    const parts = names.split(" ");
    const view = await sight.open("leaky", { hash: parts.map((part) => `${part}=${attack}`).join("&") });
    await unharmed(view.page, "all at once");
    for (const part of [...parts, "thread"]) {
      await view.page.evaluate((hash) => (location.hash = hash), `${part}=${part === "thread" ? "%3D" : ""}${attack}`);
      await view.page.waitForTimeout(100);
      await unharmed(view.page, part);
    }
  },
};
