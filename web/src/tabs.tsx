// SPDX-License-Identifier: MIT
// tabs.tsx - the views below the graph, one at a time.

import type { ComponentType } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Profile } from "./data/profile";
import type { ViewProps } from "./look";
import type { Tab } from "./state";
import { Changes } from "./views/tables/changes";
import { Held } from "./views/held/held";
import { Functions } from "./views/tables/functions";
import { Leaks } from "./views/tables/leaks";
import { Memory } from "./views/memory/memory";
import { Lifetimes } from "./views/histograms/lifetimes";
import { Sites } from "./views/tables/sites";
import { Sizes } from "./views/histograms/sizes";
import { Source } from "./views/tables/source";
import { Tags } from "./views/tags/tags";
import { Threads } from "./views/tables/threads";

interface Row {
  tab: Tab;
  title: string;
  view: ComponentType<ViewProps>;
  offered: (profile: Profile) => boolean;
}

const always = () => true;
const one = (profile: Profile) => !profile.header.extent.difference;

const ROWS: readonly Row[] = [
  { tab: "changes", title: "Changes", view: Changes, offered: (profile) => profile.header.diff !== null },
  { tab: "sites", title: "Sites", view: Sites, offered: always },
  { tab: "functions", title: "Functions", view: Functions, offered: always },
  { tab: "leaks", title: "Leaks", view: Leaks, offered: (profile) => profile.header.leaks !== null },
  { tab: "tags", title: "Tags", view: Tags, offered: always },
  { tab: "threads", title: "Threads", view: Threads, offered: always },
  { tab: "sizes", title: "Sizes", view: Sizes, offered: one },
  { tab: "lifetimes", title: "Lifetimes", view: Lifetimes, offered: one },
  {
    tab: "memory",
    title: "Memory",
    view: Memory,
    offered: (profile) => one(profile) && profile.header.memory.length + profile.header.residency.length > 0,
  },
  {
    tab: "held",
    title: "Held by",
    view: Held,
    offered: (profile) => one(profile) && profile.header.holders.length > 0,
  },
  { tab: "source", title: "Source", view: Source, offered: (profile) => profile.header.sources.length > 0 },
];

/** On a phone the list is wider than the window: scrolls it, but not the page, to the selected tab. */
function useInSight(tab: Tab) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const selected = document.getElementById(`tab-${tab}`);
    if (!list.current || !selected) return;
    const [outside, inside] = [list.current.getBoundingClientRect(), selected.getBoundingClientRect()];
    if (inside.right > outside.right) list.current.scrollLeft += inside.right - outside.right;
    if (inside.left < outside.left) list.current.scrollLeft -= outside.left - inside.left;
  }, [tab]);
  return list;
}

export function Tabs({ look }: ViewProps) {
  const rows = ROWS.filter((row) => row.offered(look.profile));
  const row = rows.find((each) => each.tab === look.state.tab) ?? rows[0];
  const View = row.view;
  const list = useInSight(row.tab);
  const walk = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = rows[(rows.indexOf(row) + step + rows.length) % rows.length];
    look.set({ tab: next.tab, sort: "", columns: "", filter: "" });
    document.getElementById(`tab-${next.tab}`)?.focus();
    event.preventDefault();
  };
  return (
    <section class="tabs" aria-label="Details">
      <div ref={list} role="tablist" aria-label="Details" onKeyDown={walk}>
        {rows.map((each) => (
          <button
            key={each.tab}
            id={`tab-${each.tab}`}
            type="button"
            role="tab"
            aria-selected={each === row}
            aria-controls="tabpanel"
            tabIndex={each === row ? 0 : -1}
            onClick={() => look.set({ tab: each.tab, sort: "", columns: "", filter: "" })}
          >
            {each.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tabpanel" aria-labelledby={`tab-${row.tab}`} class={`panel panel-${row.tab}`}>
        <View look={look} />
      </div>
    </section>
  );
}
