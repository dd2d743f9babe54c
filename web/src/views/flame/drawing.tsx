// SPDX-License-Identifier: MIT
// drawing.tsx - the canvas of the flame graph, with its mouse, touch and keyboard input.
//
// The focused box is stored as its path from the root, because every change renumbers the boxes.

import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Look } from "../../look";
import { announce, factsOf } from "../../model/flame/box_texts";
import { boxValue, keyName, type Subject } from "../../model/flame/tree";
import { actionsFor, CopyBox, copyText, fewActions, Menu, Tip, type Point } from "./popups";
import { newGraph, type Graph } from "./canvas";
import type { Rect, Target } from "./layout";
import { Legend } from "./legend";
import { find, spell, useLooks, usePanes, type Looks, type Part } from "./scene";
import { showable } from "./text";
import { isInside, step, walkMatches, WALKING_KEYS } from "./walk";

const SAID_MS = 3000;
const ROW_PX = 20;
const ROW_TOUCH_PX = 28;
const READABLE_PX = 12;
const LABEL =
  "Flame graph. Arrow keys move, Enter zooms in, Escape zooms out, full stop opens a menu. " +
  "The tables below have the same figures.";

interface Elements {
  wrapper: RefObject<HTMLDivElement>;
  scroller: RefObject<HTMLDivElement>;
  spacer: RefObject<HTMLDivElement>;
  canvas: RefObject<HTMLCanvasElement>;
}

interface Pointed {
  target: Target;
  point: Point;
  /** By touch: the tooltip stays, and has buttons. */
  stays: boolean;
}

/** What input handlers need. */
interface Stage {
  look: Look;
  subject: Subject;
  parts: Part[];
  elements: Elements;
  graph: RefObject<Graph>;
  focus: Target | null;
  setFocus: (target: Target | null) => void;
  pointed: Pointed | null;
  point: (pointed: Pointed | null) => void;
  openMenu: (target: Target, point: Point) => void;
  zoom: (target: Target) => void;
}

const isSame = (a: Target | null, b: Target | null) => a?.pane === b?.pane && a?.box === b?.box;

/* --- the graph itself --- */

function useElements(): Elements {
  return {
    wrapper: useRef<HTMLDivElement>(null),
    scroller: useRef<HTMLDivElement>(null),
    spacer: useRef<HTMLDivElement>(null),
    canvas: useRef<HTMLCanvasElement>(null),
  };
}

function useCoarse(): boolean {
  const [coarse, setCoarse] = useState(() => matchMedia("(pointer: coarse)").matches);
  useEffect(() => {
    const query = matchMedia("(pointer: coarse)");
    const follow = () => setCoarse(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return coarse;
}

/** Makes the graph, and reports after each drawing where the focused box is. */
function useGraph(elements: Elements, focus: Target | null): { graph: RefObject<Graph>; focused: Rect | null } {
  const graph = useRef<Graph | null>(null);
  const [focused, setFocused] = useState<Rect | null>(null);
  const wanted = useRef(focus);
  wanted.current = focus;
  useLayoutEffect(() => {
    const { canvas, scroller, spacer, wrapper } = elements;
    if (!canvas.current || !scroller.current || !spacer.current) return;
    const stand = { canvas: canvas.current, scroller: scroller.current, spacer: spacer.current };
    const it = newGraph(stand, () => {
      if (wrapper.current) wrapper.current.dataset["drawn"] = String(it.counts().drawn);
      const place = wanted.current && it.rect(wanted.current);
      setFocused((old) => (place?.x === old?.x && place?.y === old?.y && place?.width === old?.width ? old : place));
    });
    graph.current = it;
    return () => it.end();
  }, []);
  return { graph, focused };
}

function useShow(stage: Stage, looks: Looks): void {
  const { look, parts, graph, focus, pointed } = stage;
  const { by, inverted, frames, sandwich } = look.state;
  const panes = usePanes(look, parts, looks);
  const coarse = useCoarse();
  const hover = pointed?.target ?? null;
  useLayoutEffect(() => {
    const name = [by, inverted, frames, sandwich, panes[0].up].join();
    const rowHeight = coarse ? ROW_TOUCH_PX : ROW_PX;
    graph.current?.show({ name, panes, ink: looks.ink, rowHeight, focus, hover });
  }, [panes, looks, coarse, focus, hover?.pane, hover?.box]);
}

/* --- input --- */

/** Keys that work except while the user types text; Enter in the search box goes to the next match. */
function useKeysAnywhere(press: (event: KeyboardEvent) => boolean): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : null;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const searches = target?.id === "search" && event.key === "Enter";
      if (!searches && target?.closest("input, textarea, select, dialog, [role=menu]")) return;
      if (press(event)) event.preventDefault();
    };
    addEventListener("keydown", listen, true);
    return () => removeEventListener("keydown", listen, true);
  });
}

