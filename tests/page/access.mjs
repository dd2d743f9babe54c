// SPDX-License-Identifier: MIT
// access.mjs - accessibility: keyboard, screen readers, phones, light and dark.

import assert from "node:assert/strict";
import { everywhere } from "./walk.mjs";

const NARROW = { width: 390, height: 844 };
const LAPTOP = { width: 1024, height: 700 };
const CONTRAST = 4.5;
const CONTRAST_LARGE = 3;
const TABS_MAX = 400;

/** Controls without a name that a screen reader could read. */
function nameless() {
  const controls = document.querySelectorAll("button, input, select, textarea, a[href], summary, [tabindex]");
  const text = (element) => (element?.textContent ?? "").trim();
  const ids = (element) => (element.getAttribute("aria-labelledby") ?? "").split(" ");
  const name = (element) =>
    element.getAttribute("aria-label")?.trim() ||
    ids(element).map((id) => text(document.getElementById(id))).join("") ||
    [...(element.labels ?? [])].map(text).join("") ||
    text(element) ||
    element.title;
  const found = [...controls].filter((element) => element.checkVisibility() && !name(element));
  return found.map((element) => element.outerHTML.slice(0, 160));
}

/** What is wrong with headings, ids, and references to ids. */
function structure() {
  const wrong = [];
  const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter((each) => each.checkVisibility());
  const levels = headings.map((heading) => Number(heading.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) wrong.push(`headings of the first level: ${levels}`);
  levels.forEach((level, i) => {
    if (i > 0 && level > levels[i - 1] + 1) wrong.push(`"${headings[i].textContent}" is of level ${level}`);
  });
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach((id) => wrong.push(`two elements have the id ${id}`));
  for (const attribute of ["aria-controls", "aria-labelledby", "aria-describedby", "for"])
    for (const element of document.querySelectorAll(`[${attribute}]`))
      for (const id of element.getAttribute(attribute).split(" "))
        if (!document.getElementById(id)) wrong.push(`${attribute} names ${id}, which does not exist`);
  for (const table of document.querySelectorAll("table"))
    if (!table.querySelector("th")) wrong.push(`a table without headers: ${table.outerHTML.slice(0, 120)}`);
  for (const canvas of document.querySelectorAll("canvas"))
    if (!canvas.closest("[aria-label], [aria-labelledby], [aria-hidden=true]")) wrong.push("a canvas without a label");
  return wrong;
}

/** Texts with too little contrast. Transparent colours are blended with those behind them, as they are drawn. */
function faint([enough, enoughLarge]) {
  const parse = (colour) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const known = new Map();
  const rgba = (colour) => known.get(colour) ?? known.set(colour, parse(colour)).get(colour);
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const behind = (element) => {
    if (!element) return [255, 255, 255, 1];
    const colour = rgba(getComputedStyle(element).backgroundColor);
    return colour[3] === 1 ? colour : over(colour, behind(element.parentElement));
  };
  const light = (c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    if (element.closest("script, style, noscript, option, svg, :disabled, .hidden")) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const [a, b] = [luminance(over(rgba(style.color), back)), luminance(back)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const text = node.data.trim().slice(0, 40);
    if (contrast < (large ? enoughLarge : enough))
      found.push(`${contrast.toFixed(2)}: "${text}" (${element.className})`);
  }
  return [...new Set(found)];
}

/** Says if the page is wider than the window. */
function wider() {
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth ? [`${scrollWidth} px in a window of ${clientWidth} px`] : [];
}

/** Numbers everything that Tab must reach, and returns how many: in a group that arrow keys walk, only one element. */
function focusable() {
  const all = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]");
  const within = (element) => !element.closest("dialog:not([open])") && !element.closest("[inert]");
  const reachable = [...all].filter(
    (element) => element.tabIndex >= 0 && !element.disabled && element.checkVisibility() && within(element),
  );
  reachable.forEach((element, i) => (element.dataset.reach = String(i)));
  return reachable.length;
}

/** Presses Tab until the focus comes round. Returns what was reached, and what did not show that it had the focus. */
async function tabThrough(page) {
  const reached = new Set();
  const unseen = new Set();
  await page.evaluate(() => document.activeElement?.blur());
  for (let i = 0; i < TABS_MAX; i++) {
    await page.keyboard.press("Tab");
    const now = await page.evaluate(async () => {
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      const element = document.activeElement;
      const row = document.getElementById(element?.getAttribute("aria-activedescendant") ?? "");
      const framed = (each) => {
        const { outlineStyle, boxShadow } = getComputedStyle(each ?? document.body);
        return outlineStyle !== "none" || boxShadow !== "none";
      };
      const marked = row?.classList.contains("cursor"); // a table marks its focused row
      const seen = marked || framed(element) || framed(element?.parentElement); // the parent may draw the outline
      return { reach: element?.dataset?.reach ?? null, seen, html: element?.outerHTML.slice(0, 120) };
    });
    if (now.reach === null && reached.size) break;
    if (now.reach === null) continue;
    if (reached.has(now.reach)) break;
    reached.add(now.reach);
    if (!now.seen) unseen.add(now.html);
  }
  return { reached, unseen: [...unseen] };
}

const CHECKS = { nameless, structure, faint, wider };
const LOOKS = [
  { name: "server" },
  { name: "server", dark: true, ...NARROW },
  { name: "difference", ...LAPTOP },
  { name: "difference", dark: true },
  { name: "sampled", dark: true, ...LAPTOP },
  { name: "losses", ...NARROW },
  { name: "phases", ...NARROW },
];
let surveyed = null;

/** Runs all checks in all views of some profiles, once for all claims: [{where, nameless, structure, faint, wider}]. */
async function survey(sight) {
  const found = [];
  for (const { name, ...options } of LOOKS) {
    const view = await sight.open(name, options);
    await everywhere(view, async (where) => {
      const row = { where: `${name}, ${where}, ${JSON.stringify(options)}` };
      for (const [check, look] of Object.entries(CHECKS))
        row[check] = await view.page.evaluate(look, [CONTRAST, CONTRAST_LARGE]);
      found.push(row);
    });
    await view.page.context().close();
  }
  return found;
}

async function holds(sight, check) {
  surveyed ??= await survey(sight);
  const wrong = surveyed.filter((row) => row[check].length > 0).map((row) => `${row.where}: ${row[check].join("; ")}`);
  assert.equal(wrong.length, 0, wrong.slice(0, 6).join("\n"));
}

export const claims = {
  "every control has a name, in every view": (sight) => holds(sight, "nameless"),
  "heading levels are in order, and references to ids are valid": (sight) => holds(sight, "structure"),
  "texts have enough contrast in light and dark": (sight) => holds(sight, "faint"),
  "the page fits the width of a phone and of a small laptop": (sight) => holds(sight, "wider"),

  "the colour button cycles through system, light and dark, and the page remembers the choice": async (sight) => {
    const view = await sight.open("leaky", { dark: true });
    const theme = () => view.page.evaluate(() => getComputedStyle(document.documentElement).colorScheme);
    const button = view.page.locator('.bar [aria-label^="Colours"]');
    await button.click();
    await view.becomes(theme, "light");
    await button.click();
    await view.becomes(theme, "dark");
    await view.page.reload();
    await view.page.locator("h1").waitFor();
    assert.match(await button.getAttribute("aria-label"), /dark/);
  },

  "Tab reaches every control, and the focus is visible": async (sight) => {
    for (const name of ["server", "difference"]) {
      const { page } = await sight.open(name);
      const count = await page.evaluate(focusable);
      const { reached, unseen } = await tabThrough(page);
      const missed = await page.evaluate(
        (found) =>
          [...document.querySelectorAll("[data-reach]")]
            .filter((element) => element.checkVisibility() && !found.includes(element.dataset.reach))
            .map((element) => element.outerHTML.slice(0, 120)),
        [...reached],
      );
      assert.deepEqual(missed, [], `${name}: ${count} in all`);
      assert.deepEqual(unseen, [], name);
    }
  },

  "on a phone, the tab that a link selects is visible": async (sight) => {
    const { page } = await sight.open("server", { ...NARROW, hash: "tab=lifetimes" });
    const tab = await page.locator("#tab-lifetimes").boundingBox();
    assert.ok(tab.x >= 0 && tab.x + tab.width <= NARROW.width, JSON.stringify(tab));
  },

  "arrow keys move between tabs": async (sight) => {
    const view = await sight.open("server");
    await view.page.locator("#tab-sites").focus();
    await view.press("ArrowRight");
    await view.page.locator("#tab-functions[aria-selected=true]").waitFor();
    assert.equal(await view.page.evaluate(() => document.activeElement.id), "tab-functions");
    await view.press("ArrowLeft");
    await view.press("ArrowLeft");
    assert.notEqual(await view.page.evaluate(() => document.activeElement.id), "tab-sites");
  },
};
