// SPDX-License-Identifier: MIT
// tables.mjs - the tables of sites, functions, leaks and source lines: their figures, sorting, filters and columns.

import assert from "node:assert/strict";
import { figure, functionsOf, key, sums } from "./figures.mjs";
import { near } from "./sight.mjs";

const DOCUMENT_ROWS_MAX = 200;

function table(view, name) {
  const locator = view.page.locator(`#${name}-table`);
  const data = async (what) => {
    await view.drawn();
    return Number(await locator.getAttribute(`data-${what}`));
  };
  return {
    locator,
    count: () => data("rows"),
    shown: () => data("shown"),
    rows: () => locator.locator("tr[data-row]").allInnerTexts(),
    names: async () => (await locator.locator("tr[data-row] > :first-child").allInnerTexts()).map(nameIn),
    head: (column) => locator.locator(`th[data-column="${column}"]`),
  };
}

/** The name of the function in a cell that may have more text. */
function nameIn(cell) {
  return cell.replace(/^[^\w(]+/, "").split(/\s/)[0];
}

/** Turns "1.5 MiB", "12,345" and "1.03 M" back into numbers. */
function number(text) {
  const [, digits, unit] = text.trim().match(/^(-?[\d.,]+)\s*([KMGT]?i?B?)/) ?? [];
  const scale = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, M: 1e6, G: 1e9, "": 1 }[unit ?? ""];
  return Number((digits ?? "NaN").replaceAll(",", "")) * scale;
}

function descending(values) {
  return values.every((value, i) => i === 0 || value <= values[i - 1]);
}

/** The texts of a column, in the order of rows. */
async function column(view, name, id) {
  return view.page.locator(`#${name}-table`).evaluate((element, wanted) => {
    const heads = [...element.querySelectorAll("thead th")];
    const at = heads.findIndex((head) => head.dataset.column === wanted);
    return [...element.querySelectorAll("tr[data-row]")].map((row) => row.children[at].innerText);
  }, id);
}