function backOut({ look, pointed, point }: Stage): boolean {
  const { state, set } = look;
  if (pointed?.stays) point(null);
  else if (state.zoom !== "") set({ zoom: "" });
  else if (state.sandwich !== "") set({ sandwich: "" });
  else if (state.picked !== "") set({ picked: "" });
  else return false;
  return true;
}

function toMatch({ look, parts, elements, graph, focus, setFocus }: Stage, by: 1 | -1): boolean {
  const target = walkMatches(parts, focus, by);
  if (!target) return false;
  const tooNarrow = (graph.current?.rect(target)?.width ?? 0) < READABLE_PX;
  if (tooNarrow && isInside(parts[target.pane], target.box)) look.set({ zoom: spell(look, parts, target) });
  else if (!isInside(parts[target.pane], target.box)) look.set({ zoom: "" });
  setFocus(target);
  elements.canvas.current?.focus({ preventScroll: true });
  return true;
}

function pressAnywhere(stage: Stage, event: KeyboardEvent): boolean {
  const { search } = stage.look.state;
  const { key, target, shiftKey } = event;
  if (key === "Escape") return backOut(stage);
  if (search === "") return false;
  if (key === "n" || key === "N") return toMatch(stage, key === "n" ? 1 : -1);
  const searches = key === "Enter" && target instanceof HTMLInputElement && target.value === search;
  return searches ? toMatch(stage, shiftKey ? -1 : 1) : false;
}

/** If Enter is pressed before the typed text has been searched for, goes to the first match when that has happened. */
function useEager(stage: Stage): (event: KeyboardEvent) => void {
  const awaited = useRef<string | null>(null);
  const { search } = stage.look.state;
  useEffect(() => {
    if (awaited.current === null || awaited.current !== search) return;
    awaited.current = null;
    toMatch(stage, 1);
  }, [search, stage.parts]);
  return ({ key, target }) => {
    if (!(target instanceof HTMLInputElement) || target.id !== "search") return;
    awaited.current = key === "Enter" && target.value !== search && target.value !== "" ? target.value : null;
  };
}

function menuAtFocus({ elements, graph, focus, openMenu }: Stage): void {
  const place = focus && graph.current?.rect(focus);
  const corner = elements.canvas.current?.getBoundingClientRect();
  if (!focus || !place || !corner) return;
  openMenu(focus, { x: corner.left + place.x + 12, y: corner.top + place.y + place.height });
}

function isMenuKey({ key, shiftKey }: KeyboardEvent): boolean {
  return key === "ContextMenu" || key === "." || (key === "F10" && shiftKey);
}

/** A key on the canvas. */
function press(stage: Stage, event: KeyboardEvent): void {
  const { parts, focus, setFocus, zoom } = stage;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const pane = parts.length - 1;
  const from = focus ?? { pane, box: parts[pane].zoom };
  if (WALKING_KEYS.includes(event.key)) {
    const to = focus === null ? from : step(parts, from, event.key);
    if (to) setFocus(to);
  } else if (event.key === "Enter") zoom(from);
  else if (isMenuKey(event)) menuAtFocus(stage);
  else return;
  event.preventDefault();
}

/** The box under the pointer. */
function under({ elements, graph }: Stage, event: MouseEvent): Target | null {
  const corner = elements.canvas.current?.getBoundingClientRect();
  return (corner && graph.current?.at(event.clientX - corner.left, event.clientY - corner.top)) ?? null;
}

