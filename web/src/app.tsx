// SPDX-License-Identifier: MIT
// app.tsx - the page: the selection at the top, and below it the views, which all follow it.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Bar } from "./bar";
import type { Profile } from "./data/profile";
import type { Look } from "./look";
import { intervalDataset, wholeDataset, type Dataset } from "./model/figures/dataset";
import { INSTANT_END, INSTANT_START, instantNear } from "./model/figures/instant";
import { includedSites, isNarrowed } from "./model/figures/narrow";
import { isMetric, knownMetrics, metricInfo, type Metric } from "./model/figures/metric";
import { selectionTotals } from "./model/figures/totals";
import { NO_SUCH_TAG, readState, usualState, writeState, type Change, type State } from "./state";
import { Tabs } from "./tabs";
import { Flame } from "./views/flame/flame";
import { Facts } from "./views/overview/facts";
import { Findings } from "./views/overview/findings";
import { Losses } from "./views/overview/losses";
import { Strip } from "./views/overview/strip";
import { Timeline } from "./views/timeline/timeline";

/** Calls back with every new reading of a profile, and with an error message or null. Returns a function that stops. */
export type Feed = (
  onProfile: (profile: Profile) => void,
  onTrouble: (message: string | null) => void,
) => () => void;

/** The first selection. */
function usualFor(profile: Profile): State {
  const { page, diff } = profile.header;
  const state = usualState(isMetric(page.metric) ? page.metric : "live", diff ? "changes" : "sites");
  return { ...state, since: page.since_s ?? null, until: page.until_s ?? null };
}

/** If a time interval is chosen, its dataset, which has every site twice: at the start and at the end. */
function inTime(
  whole: Dataset,
  included: Uint8Array,
  since: number | null,
  until: number | null,
): [Dataset, Uint8Array] {
  const { profile } = whole;
  const end = profile.header.process.duration_s;
  const all = instantNear(profile, since ?? 0) === INSTANT_START && instantNear(profile, until ?? end) === INSTANT_END;
  if (whole.kind === "difference" || all) return [whole, included];
  const both = new Uint8Array(2 * included.length);
  both.set(included);
  both.set(included, included.length);
  return [intervalDataset(profile, since ?? 0, until ?? end, included), both];
}

function signedValues(dataset: Dataset, metric: Metric, included: Uint8Array): Float64Array {
  const values = dataset.values(metric);
  const signed = new Float64Array(dataset.count);
  for (let i = 0; i < dataset.count; i++) signed[i] = included[i] ? (i < dataset.base ? -values[i] : values[i]) : 0;
  return signed;
}

function useLook(profile: Profile, state: State, set: (change: Change) => void): Look {
  const whole = useMemo(() => wholeDataset(profile), [profile]);
  const left = useMemo(
    () => includedSites(whole, state),
    [whole, state.tag, state.thread, state.focus.join(), state.hide.join()],
  );
  const [dataset, included] = useMemo(
    () => inTime(whole, left, state.since, state.until),
    [whole, left, state.since, state.until],
  );
  const known = knownMetrics(profile.header, dataset.kind === "interval").some((info) => info.metric === state.metric);
  const metric: Metric = known ? state.metric : metricInfo(state.metric).of === "lost" ? "live" : "allocated";
  const values = useMemo(() => signedValues(dataset, metric, included), [dataset, metric, included]);
  const narrowed = isNarrowed(state);
  const totals = useMemo(() => selectionTotals(dataset, included, state), [dataset, included]);
  const look = { profile, set, dataset, included, narrowed, values, totals };
  return metric === state.metric ? { ...look, state } : { ...look, state: { ...state, metric }, asked: state.metric };
}

/** A change of one of these gets an entry in the browser's history, so that the user can undo it. */
const STEPS: readonly (keyof State)[] = [
  "metric",
  "by",
  "since",
  "until",
  "tag",
  "thread",
  "focus",
  "hide",
  "sandwich",
  "zoom",
  "tab",
];

/** Browsers refuse this for some addresses, and if it happens too often. The view does not need it. */
function writeAddress(fragment: string, step: boolean): void {
  try {
    history[step ? "pushState" : "replaceState"](null, "", fragment);
  } catch {
    /* the next change writes the whole selection */
  }
}

function useSelection(usual: State, profile: Profile): [State, (change: Change) => void] {
  const [state, setState] = useState(() => readState(location.hash, usual, profile));
  const now = useRef(state);
  const keys = useRef(profile);
  keys.current = profile;
  const set = useCallback((change: Change) => {
    const next = { ...now.current, ...(typeof change === "function" ? change(now.current) : change) };
    const fragment = writeState(next, usual, keys.current);
    const step = STEPS.some((key) => String(next[key]) !== String(now.current[key]));
    now.current = next;
    setState(next);
    writeAddress(`#${fragment}`, step);
  }, []);
  const follow = useCallback(() => setState((now.current = readState(location.hash, usual, keys.current))), []);
  useEffect(() => {
    if (now.current.tag === NO_SUCH_TAG) follow(); /* a running program may have used the tag since */
  }, [profile]);
  useEffect(() => {
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
    };
  }, []);
  return [state, set];
}

export interface Liveness {
  live: boolean;
  /** It was live, and has ended. */
  over: boolean;
  frozen: boolean;
  trouble: string | null;
  setFrozen: (frozen: boolean) => void;
}

function useFeed(first: Profile, feed: Feed | null): [Profile, Liveness] {
  const [profile, setProfile] = useState(first);
  const [frozen, setFrozen] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const live = profile.header.page.live;
  useEffect(() => (feed && live && !frozen ? feed(setProfile, setTrouble) : undefined), [feed, live, frozen]);
  const over = feed !== null && first.header.page.live && !live;
  return [profile, { live: feed !== null && live, over, frozen, trouble, setFrozen }];
}

export function App({ first, feed }: { first: Profile; feed: Feed | null }) {
  const [profile, liveness] = useFeed(first, feed);
  const usual = useMemo(() => usualFor(first), []);
  const [state, set] = useSelection(usual, profile);
  const look = useLook(profile, state, set);
  useEffect(() => {
    document.title = `${profile.header.page.title || profile.header.process.name} · Plimsoll`;
  }, [profile]);
  return (
    <div class="app">
      <Bar look={look} liveness={liveness} />
      <main>
        <Strip look={look} />
        <Losses look={look} />
        <Timeline look={look} />
        <div class="middle">
          <aside aria-label="What stands out">
            <Findings look={look} />
            <Facts look={look} />
          </aside>
          <div class="views">
            <Flame look={look} />
            <Tabs look={look} />
          </div>
        </div>
      </main>
    </div>
  );
}
