// SPDX-License-Identifier: MIT
// flame_actions.ts - what can be done with a box of the flame graph, as a list for its menu.

import type { Look } from "../look";
import { stackText } from "../model/flame_facts";
import { keyName, readKey, type Subject } from "../model/tree";
import type { Target } from "./flame_layout";
import type { Action } from "./flame_menu";
import type { Part } from "./flame_scene";

/** What only the graph itself can do. */
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
      title: picked ? "Take the mark away" : "Mark here and in the tables",
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

/** What a finger wants most; the rest is behind one more button. */
export function fewActions(actions: Action[], more: () => void): Action[] {
  const few = actions.filter(({ id }) => id === "zoom" || id === "sandwich");
  return [...few, { id: "more", title: "More…", act: more }];
}
