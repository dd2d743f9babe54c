// SPDX-License-Identifier: MIT
// main.tsx - the entry point: gets the data, shows the page, and updates it while the program runs.

import { render } from "preact";
import { App, type Feed } from "./app";
import { embeddedData, servedData, type Served } from "./boot";
import { openProfile, type Profile } from "./data/profile";
import "./style.css";
import { applyTheme } from "./theme";

const PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const UNREACHABLE = "plimsoll view does not answer; these are its last figures";

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

/** Polls the server until the program has ended. If it does not answer, polls less and less often: it may come back. */
function follow(first: Served): Feed {
  return (onProfile, onTrouble) => {
    let etag = first.etag;
    let stopped = false;
    let timer = 0;
    let pause = PAUSE_MS;
    const ask = async () => {
      let live = true;
      try {
        const served = await servedData(etag);
        if (stopped) return;
        onTrouble(null);
        pause = PAUSE_MS;
        if (served) {
          etag = served.etag;
          const profile = openProfile(served.bytes);
          live = profile.header.page.live;
          onProfile(profile);
        }
      } catch {
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
        if (!stopped) onTrouble(UNREACHABLE);
      }
      if (!stopped && live) timer = window.setTimeout(ask, pause);
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
    if (!bytes) throw new Error("the page has no profile");
    const profile: Profile = openProfile(bytes);
    root.textContent = "";
    render(<App first={profile} feed={served && profile.header.page.live ? follow(served) : null} />, root);
  } catch (failure) {
    showFailure(root, failure);
  }
}

void main();
