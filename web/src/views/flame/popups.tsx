// SPDX-License-Identifier: MIT
// popups.tsx - what opens at a box of the flame graph: the tooltip with its facts, and the menu with its actions; also
// copying, which the browser may refuse.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Look } from "../../look";
import { stackText, type Facts } from "../../model/flame/box_texts";
import { keyName, readKey, type Subject } from "../../model/flame/tree";
import { Box } from "../dialogs";
import type { Target } from "./layout";
import type { Part } from "./scene";
import { showable } from "./text";

export interface Action {
  id: string;
  title: string;
  act: () => void;
}

export interface Point {
  x: number;
  y: number;
}

const EDGE = 8;

/** Places an element beside a point of the window so that all of it is visible. */
export function useWithinWindow(point: Point, beside: number) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const it = element.current;
    if (!it) return;
    const { width, height } = it.getBoundingClientRect();
    const right = document.documentElement.clientWidth - EDGE;
    const bottom = window.innerHeight - EDGE;
    const left = point.x + beside + width <= right ? point.x + beside : point.x - beside - width;
    const top = point.y + beside + height <= bottom ? point.y + beside : point.y - beside - height;
    it.style.left = `${Math.max(EDGE, Math.min(left, right - width))}px`;
    it.style.top = `${Math.max(EDGE, Math.min(top, bottom - height))}px`;
  });
  return element;
}

interface MenuProps {
  title: string;
  point: Point;
  actions: Action[];
  close: () => void;
}

export function Menu({ title, point, actions, close }: MenuProps) {
  const element = useWithinWindow(point, 2);
  const items = () => [...(element.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
  useLayoutEffect(() => items()[0]?.focus({ preventScroll: true }), [title]); /* the next key is for the menu */
  useEffect(() => {
    const away = (event: Event) => {
      if (!(event.target instanceof Node && element.current?.contains(event.target))) close();
    };
    addEventListener("pointerdown", away, true);
    addEventListener("resize", close);
    return () => {
      removeEventListener("pointerdown", away, true);
      removeEventListener("resize", close);
    };
  }, [close]);
  const press = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const last = all.length - 1;
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at + last, Home: 0, End: last };
    const to = moves[event.key];
    if (to !== undefined) all[to % all.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={element} class="flame-menu" role="menu" aria-label={title} onKeyDown={press}>
      {actions.map(({ id, title: text, act }) => (
        <button
          key={id}
          id={`flame-menu-${id}`}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            close();
            act();
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** False if the browser refuses: for pages from disk, or because the user denied it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Shows a text for copying by hand. */
export function CopyBox({ text, close }: { text: string; close: () => void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.select(), []);
  return (
    <Box title="Copy" close={close}>
      <p>The browser refuses access to the clipboard. Copy this by hand:</p>
      <textarea ref={area} class="flame-copy" readOnly rows={12} aria-label="Text to copy" value={text} />
    </Box>
  );
}

/** Actions that the graph itself performs. */
export interface Deeds {
  zoom: (target: Target) => void;
  copy: (text: string) => void;
}

const withKey = (keys: string[], key: string) => (keys.includes(key) ? keys : [...keys, key]);

function functionActions(look: Look, key: string): Action[] {
  const { state, set } = look;
  const { focus, hide } = state;
  const picked = state.picked === key;
  return [
    { id: "sandwich", title: "Callers and callees", act: () => set({ sandwich: key, zoom: "" }) },
    { id: "focus", title: "Focus: only stacks through this", act: () => set({ focus: withKey(focus, key), zoom: "" }) },
    { id: "hide", title: "Hide: no stacks through this", act: () => set({ hide: withKey(hide, key), zoom: "" }) },
    {
      id: "pick",
      title: picked ? "Remove the mark" : "Mark in every view",
      act: () => set({ picked: picked ? "" : key }),
    },
  ];
}

export function actionsFor(look: Look, subject: Subject, part: Part, target: Target, deeds: Deeds): Action[] {
  const { profile } = look;
  const { tree, innermostLast } = part;
  const what = readKey(profile, tree.key[target.box]);
  const title = target.box === 0 ? "Zoom out" : "Zoom";
  const zoom: Action = { id: "zoom", title, act: () => deeds.zoom(target) };
  if (what.kind !== "function") {
    const name = keyName(profile, tree.key[target.box]);
    return [zoom, { id: "copy-name", title: "Copy name", act: () => deeds.copy(name) }];
  }
  const name = profile.text(profile.functions.full[what.index]) || profile.functionName(what.index);
  const stack = () => stackText(subject, tree, target.box, innermostLast);
  return [
    zoom,
    ...functionActions(look, profile.functionKey(what.index)),
    { id: "copy-stack", title: "Copy stack", act: () => deeds.copy(stack()) },
    { id: "copy-name", title: "Copy name", act: () => deeds.copy(name) },
  ];
}

/** The most useful actions for a touch screen; a button opens the whole menu. */
export function fewActions(actions: Action[], more: () => void): Action[] {
  const few = actions.filter(({ id }) => id === "zoom" || id === "sandwich");
  return [...few, { id: "more", title: "More…", act: more }];
}

const LONGEST_NAME = 600;

function cut(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

interface TipProps {
  facts: Facts;
  point: Point;
  actions: Action[];
  close: () => void;
}

/** With actions (after a tap), it stays and has buttons. Without, it follows the pointer and ignores clicks. */
export function Tip({ facts, point, actions, close }: TipProps) {
  const element = useWithinWindow(point, 14);
  const stays = actions.length > 0;
  return (
    <div
      ref={element}
      id="flame-tip"
      class={stays ? "flame-tip flame-tip-stays" : "flame-tip"}
      role={stays ? "dialog" : "tooltip"}
      aria-label={stays ? "About this box" : undefined}
    >
      <p class="flame-tip-name">{showable(cut(facts.name))}</p>
      {facts.where && <p class="dim flame-tip-where">{showable(cut(facts.where))}</p>}
      <dl>
        {facts.facts.map(({ label, text }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{showable(cut(text))}</dd>
          </div>
        ))}
      </dl>
      {facts.note && <p class="dim">{facts.note}</p>}
      {stays && (
        <div class="flame-tip-actions">
          {actions.map(({ id, title, act }) => (
            <button key={id} id={`flame-tip-${id}`} type="button" onClick={act}>
              {title}
            </button>
          ))}
          <button type="button" class="icon" aria-label="Close" onClick={close}>
            <span aria-hidden="true">×</span>
          </button>
        </div>
      )}
    </div>
  );
}
