// SPDX-License-Identifier: MIT
// timeline.tsx - the timeline: the chart, its legend, and the choice of an interval, which all views follow. The user
// chooses it by dragging, or in two select boxes.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Header } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { Look, ViewProps } from "../../look";
import { formatEstimate, formatSpan } from "../../model/figures/format";
import { assignSlots, makeLayers } from "../../model/time/layers";
import { metricTitle, type Metric } from "../../model/figures/metric";
import { captionStretch, nearestIndex, snapStretch, stretchState } from "../../model/time/timeline";
import { THEME_EVENT } from "../../theme";
import { Choice } from "../choice";
import { LayersChoice, Legend } from "./legend";
import { createPlot, type Plot, type Scene } from "./plot";
import { cuttingMoments, makeChart, type Chart, type ChartBy } from "./scene";
import "./timeline.css";

const WHOLE = { since: null, until: null };

/** Layers and their colours. While the page is open, a layer keeps its colour. */
function useLayers(profile: Profile, by: ChartBy) {
  const before = useRef<ReadonlyMap<string, number>>(new Map());
  return useMemo(() => {
    if (by === "total" || profile.header.extent.difference) return { layers: null, slots: before.current };
    const layers = makeLayers(profile, by);
    const slots = assignSlots(
      before.current,
      layers.layers.map((layer) => layer.key),
    );
    before.current = slots;
    return { layers, slots };
  }, [profile, by]);
}

function useChart(look: Look, by: ChartBy, rss: boolean): Chart {
  const { layers, slots } = useLayers(look.profile, by);
  const { profile, dataset, state, included } = look;
  return useMemo(
    () => makeChart({ look, by, layers, slots, rss }),
    [profile, dataset, included, state.picked, state.tag, by, layers, rss],
  );
}

/** Keeps one plot while the card exists, and shows every new scene in it. */
function usePlot(scene: Scene, look: Look, setRow: (row: number | null) => void) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const latest = useRef({ look, scene });
  latest.current = { look, scene };
  useEffect(() => {
    if (!host.current) return;
    const made = createPlot(host.current, latest.current.scene, {
      onCursor: setRow,
      onWhole: () => latest.current.look.set(WHOLE),
      onDrag: (from, to) => {
        const { moments } = latest.current.scene;
        const stretch = snapStretch(moments, from, to);
        if (stretch) latest.current.look.set(stretchState(moments, stretch));
      },
    });
    plot.current = made;
    const redraw = () => made.redraw();
    addEventListener(THEME_EVENT, redraw);
    return () => {
      removeEventListener(THEME_EVENT, redraw);
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.show(scene), [scene]);
  return { host, plot };
}

/** Escape removes the interval, unless it first has to leave something else, such as a zoom. */
function useEscape(look: Look): void {
  const { state, set, dataset } = look;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      const elsewhere = target?.closest("input, textarea, select, dialog, canvas") || event.defaultPrevented;
      const nearer = (state.zoom || state.sandwich) && !target?.closest(".timeline");
      if (event.key === "Escape" && dataset.kind === "interval" && !elsewhere && !nearer) set(WHOLE);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  });
}

interface MomentProps {
  id: string;
  label: string;
  moments: number[];
  value: number;
  from: number;
  to: number;
  choose: (index: number) => void;
}

function MomentChoice({ id, label, moments, value, from, to, choose }: MomentProps) {
  const say = (index: number) =>
    index === 0 ? "start" : index === moments.length - 1 ? "end" : formatSpan(moments[index]);
  const options = moments
    .map((_, index) => ({ value: String(index), title: say(index) }))
    .filter((_, index) => index >= from && index <= to);
  return (
    <Choice id={id} label={label} value={String(value)} options={options} choose={(index) => choose(Number(index))} />
  );
}

/** Why no interval can be chosen. */
function whyUncut(look: Look): string {
  const { extent } = look.profile.header;
  if (extent.merged)
    return "Several profiles were merged, and each has its own clock: no part of the time can be chosen.";
  return (
    "No interval can be chosen: the run was too short to record the composition of the heap between its start and " +
    "its end."
  );
}

function describeAsked({ profile, state }: Look, asked: Metric): string {
  const title = (metric: Metric) => metricTitle(profile.header, metric);
  return `${title(asked)} is known only for the whole run; shown instead: ${title(state.metric).toLowerCase()}.`;
}

