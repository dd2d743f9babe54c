// SPDX-License-Identifier: MIT
// tools.tsx - the toolbar of the flame graph: options, the result of a search, and buttons to go back.

import { useMemo, useState } from "preact/hooks";
import type { Look } from "../../look";
import type { Matches } from "../../model/flame/find";
import { formatChange, formatCount, formatPercent, formatValue } from "../../model/figures/format";
import { metricInfo } from "../../model/figures/metric";
import type { Tree } from "../../model/flame/tree";
import { COLOURINGS, type Colouring } from "../../state";
import { Choice } from "../choice";
import type { Part } from "./scene";

export const DIRECTIONS = ["icicle", "flame"] as const;
export type Direction = (typeof DIRECTIONS)[number];
const REMEMBERED = "plimsoll-direction";

/** The direction in which the graph grows. It is a matter of taste, so the browser stores it, and links do not. */
export function useDirection(): [Direction, (direction: Direction) => void] {
  const [direction, setDirection] = useState<Direction>(() => {
    try {
      return DIRECTIONS.find((word) => word === localStorage.getItem(REMEMBERED)) ?? "icicle";
    } catch {
      return "icicle";
    }
  });
  const choose = (chosen: Direction) => {
    setDirection(chosen);
    try {
      localStorage.setItem(REMEMBERED, chosen);
    } catch {
      /* some browsers have no storage for local files */
    }
  };
  return [direction, choose];
}

const DIRECTION_TITLES: Record<Direction, { title: string; help: string }> = {
  icicle: { title: "Icicle", help: "callers at the top, callees below them" },
  flame: { title: "Flame", help: "callers at the bottom, callees above them" },
};

const COLOURING_TITLES: Record<Colouring, string> = {
  module: "Module",
  language: "Language",
  package: "Package",
  tag: "Tag",
};

function Directions({ direction, choose }: { direction: Direction; choose: (direction: Direction) => void }) {
  return (
    <div class="segments" role="group" aria-label="Direction">
      {DIRECTIONS.map((word) => (
        <button
          key={word}
          id={`flame-${word}`}
          type="button"
          aria-pressed={word === direction}
          title={DIRECTION_TITLES[word].help}
          onClick={() => choose(word)}
        >
          {DIRECTION_TITLES[word].title}
        </button>
      ))}
    </div>
  );
}

/** One language needs no colours. */
function ColourChoice({ look }: { look: Look }) {
  const { language } = look.profile.functions;
  const several = useMemo(() => language.some((number) => number !== language[0]), [language]);
  const offered = COLOURINGS.filter((value) => value !== "language" || several || value === look.state.colour);
  const options = offered.map((value) => ({ value, title: COLOURING_TITLES[value] }));
  const choose = (colour: Colouring) => look.set({ colour });
  return <Choice id="flame-colour" label="Colour" value={look.state.colour} options={options} choose={choose} />;
}

/** "matches 12.4 MiB, 38.1% in 14 frames" */
export function describeMatches(look: Look, tree: Tree, matches: Matches): string {
  const { unit } = metricInfo(look.state.metric);
  if (matches.boxes === 0) return "no match";
  const figure = tree.widths === "value" ? formatValue(unit, matches.value) : formatChange(unit, matches.value);
  const share = formatPercent(matches.size / tree.size[0]);
  const boxes = `${matches.more ? "at least " : ""}${formatCount(matches.boxes)}`;
  return `matches ${figure}, ${share} in ${boxes} ${matches.boxes === 1 ? "frame" : "frames"}`;
}

interface FoundProps {
  look: Look;
  part: Part;
  matches: Matches;
  walk: (by: 1 | -1) => void;
}

const WALKS = [
  { by: -1, title: "Previous match", key: "N", sign: "‹" },
  { by: 1, title: "Next match", key: "n", sign: "›" },
] as const;

/** Replaces the total beside the title, so that nothing moves when a search begins. */
export function Found({ look, part, matches, walk }: FoundProps) {
  return (
    <span class="flame-found">
      <span id="flame-matches" role="status">
        {describeMatches(look, part.tree, matches)}
      </span>
      {WALKS.map(({ by, title, key, sign }) => (
        <button
          key={by}
          type="button"
          class="icon"
          aria-label={title}
          title={`${title} ( ${key} )`}
          disabled={matches.boxes === 0}
          onClick={() => walk(by)}
        >
          <span aria-hidden="true">{sign}</span>
        </button>
      ))}
    </span>
  );
}

function Inverted({ look: { state, set } }: { look: Look }) {
  return (
    <button
      type="button"
      id="flame-inverted"
      aria-pressed={state.inverted}
      title="Begin with the functions that allocate, then show their callers"
      onClick={() => set({ inverted: !state.inverted, zoom: "" })}
    >
      Inverted
    </button>
  );
}

function AllFrames({ look: { state, set } }: { look: Look }) {
  const all = state.frames === "all";
  return (
    <button
      type="button"
      id="flame-frames"
      aria-pressed={all}
      title="Also show frames of allocators and of startup code"
      onClick={() => set({ frames: all ? "usual" : "all", zoom: "" })}
    >
      All frames
    </button>
  );
}

function Back({ id, title, go }: { id: string; title: string; go: () => void }) {
  return (
    <button type="button" id={id} title={`${title} ( Esc )`} onClick={go}>
      {title}
    </button>
  );
}

export interface ToolsProps {
  look: Look;
  /** Empty if there is nothing to draw. */
  parts: Part[];
  direction: Direction;
  choose: (direction: Direction) => void;
}

export function Tools({ look, parts, direction, choose }: ToolsProps) {
  const { state, set } = look;
  const sandwich = state.sandwich !== "";
  const coloured = parts.length > 0 && parts[0].tree.widths === "value";
  return (
    <div class="flame-tools">
      {!sandwich && <Directions direction={direction} choose={choose} />}
      {!sandwich && <Inverted look={look} />}
      <AllFrames look={look} />
      {coloured && <ColourChoice look={look} />}
      {state.zoom !== "" && <Back id="flame-reset" title="Reset zoom" go={() => set({ zoom: "" })} />}
      {sandwich && <Back id="flame-exit" title="Back to the whole graph" go={() => set({ sandwich: "", zoom: "" })} />}
    </div>
  );
}