export const claims = {
  "the first functions are the program's own": async (sight) => {
    const view = await sight.open("shapes", { hash: "tab=functions&metric=allocated" });
    const first = view.page.locator("#functions-table tr[data-row]").first();
    await first.waitFor();
    assert.equal(await first.locator(".name.own").count(), 1, await first.innerText());
  },

  "on a phone, the site of a leak has the width of its table": async (sight) => {
    const view = await sight.open("sampled", { width: 390, height: 844, hash: "tab=leaks" });
    const sites = view.page.locator("#leaks-table tr[data-row] > th");
    await sites.first().waitFor();
    const whole = (await view.page.locator("#leaks-table").boundingBox()).width;
    for (const site of await sites.all()) assert.ok((await site.boundingBox()).width > 0.9 * whole);
  },

  "functions have the totals of the stacks through them": async (sight) => {
    const exported = sight.exported("leaky");
    const view = await sight.open("leaky", { hash: "tab=functions&metric=allocated&filter=parse_" });
    const functions = table(view, "functions");
    const names = await functions.names();
    const totals = await column(view, "functions", "total");
    assert.ok(names.length >= 2, `${names}`);
    names.forEach((name, i) => {
      const wanted = sums(exported, (site) => functionsOf(site, exported).includes(name))[key("allocated")];
      assert.ok(totals[i].includes(figure("allocated", wanted)), `${name}: ${totals[i]}, not ${wanted}`);
    });
  },

  "a click on a header sorts by it, and a second click reverses the order": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=sites&metric=allocated" });
    const sites = table(view, "sites");
    await sites.head("calls").locator("button").click();
    await view.becomes(() => sites.head("calls").getAttribute("aria-sort"), "descending");
    const most = (await column(view, "sites", "calls")).map(number);
    assert.ok(most.length > 3 && descending(most), `${most}`);
    await sites.head("calls").locator("button").click();
    await view.becomes(() => sites.head("calls").getAttribute("aria-sort"), "ascending");
    assert.ok(descending((await column(view, "sites", "calls")).map(number).reverse()));
    assert.equal(await sites.locator.locator("th[aria-sort=ascending], th[aria-sort=descending]").count(), 1);
  },

  "a filter keeps the matching rows and shows how many": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=functions" });
    const functions = table(view, "functions");
    const all = await functions.count();
    await view.page.fill("#functions-table-filter", "parse_");
    const some = await view.until(functions.shown, (shown) => shown < all, "fewer rows");
    assert.ok(some > 0);
    for (const row of await functions.rows()) assert.match(row, /parse_/);
    await view.page.fill("#functions-table-filter", "/^parse_l/");
    await view.until(functions.shown, (shown) => shown < some, "fewer still");
    await view.page.fill("#functions-table-filter", "/(/");
    await view.page.locator("#functions-table-filter[aria-invalid=true]").waitFor();
    await view.page.fill("#functions-table-filter", "");
    await view.becomes(functions.shown, all);
  },

  "columns can be chosen, and the choice is in the link": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=sites" });
    const sites = table(view, "sites");
    const boxes = view.page.locator("#sites-table-columns input[type=checkbox]");
    await view.page.locator("#sites-table-columns summary").click();
    const names = await boxes.evaluateAll((all) => all.filter((box) => !box.checked).map((box) => box.name));
    assert.ok(names.length > 0, "all columns are shown already");
    assert.equal(await sites.head(names[0]).count(), 0);
    await view.page.locator(`#sites-table-columns input[name="${names[0]}"]`).check();
    await sites.head(names[0]).waitFor();
    const again = await sight.visit(view.page.url());
    await table(again, "sites").head(names[0]).waitFor();
  },

  "a click on a row picks it, and its button unfolds the stack": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=sites&metric=live" });
    const first = view.page.locator("#sites-table tr[data-row]").first();
    await first.click();
    assert.equal(await first.getAttribute("aria-selected"), "true");
    assert.match(view.page.url(), /picked=/);
    await first.locator(".unfold").click();
    const stack = await view.text("#sites-table .unfolded");
    for (const name of ["main", "main.c:"]) assert.ok(stack.includes(name), `${name}: ${stack}`);
  },

  "100,000 sites scroll to the last with few rows in the document": async (sight) => {
    const view = await sight.open("large", { hash: "tab=sites" });
    const sites = table(view, "sites");
    const all = await sites.count();
    assert.ok(all >= 90_000, `${all} rows`);
    assert.ok((await sites.locator.locator("tr").count()) < DOCUMENT_ROWS_MAX);
    await sites.locator.focus();
    await view.press("End");
    const last = view.page.locator(`#sites-table tr[aria-rowindex="${all + 1}"]`);
    await last.waitFor();
    assert.ok(await last.isVisible());
    assert.ok((await sites.locator.locator("tr").count()) < DOCUMENT_ROWS_MAX);
    await view.press("Home");
    await view.page.locator('#sites-table tr[aria-rowindex="2"]').waitFor();
    await view.page.locator(".table-scroll").first().evaluate((element) => (element.scrollTop = element.scrollHeight));
    await last.waitFor();
  },

  "leaks have the figures and names of report --leaks": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=leaks" });
    const said = (await view.text("#tabpanel")).replace(/\s+/g, " ");
    const { profile } = sight.plan.profiles.leaky;
    const report = sight.told("report", "--leaks", profile).replace(/\s+/g, " ");
    const [inAll] = report.match(/[\d.,]+ [KM]?i?B in [\d.,]+ M? ?blocks (never freed|live)/);
    assert.ok(said.includes(inAll), `${inAll} is not in ${said}`);
    const rows = [...report.matchAll(/([\d.,]+ [KM]?i?B) +([\d.,]+) +(?:[·▁▂▃▄▅▆▇█]+ +)?(\w+) +\S+\.c:\d+/g)];
    assert.ok(rows.length > 0, report);
    for (const [, bytes, blocks, name] of rows)
      for (const part of [bytes, blocks, name]) assert.ok(said.includes(part), `${part} is not in ${said}`);
  },

  "the bars of leaks, which show when blocks were made, are those of report --leaks": async (sight) => {
    for (const name of ["exact", "auto", "pools"]) {
      const view = await sight.open(name, { hash: "tab=leaks" });
      const report = sight.told("report", "--leaks", sight.plan.profiles[name].profile);
      const rows = [...report.matchAll(/^ +[\d.]+ .* ([·▁▂▃▄▅▆▇█]+) +(\w+)/gm)];
      await view.page.locator("#leaks-table").waitFor();
      assert.equal(await table(view, "leaks").head("made").count(), name === "pools" ? 0 : 1, name);
      assert.equal(rows.length > 0, name !== "pools", report);
      for (const [, bars, site] of rows) {
        const heights = [...bars].map((bar) => "·▁▂▃▄▅▆▇█".indexOf(bar)).join();
        const row = view.page.locator("#leaks-table tr[data-row]", { hasText: site });
        const drawn = await row.locator("[data-heights]").evaluateAll((all) => all.map((each) => each.dataset.heights));
        assert.ok(drawn.includes(heights), `${site}: ${heights} is not among ${JSON.stringify(drawn)}`);
      }
    }
  },

  "rows of one function differ in the function that it calls or in its callers": async (sight) => {
    for (const [name, tab, cell] of [
      ["shapes", "sites", "th"],
      ["shapes", "leaks", "th"],
      ["difference", "changes", "th"],
    ]) {
      const view = await sight.open(name, { hash: `tab=${tab}` });
      const rows = view.page.locator(`#${tab}-table tr[data-row] > ${cell}`);
      await rows.first().waitFor();
      const said = await rows.allInnerTexts();
      assert.equal(new Set(said).size, said.length, `${tab}: ${said.join("; ")}`);
      assert.match(said.join("\n"), /← \S/, tab);
    }
    const view = await sight.open("shapes", { hash: "tab=sites" });
    assert.match((await table(view, "sites").rows()).join("\n"), /→ std::/);
  },

  "the default columns fit the window, and the chosen metric is the first": async (sight) => {
    for (const [width, tab] of [[1440, "sites"], [1440, "functions"], [1024, "sites"], [1024, "functions"]]) {
      const view = await sight.open("sampled", { width, hash: `tab=${tab}&metric=temporary` });
      const wanted = tab === "sites" ? "temporary" : "total";
      const heads = view.page.locator(`#${tab}-table thead th`);
      assert.equal(await heads.nth(1).getAttribute("data-column"), wanted);
      const scroll = view.page.locator(".table-scroll");
      await view.until(() => scroll.evaluate((it) => it.scrollWidth - it.clientWidth), (over) => over <= 0, `${tab}, ${width}`);
      assert.equal(await view.page.locator(".table-frame.more").count(), 0);
    }
    const phone = await sight.open("sampled", { width: 390, height: 844, hash: "tab=sites" });
    const box = await phone.page.locator("#sites-table thead th").nth(1).boundingBox();
    assert.ok(box.x + box.width <= 390, JSON.stringify(box));
    await phone.page.locator(".table-frame.more").waitFor();
  },

  "a column that does not fit can still be chosen": async (sight) => {
    const view = await sight.open("sampled", { width: 1024, hash: "tab=sites" });
    assert.equal(await table(view, "sites").head("temporary-share").count(), 0);
    await view.page.locator("#sites-table-columns summary").click();
    const left = view.page.locator("#sites-table-columns input:not(:checked)");
    while ((await left.count()) > 0) await left.first().click();
    await table(view, "sites").head("temporary-share").waitFor();
    await view.page.getByRole("button", { name: "Default columns" }).click();
    await view.becomes(() => table(view, "sites").head("temporary-share").count(), 0);
  },

  "a copied table has callees, places, callers, and shares with few digits": async (sight) => {
    const view = await sight.open("shapes", { hash: "tab=sites&metric=allocated" });
    await view.page.evaluate(() => {
      const writeText = async (text) => void (window.copied = text);
      Object.defineProperty(navigator, "clipboard", { value: { writeText } });
    });
    await view.page.locator("#sites-table-copy").click();
    const lines = (await view.page.evaluate(() => window.copied)).trim().split("\n").map((line) => line.split("\t"));
    const [head, ...rows] = lines;
    const at = (title) => {
      assert.ok(head.includes(title), head.join());
      return head.indexOf(title);
    };
    assert.equal(rows.length, await table(view, "sites").count());
    assert.match(rows.map((row) => row[0]).join("\n"), / → std::/);
    assert.match(rows.map((row) => row[at("Where")]).join("\n"), /shapes\.cpp:\d+/);
    assert.match(rows.map((row) => row[at("Called by")]).join("\n"), /← main/);
    for (const row of rows) assert.match(row[at("Share")], /^[\d.e-]{1,8}$/);
  },

  "source lines are shown with the bytes that they allocated": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=source&metric=allocated" });
    const said = await view.text("#tabpanel");
    assert.match(said, /malloc|calloc|realloc|strdup/);
    assert.match(said, /\.c/);
    assert.match(said, /[\d.]+ [KM]iB/);
    const heads = await view.page.locator(".snippet h3").allInnerTexts();
    for (const [i, head] of heads.entries()) {
      const lines = view.page.locator(".snippet").nth(i).locator("tr.allocates");
      const numbers = await lines.evaluateAll((all) => all.map((line) => line.dataset.line));
      if (numbers.length) assert.ok(numbers.includes(head.split(":").at(-1)), `${head}: ${numbers}`);
    }
  },

  "narrowing to a function has the figures of export --focus": async (sight) => {
    const view = await sight.open("leaky", { hash: "tab=functions&metric=allocated&filter=parse_" });
    const row = view.page.locator("#functions-table tr[data-row]").first();
    const name = nameIn(await row.locator(":first-child").first().innerText());
    await row.locator(".unfold").click();
    await view.page.locator("#functions-table [data-action=focus]").first().click();
    const wanted = sight.exported("leaky", "--focus", `^${name}$`).totals[key("allocated")].value;
    near(await view.until(view.total, (total) => total === wanted, `${wanted} through ${name}`), wanted, name);
    await view.page.locator(".chip").first().click();
    await view.becomes(view.total, sight.exported("leaky").totals[key("allocated")].value);
  },
};