const pointOf = (event: MouseEvent): Point => ({ x: event.clientX, y: event.clientY });

/** Handlers of the canvas. The first tap on a box shows its tooltip, the second zooms. */
function useHandlers(stage: Stage, menuIsOpen: boolean) {
  const { pointed, point, openMenu, setFocus, zoom } = stage;
  const touching = useRef(false);
  const byKey = useRef(false);
  return {
    onPointerDown: (event: PointerEvent) => void (touching.current = event.pointerType === "touch"),
    onPointerMove: (event: PointerEvent) => {
      if (event.pointerType === "touch" || menuIsOpen) return;
      const target = under(stage, event);
      point(target && { target, point: pointOf(event), stays: false });
    },
    onPointerLeave: (event: PointerEvent) => {
      if (event.pointerType !== "touch") point(null);
    },
    onClick: (event: MouseEvent) => {
      const target = under(stage, event);
      if (target && touching.current && !isSame(target, pointed?.target ?? null))
        return point({ target, point: pointOf(event), stays: true });
      point(null);
      if (!target) return;
      setFocus(null);
      zoom(target);
    },
    onContextMenu: (event: MouseEvent) => {
      const target = byKey.current ? null : under(stage, event);
      if (target) openMenu(target, pointOf(event));
      if (target || byKey.current) event.preventDefault();
      byKey.current = false;
    },
    onKeyDown: (event: KeyboardEvent) => {
      byKey.current = isMenuKey(event) && event.key !== "."; /* else the browser would open its own menu */
      press(stage, event);
    },
  };
}

/* --- for tests, which cannot see a canvas --- */

interface TestHook {
  boxes: () => { name: string; x: number; y: number; width: number; height: number; value: number }[];
  milliseconds: () => number;
}

declare global {
  interface Window {
    plimsoll?: { flame?: TestHook };
  }
}

function useTestHook({ look, parts, graph }: Stage): void {
  useEffect(() => {
    const boxes = () =>
      (graph.current?.drawn() ?? []).map(({ target, rect }) => {
        const { tree } = parts[target.pane];
        return { name: keyName(look.profile, tree.key[target.box]), ...rect, value: boxValue(tree, target.box) };
      });
    (window.plimsoll ??= {}).flame = { boxes, milliseconds: () => graph.current?.counts().milliseconds ?? 0 };
  });
}

/** Data attributes that describe what is drawn. */
function describe({ look, parts }: Stage) {
  const sum = (of: (part: Part) => number) => parts.reduce((total, part) => total + of(part), 0);
  const searches = parts[0].matches !== null;
  return {
    "data-nodes": sum((part) => part.tree.count) - (parts.length - 1),
    "data-zoom": look.state.zoom,
    "data-total": boxValue(parts[parts.length - 1].tree, 0),
    "data-matches": searches ? sum((part) => part.matches?.boxes ?? 0) : undefined,
    "data-match-total": searches ? parts[0].matches?.value : undefined,
  };
}

/* --- the focused box --- */

const TIP_INDENT = 120;
const TIP_ABOVE = 10; /* closer to the box than to a pointer */
const WINDOW_EDGE = 8;
const ROOM_BELOW = 160; /* for its callees and its tooltip */
const GLIDED_MS = 250;

function barBottom(): number {
  const bar = document.querySelector(".bar");
  return bar && getComputedStyle(bar).position === "sticky" ? bar.getBoundingClientRect().bottom : 0;
}

/** Scrolls the page, if necessary, so that the focused box is visible. */
function bringIntoWindow({ elements, graph, focus }: Stage): void {
  const canvas = elements.canvas.current;
  const place = focus && graph.current?.rect(focus);
  if (!canvas || !place || document.activeElement !== canvas) return;
  const top = canvas.getBoundingClientRect().top + place.y;
  const above = barBottom() + WINDOW_EDGE - top;
  const below = top + place.height + WINDOW_EDGE - window.innerHeight;
  if (above > 0) window.scrollBy(0, -above);
  else if (below > 0) window.scrollBy(0, below + ROOM_BELOW);
}

