// SPDX-License-Identifier: MIT
// main.tsx - the beginning: fetch the data, show the page, and keep it up to date while a program runs.

import { render } from "preact";
import { App, type Feed } from "./app";
import { embeddedData, servedData, type Served } from "./boot";
import { openProfile, type Profile } from "./data/profile";
import "./style.css";
import { applyTheme } from "./theme";

const PAUSE_MS = 1000;

function showFailure(root: HTMLElement, failure: unknown): void {
  const message = failure instanceof Error ? failure.message : String(failure);
  render(
    <main class="failure" role="alert">
      <h1>This profile cannot be shown</h1>
      <p>{message}</p>
    </main>,
    root,
  );
}

/** Asks again and again, until the program has ended. A failure is passed on, and the next try may succeed. */
function follow(first: Served): Feed {
  return (onProfile, onTrouble) => {
    let etag = first.etag;
    let stopped = false;
    let timer = 0;
    const ask = async () => {
      let live = true;
      try {
        const served = await servedData(etag);
        if (stopped) return;
        onTrouble(null);
        if (served) {
          etag = served.etag;
          const profile = openProfile(served.bytes);
          live = profile.header.page.live;
          onProfile(profile);
        }
      } catch (failure) {
        if (!stopped) onTrouble(failure instanceof Error ? failure.message : String(failure));
      }
      if (!stopped && live) timer = window.setTimeout(ask, PAUSE_MS);
    };
    timer = window.setTimeout(ask, PAUSE_MS);
    return () => {
      stopped = true;
      window.clearTimeout(timer);
    };
  };
}

async function main(): Promise<void> {
  const root = document.getElementById("page");
  if (!root) return;
  applyTheme();
  try {
    const embedded = await embeddedData();
    const served = embedded ? null : await servedData(null);
    const bytes = embedded ?? served?.bytes;
    if (!bytes) throw new Error("there is no profile");
    const profile: Profile = openProfile(bytes);
    root.textContent = "";
    render(<App first={profile} feed={served && profile.header.page.live ? follow(served) : null} />, root);
  } catch (failure) {
    showFailure(root, failure);
  }
}

void main();
