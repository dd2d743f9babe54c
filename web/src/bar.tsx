// SPDX-License-Identifier: MIT
// bar.tsx - the bar at the top: the title, and the selection that all views follow.

import { useEffect, useState } from "preact/hooks";
import type { Liveness } from "./app";
import type { Header } from "./data/header";
import type { Profile } from "./data/profile";
import type { Look } from "./look";
import { searchProblem } from "./model/flame/find";
import { describeMethod } from "./model/overview/facts";
import { knownMetrics, metricTitle, type Metric } from "./model/figures/metric";
import { GROUPINGS, type Grouping } from "./state";
import { About, Help } from "./views/dialogs";
import { Choice } from "./views/choice";
import { useTyped } from "./views/typed";
import { useTheme } from "./theme";

const GROUPING_TITLES: Record<Grouping, string> = { stack: "Stack", tag: "Tag", thread: "Thread" };

/** The program; for a comparison, both profiles. */
function title(look: Look): string {
  const { page, diff } = look.profile.header;
  return diff ? `${diff.before.subject} → ${diff.after.subject}` : page.title;
}

function MetricChoice({ look }: { look: Look }) {
  const interval = look.dataset.kind === "interval";
  const options = knownMetrics(look.profile.header, interval).map(({ metric, help }) => ({
    value: metric,
    title: metricTitle(look.profile.header, metric, interval),
    help,
  }));
  const choose = (metric: Metric) => look.set({ metric });
  return <Choice id="metric" label="Metric" value={look.state.metric} options={options} choose={choose} />;
}

function GroupingChoice({ look }: { look: Look }) {
  return (
    <div class="segments" role="group" aria-label="Group by">
      {GROUPINGS.map((by) => (
        <button
          key={by}
          type="button"
          id={`by-${by}`}
          aria-pressed={look.state.by === by}
          onClick={() => look.set({ by, zoom: "" })}
        >
          {GROUPING_TITLES[by]}
        </button>
      ))}
    </div>
  );
}

const SHOWN_MOST = 24;

/** What is wrong with the typed text, and which search is still shown. */
function describeProblem(problem: string, shown: string): string {
  const short = shown.length > SHOWN_MOST ? `${shown.slice(0, SHOWN_MOST)}…` : shown;
  return `not a regular expression (${problem})${short && `; still showing ${short}`}`;
}

function Search({ look }: { look: Look }) {
  const apply = (search: string) => searchProblem(search) === null && look.set({ search });
  const { text, type, enter } = useTyped(look.state.search, apply);
  const problem = searchProblem(text);
  const valid = problem === null;
  return (
    <label class="search">
      <span class="hidden">Search functions, a regular expression</span>
      <input
        id="search"
        type="search"
        placeholder="Search ( / )"
        value={text}
        aria-invalid={!valid}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") enter(""), event.currentTarget.blur();
          if (event.key === "Enter") enter(event.currentTarget.value);
          event.stopPropagation();
        }}
      />
      <span role="status" class={valid ? "hidden" : "invalid"}>
        {problem !== null && describeProblem(problem, look.state.search)}
      </span>
    </label>
  );
}

function LiveControl({ liveness, header }: { liveness: Liveness; header: Header }) {
  if (!liveness.live && !liveness.trouble && !liveness.over) return null;
  return (
    <span class="liveness">
      {liveness.live && (
        <button
          type="button"
          id="freeze"
          aria-pressed={liveness.frozen}
          onClick={() => liveness.setFrozen(!liveness.frozen)}
        >
          {liveness.frozen ? "Frozen: resume" : "Live: freeze"}
        </button>
      )}
      {liveness.over && (
        <span role="status" id="ended">
          Ended: {header.process.ended}
        </span>
      )}
      {liveness.trouble && <span role="status" class="trouble">{liveness.trouble}</span>}
    </span>
  );
}

function nameTag({ header }: Profile, tag: number): string {
  const found = header.tags[tag];
  return found ? `tag ${found.path || "(none)"}` : "unknown tag";
}

/** What the selection is narrowed to, each with a button that removes it. */
function Narrowings({ look }: { look: Look }) {
  const { state, set, profile } = look;
  const name = (key: string) => {
    const index = profile.functionOfKey(key);
    return index === undefined ? "unknown function" : profile.functionName(index);
  };
  const chips: { text: string; undo: () => void }[] = [];
  if (state.tag !== null)
    chips.push({ text: nameTag(profile, state.tag), undo: () => set({ tag: null }) });
  if (state.thread !== null) chips.push({ text: `thread ${state.thread}`, undo: () => set({ thread: null }) });
  for (const key of state.focus)
    chips.push({ text: `through ${name(key)}`, undo: () => set({ focus: state.focus.filter((k) => k !== key) }) });
  for (const key of state.hide)
    chips.push({ text: `not through ${name(key)}`, undo: () => set({ hide: state.hide.filter((k) => k !== key) }) });
  const { selection } = profile.header.extent;
  if (chips.length === 0 && selection === null) return null;
  return (
    <div class="chips" aria-label="Only">
      {selection !== null && (
        <span class="chip fixed" title="The page contains only this part of the profile">
          <span>only {selection}</span>
        </span>
      )}
      {chips.map((chip) => (
        <button key={chip.text} type="button" class="chip" onClick={chip.undo} title="Remove">
          <span>{chip.text}</span> <span aria-hidden="true">×</span>
        </button>
      ))}
    </div>
  );
}

/** Keys that work except while the user types text. */
function useKeys(look: Look, openHelp: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      const typing = target?.closest("input, textarea, select, dialog");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search")?.focus();
      else if (event.key === "m") document.getElementById("metric")?.focus();
      else if (event.key === "g")
        look.set((now) => ({ by: GROUPINGS[(GROUPINGS.indexOf(now.by) + 1) % GROUPINGS.length], zoom: "" }));
      else if (event.key === "?") openHelp();
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

export function Bar({ look, liveness }: { look: Look; liveness: Liveness }) {
  const [box, setBox] = useState<"about" | "help" | null>(null);
  const [theme, nextTheme] = useTheme();
  const { header } = look.profile;
  useKeys(look, () => setBox("help"));
  return (
    <header class="bar">
      <div class="who">
        <button type="button" class="brand" onClick={() => setBox("about")} title="About this page">
          Plimsoll
        </button>
        <h1 title={header.process.command.join(" ")}>{title(look)}</h1>
        <span class="method" title={header.sampling.method}>{describeMethod(header)}</span>
        <LiveControl liveness={liveness} header={header} />
      </div>
      <div class="controls">
        <MetricChoice look={look} />
        <GroupingChoice look={look} />
        <Search look={look} />
        <button
          type="button"
          class="icon"
          onClick={nextTheme}
          aria-label={`Colours: ${theme}`}
          title={`Colours: ${theme}`}
        >
          <span aria-hidden="true">{theme === "auto" ? "◐" : theme === "light" ? "○" : "●"}</span>
        </button>
        <button type="button" class="icon" onClick={() => setBox("help")} aria-label="Help" title="Help ( ? )">
          <span aria-hidden="true">?</span>
        </button>
      </div>
      <Narrowings look={look} />
      {box === "about" && <About look={look} close={() => setBox(null)} />}
      {box === "help" && <Help look={look} close={() => setBox(null)} />}
    </header>
  );
}