function StretchChoice({ look, moments }: { look: Look; moments: number[] }) {
  const { dataset, set } = look;
  if (look.profile.header.extent.difference)
    return <p class="dim">Times are since the start of each run; the first run is dashed.</p>;
  if (moments.length === 0) return <p class="dim">{whyUncut(look)}</p>;
  const interval = dataset.kind === "interval";
  const last = moments.length - 1;
  const first = interval ? nearestIndex(moments, dataset.since) : 0;
  const second = interval ? nearestIndex(moments, dataset.until) : last;
  const choose = (since: number, until: number) =>
    set(stretchState(moments, { since: moments[since], until: moments[until] }));
  return (
    <div class="stretch">
      <MomentChoice
        id="since"
        label="From"
        moments={moments}
        value={first}
        from={0}
        to={second - 1}
        choose={(index) => choose(index, second)}
      />
      <MomentChoice
        id="until"
        label="to"
        moments={moments}
        value={second}
        from={first + 1}
        to={last}
        choose={(index) => choose(first, index)}
      />
      {interval && (
        <button type="button" id="whole-run" onClick={() => set(WHOLE)} title="Show the whole run ( esc )">
          Whole run
        </button>
      )}
      <p role="status" class={interval ? "" : "dim"}>
        {interval
          ? `${captionStretch(dataset, look.totals, look.narrowed)}.`
          : `Drag over the chart to choose an interval, which begins and ends at one of ${moments.length} ticks.`}
        {interval && look.asked && ` ${describeAsked(look, look.asked)}`}
        {interval && dataset.guessed && <span class="dim"> Figures of small sites are estimates.</span>}
      </p>
    </div>
  );
}

function describeChart(look: Look): string {
  const { header } = look.profile;
  const { process, totals, peak, diff } = header;
  if (diff) return "Live bytes, RSS and allocation rate of both runs over time";
  return (
    `Live bytes, RSS and allocation rate over ${formatSpan(process.duration_s)}; ` +
    `peak ${formatEstimate("bytes", totals.peak_space)} at ${formatSpan(peak.time_s)}. Arrow keys move the cursor.`
  );
}

/** The page was made from a part of the profile, while the timeline is of all of it. */
function isOfMore({ extent }: Header): boolean {
  return extent.selection !== null && !extent.difference;
}

function Charted({ look }: ViewProps) {
  const { header } = look.profile;
  const tagged = header.tags.length > 1;
  const by = look.state.chart === "tag" && !tagged ? "total" : look.state.chart;
  const [row, setRow] = useState<number | null>(null);
  const [rss, setRss] = useState(true);
  const [walking, setWalking] = useState(false);
  const { scene, legend } = useChart(look, by, rss);
  const { host, plot } = usePlot(scene, look, setRow);
  const moments = useMemo(() => cuttingMoments(look.profile), [look.profile]);
  useEscape(look);
  const walk = (event: KeyboardEvent) => {
    const rows = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (rows === 0) return;
    plot.current?.step(event.shiftKey ? 10 * rows : rows);
    setWalking(true);
    event.preventDefault();
  };
  const shown = row === null || row >= scene.time.length ? scene.time.length - 1 : row;
  const interval = look.dataset.kind === "interval";
  return (
    <section class="card timeline" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        {!header.extent.difference && <LayersChoice by={by} tagged={tagged} choose={(chart) => look.set({ chart })} />}
      </header>
      <div
        id="timeline"
        ref={host}
        tabIndex={0}
        role="group"
        aria-roledescription="chart"
        aria-label={describeChart(look)}
        data-since={interval ? look.dataset.since : ""}
        data-until={interval ? look.dataset.until : ""}
        data-moments={scene.time.length}
        onKeyDown={walk}
        onBlur={() => setWalking(false)}
      />
      <div aria-live={walking ? "polite" : "off"}>
        <Legend
          look={look}
          entries={legend}
          row={shown}
          title={row === null ? "at the end" : `at ${formatSpan(scene.time[shown])}`}
          draw={setRss}
        />
      </div>
      {by !== "total" && (
        <p class="dim">
          The composition of the heap is known at {moments.length || 2} times (the ticks); between them, it is
          interpolated in step with live memory.
        </p>
      )}
      {isOfMore(header) && <p class="dim">The timeline is of the whole program, not of the selected part.</p>}
      <StretchChoice look={look} moments={moments} />
    </section>
  );
}

function Uncharted({ look }: ViewProps) {
  const { extent } = look.profile.header;
  return (
    <section class="card timeline" aria-label="Timeline">
      <h2>Timeline</h2>
      <p class="dim" id="timeline" data-since="" data-until="">
        {extent.merged
          ? `There is no timeline: ${extent.merged} profiles were merged, and each has its own clock.`
          : "There is no timeline: fewer than two moments of the run were recorded."}
      </p>
    </section>
  );
}

const LEAST_MOMENTS = 2;

export function Timeline({ look }: ViewProps) {
  const { timeline, diff, extent } = look.profile.header;
  const longest = diff ? Math.max(diff.before.timeline.length, diff.after.timeline.length) : timeline.length;
  return longest >= LEAST_MOMENTS && !extent.merged ? <Charted look={look} /> : <Uncharted look={look} />;
}
