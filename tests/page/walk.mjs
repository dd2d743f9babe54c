// SPDX-License-Identifier: MIT
// walk.mjs - visits every view of the page, for checks that must hold in all of them.

export const GROUPINGS = ["stack", "tag", "thread"];

/** The names of the tabs of this profile. */
export async function tabsOf(view) {
  const ids = await view.page.locator("[role=tab]").evaluateAll((tabs) => tabs.map((tab) => tab.id));
  return ids.map((id) => id.replace("tab-", ""));
}

/** Calls `look(where)` in every tab, with everything unfolded, and with each dialog open. */
export async function everywhere(view, look) {
  for (const tab of await tabsOf(view)) {
    await view.tab(tab);
    const unfold = (open) => document.querySelectorAll("main details").forEach((details) => (details.open = open));
    await view.page.evaluate(unfold, true);
    await look(tab);
    await view.page.evaluate(unfold, false);
  }
  for (const button of [".brand", "[aria-label=Help]"]) {
    await view.page.locator(button).click();
    await view.page.locator("dialog[open]").waitFor();
    await look(button);
    await view.press("Escape");
    await view.page.locator("dialog[open]").waitFor({ state: "detached" });
  }
}
