// SPDX-License-Identifier: MIT
// legend.tsx - the choice of how the timeline is divided, and its legend: names, and values at the cursor.

import type { Look } from "../../look";
import type { ChartBy, LegendEntry } from "./scene";

const CHOICES: readonly { by: ChartBy; title: string }[] = [
  { by: "total", title: "Total" },
  { by: "site", title: "By site" },
  { by: "tag", title: "By tag" },
];

export function LayersChoice({ by, tagged, choose }: { by: ChartBy; tagged: boolean; choose: (by: ChartBy) => void }) {
  return (
    <div class="segments" role="group" aria-label="Divide the chart" id="layers-by">
      {CHOICES.filter((choice) => choice.by !== "tag" || tagged).map((choice) => (
        <button
          key={choice.by}
          type="button"
          data-by={choice.by}
          aria-pressed={by === choice.by}
          onClick={() => choose(choice.by)}
        >
          {choice.title}
        </button>
      ))}
    </div>
  );
}

/** A sample of how a curve is drawn. */
function Swatch({ entry }: { entry: LegendEntry }) {
  const paint = (element: HTMLSpanElement | null) => element?.style.setProperty("--swatch", `var(${entry.colour})`);
  return <span ref={paint} class={`swatch swatch-${entry.kind}${entry.dashed ? " dashed" : ""}`} aria-hidden="true" />;
}

function pick(look: Look, layer: NonNullable<LegendEntry["layer"]>): void {
  if (layer.by === "tag") return look.set({ tag: look.state.tag === layer.index ? null : layer.index });
  const key = look.profile.functionKey(layer.index);
  look.set({ picked: look.state.picked === key ? "" : key });
}

function isPicked(look: Look, layer: NonNullable<LegendEntry["layer"]>): boolean {
  return layer.by === "tag"
    ? look.state.tag === layer.index
    : look.state.picked === look.profile.functionKey(layer.index);
}

interface LegendProps {
  look: Look;
  row: number;
  /** Shows or hides a curve. */
  draw: (drawn: boolean) => void;
}

function Entry({ look, entry, row, draw }: LegendProps & { entry: LegendEntry }) {
  const { layer, drawn } = entry;
  const note = drawn === false ? "not drawn" : (entry.note ?? "");
  const inside = (
    <>
      <Swatch entry={entry} />
      <span class="name" title={entry.name}>
        {entry.name}
      </span>{" "}
      <span class="value">{entry.value(row)}</span>
    </>
  );
  if (drawn !== undefined)
    return (
      <button
        type="button"
        class={drawn ? "entry" : "entry left-out"}
        title={drawn ? "Hide this curve" : "Show this curve"}
        onClick={() => draw(!drawn)}
      >
        {inside} {note !== "" && <span class="dim">{note}</span>}
      </button>
    );
  if (!layer) return <span class="entry">{inside}</span>;
  return (
    <button type="button" class="entry" aria-pressed={isPicked(look, layer)} onClick={() => pick(look, layer)}>
      {inside}
    </button>
  );
}

export function Legend({ look, entries, row, title, draw }: LegendProps & { entries: LegendEntry[]; title: string }) {
  return (
    <div class="legend">
      <span class="when">{title}</span>
      <ul>
        {entries.map((entry, index) => (
          <li key={index}>
            <Entry look={look} entry={entry} row={row} draw={draw} />
          </li>
        ))}
      </ul>
    </div>
  );
}