/** After the focus has moved: at once, and after the animation of a zoom. */
function useInWindow(stage: Stage, path: string | null): void {
  const latest = useRef(stage);
  latest.current = stage;
  useEffect(() => {
    if (path === null) return;
    bringIntoWindow(latest.current);
    const timer = setTimeout(() => bringIntoWindow(latest.current), GLIDED_MS);
    return () => clearTimeout(timer);
  }, [path, stage.look.state.zoom]);
}

/** While `wanted`, renders again when the page is scrolled. */
function useFollowScroll(wanted: boolean): void {
  const [, again] = useState(0);
  useEffect(() => {
    if (!wanted) return;
    const follow = () => again((n) => n + 1);
    addEventListener("scroll", follow, { passive: true });
    return () => removeEventListener("scroll", follow);
  }, [wanted]);
}

/** A point beside the focused box; null if it is not visible. */
function pointBeside({ elements }: Stage, place: Rect | null): Point | null {
  const corner = elements.canvas.current?.getBoundingClientRect();
  if (!corner || !place || place.width <= 0 || place.y < 0 || place.y + place.height > corner.height) return null;
  const x = corner.left + place.x + Math.min(place.width / 2, TIP_INDENT);
  return { x, y: corner.top + place.y + place.height - TIP_ABOVE };
}

/** The box that has a tooltip: the one under the pointer, else the focused one. */
function useTold(stage: Stage, focused: Rect | null, active: boolean): Pointed | null {
  const { pointed, focus } = stage;
  const byFocus = active && focus !== null && pointed === null;
  useFollowScroll(byFocus);
  if (pointed || !focus || !byFocus) return pointed;
  const point = pointBeside(stage, focused);
  return point && { target: focus, point, stays: false };
}

/* --- the view --- */

/** State about a box that survives renumbering (a running program) as long as the box exists. */
function useKept<T extends { target: Target }>(look: Look, parts: Part[]): [T | null, (it: T | null) => void] {
  const [kept, keep] = useState<{ it: T; path: string; parts: Part[] } | null>(null);
  const now = useMemo(() => {
    if (!kept || kept.parts === parts) return kept?.it ?? null;
    const target = find(look, parts, kept.path);
    return spell(look, parts, target) === kept.path ? { ...kept.it, target } : null;
  }, [kept, parts]);
  return [now, (it) => keep(it && { it, path: spell(look, parts, it.target), parts })];
}

interface MenuAt {
  target: Target;
  point: Point;
}

function useStage(look: Look, subject: Subject, parts: Part[]) {
  const elements = useElements();
  const [focusPath, setFocusPath] = useState<string | null>(null);
  const [said, say] = useState("");
  const [menu, setMenu] = useKept<MenuAt>(look, parts);
  const [pointed, point] = useKept<Pointed>(look, parts);
  const focus = useMemo(() => (focusPath === null ? null : find(look, parts, focusPath)), [parts, focusPath]);
  const { graph, focused } = useGraph(elements, focus);
  const stage: Stage = {
    look,
    subject,
    parts,
    elements,
    graph,
    focus,
    pointed,
    point,
    setFocus: (target) => {
      setFocusPath(target && spell(look, parts, target));
      if (!target) return;
      say(announce(subject, parts[target.pane].tree, target.box));
      graph.current?.reveal(target);
    },
    openMenu: (target, at) => {
      point(null);
      setMenu({ target, point: at });
    },
    zoom: (target) => {
      point(null);
      look.set({ zoom: spell(look, parts, target) });
    },
  };
  const closeMenu = useCallback(() => {
    setMenu(null);
    elements.canvas.current?.focus({ preventScroll: true });
  }, []);
  useInWindow(stage, focusPath);
  return { stage, focused, said, say, menu, closeMenu };
}

/** The menu button on the focused box. */
function More({ stage, place }: { stage: Stage; place: Rect | null }) {
  const { focus, parts, look } = stage;
  if (!focus || !place || place.width <= 0 || place.y < 0) return null;
  const name = keyName(look.profile, parts[focus.pane].tree.key[focus.box]);
  const left = `${Math.max(0, place.x + place.width - 28)}px`;
  return (
    <button
      type="button"
      class="flame-more"
      id="flame-more"
      aria-label={`Menu of ${showable(name)}`}
      style={{ left, top: `${place.y + 2}px`, height: `${place.height - 5}px` }}
      onClick={() => menuAtFocus(stage)}
    >
      …
    </button>
  );
}

