// SPDX-License-Identifier: MIT
// theme.ts - light, dark, or the system's choice; remembered if the browser allows it.

import { useLayoutEffect, useState } from "preact/hooks";

const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];
const KEY = "plimsoll-theme";

function remembered(): Theme {
  try {
    const word = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === word) ?? "auto";
  } catch {
    return "auto";
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    /* some browsers have no storage for local files */
  }
}

/** After this event, canvases must be redrawn. */
export const THEME_EVENT = "plimsoll-theme";

const SYSTEM_DARK = "(prefers-color-scheme: dark)";

/** style.css knows only light and dark; for "auto", the system decides. */
export function applyTheme(theme = remembered()): void {
  const dark = theme === "auto" ? matchMedia(SYSTEM_DARK).matches : theme === "dark";
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  dispatchEvent(new Event(THEME_EVENT));
}

export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState(remembered);
  useLayoutEffect(() => {
    const system = matchMedia(SYSTEM_DARK);
    const follow = () => applyTheme(theme);
    follow();
    system.addEventListener("change", follow);
    return () => system.removeEventListener("change", follow);
  }, [theme]);
  const next = () => {
    const following = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember(following);
    setTheme(following);
  };
  return [theme, next];
}

export function isDark(): boolean {
  return document.documentElement.dataset["theme"] === "dark";
}