type StateUpdater = (text: string | ((now: string) => string)) => void;

/** Copies a text and announces it for a moment; if the browser refuses, shows the text for copying by hand. */
function useCopying(say: StateUpdater) {
  const [byHand, setByHand] = useState<string | null>(null);
  const copy = async (text: string) => {
    if (!(await copyText(text))) return setByHand(text);
    say("Copied.");
    setTimeout(() => say((now) => (now === "Copied." ? "" : now)), SAID_MS);
  };
  return { copy, box: byHand === null ? null : <CopyBox text={byHand} close={() => setByHand(null)} /> };
}

interface DrawingProps {
  look: Look;
  subject: Subject;
  parts: Part[];
  /** Set by Drawing: goes to the next or previous match. */
  walk: { current: (by: 1 | -1) => void };
}

/** The texts of the box that has a tooltip; null if none has. */
function useTipFacts({ look, subject, parts }: Stage, told: Pointed | null) {
  const { pane = 0, box = -1 } = told?.target ?? {};
  return useMemo(
    () => {
      if (box < 0) return null;
      const { tree } = parts[pane];
      return { ...factsOf(subject, tree, box, look.totals), line: announce(subject, tree, box) };
    },
    [parts, pane, box, look.totals],
  );
}

interface CanvasProps {
  elements: Elements;
  setActive: (active: boolean) => void;
  handlers: ReturnType<typeof useHandlers>;
}

function Canvas({ elements, setActive, handlers }: CanvasProps) {
  return (
    <div class="flame-scroller" ref={elements.scroller}>
      <canvas
        id="flame"
        ref={elements.canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="flame graph"
        aria-label={LABEL}
        aria-describedby="flame-said"
        onFocus={() => setActive(true)}
        onBlur={() => setActive(false)}
        {...handlers}
      />
      <div ref={elements.spacer} />
    </div>
  );
}

export function Drawing({ look, subject, parts, walk }: DrawingProps) {
  const looks = useLooks();
  const { stage, focused, said, say, menu, closeMenu } = useStage(look, subject, parts);
  const { elements, point } = stage;
  const [active, setActive] = useState(false);
  const told = useTold(stage, focused, active && menu === null);
  const handlers = useHandlers(stage, menu !== null);
  const { copy, box: copyBox } = useCopying(say);
  useShow(stage, looks);
  useTestHook(stage);
  const expect = useEager(stage);
  useKeysAnywhere((event) => {
    expect(event);
    return pressAnywhere(stage, event);
  });
  walk.current = (by) => toMatch(stage, by);
  const facts = useTipFacts(stage, told);
  const actions = (target: Target) =>
    actionsFor(look, subject, parts[target.pane], target, { zoom: stage.zoom, copy: (text) => void copy(text) });
  const { tree, classes } = parts[parts.length - 1];
  return (
    <div class="flame-graph" ref={elements.wrapper} {...describe(stage)}>
      <Canvas elements={elements} setActive={setActive} handlers={handlers} />
      <More stage={stage} place={focused} />
      <p class="flame-line" aria-hidden="true">
        {showable(facts?.line ?? said)}
      </p>
      <p class="hidden" id="flame-said" aria-live="polite">
        {showable(said)}
      </p>
      <Legend
        profile={look.profile}
        tree={tree}
        classes={classes}
        scheme={looks.scheme}
        colouring={look.state.colour}
      />
      {facts && told && (
        <Tip
          facts={facts}
          point={told.point}
          actions={told.stays ? fewActions(actions(told.target), () => stage.openMenu(told.target, told.point)) : []}
          close={() => point(null)}
        />
      )}
      {menu && <Menu title="Actions" point={menu.point} actions={actions(menu.target)} close={closeMenu} />}
      {copyBox}
    </div>
  );
}
