// SPDX-License-Identifier: MIT
// scene.ts - computes from the selection what the flame graph draws: trees, colours, matches, zoom.

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Look } from "../../look";
import { classesOf, css, findNoise, makePainter, SCHEMES, type Classes, type Scheme } from "../../model/flame/colours";
import { figureIn } from "../../model/flame/box_texts";
import {
  findMatches,
  findPath,
  followPath,
  keyMatcher,
  searchExpression,
  writePath,
  type Matches,
} from "../../model/flame/find";
import { keyName, makeSandwich, makeTree, type Subject, type Tree } from "../../model/flame/tree";
import { isDark, THEME_EVENT } from "../../theme";
import type { Pane, Target } from "./layout";
import type { Ink } from "./paint";
import type { Direction } from "./tools";

/** A tree, its direction, and the prefix of paths to its boxes. */
export interface Part {
  tree: Tree;
  up: boolean;
  prefix: string;
  /** The innermost frame of a stack is the last box of its path. */
  innermostLast: boolean;
  classes: Classes;
  matches: Matches | null;
  zoom: number;
}

const CALLERS = "callers.";
const CALLEES = "callees.";

type Grown = Pick<Part, "tree" | "up" | "prefix" | "innermostLast">;

export function useSubject(look: Look): Subject {
  const { dataset, included, values } = look;
  const { metric } = look.state;
  return useMemo(() => ({ dataset, included, values, metric }), [dataset, included, values, metric]);
}

/** One tree, or two: callers above, callees below. */
function useTrees(look: Look, subject: Subject, direction: Direction): Grown[] {
  const { by, inverted, frames, sandwich } = look.state;
  const trees = useMemo<Grown[]>(() => {
    if (sandwich === "")
      return [{ tree: makeTree(subject, { by, inverted, frames }), up: false, prefix: "", innermostLast: !inverted }];
    const index = look.profile.functionOfKey(sandwich);
    const both = makeSandwich(subject, index ?? -2, frames);
    return [
      { tree: both.callers, up: true, prefix: CALLERS, innermostLast: false },
      { tree: both.callees, up: false, prefix: CALLEES, innermostLast: true },
    ];
  }, [subject, by, inverted, frames, sandwich]);
  return useMemo(
    () => (trees.length === 1 ? [{ ...trees[0], up: direction === "flame" }] : trees),
    [trees, direction],
  );
}

/** Applies the zoom, and opens the boxes that are visible with it. */
function useOpened({ profile, state }: Look, grown: Grown[]): (Grown & Pick<Part, "zoom">)[] {
  return useMemo(
    () =>
      grown.map((part) => {
        const zoomed = state.zoom.startsWith(part.prefix);
        const { tree, box } = followPath(profile, part.tree, zoomed ? state.zoom.slice(part.prefix.length) : "");
        return { ...part, tree, zoom: box };
      }),
    [grown, state.zoom],
  );
}

export function useParts(look: Look, subject: Subject, direction: Direction): Part[] {
  const { profile, state } = look;
  const grown = useOpened(look, useTrees(look, subject, direction));
  const trees = [grown[0].tree, grown[grown.length - 1].tree];
  const matcher = useMemo(() => {
    const expression = searchExpression(state.search);
    return expression && keyMatcher(profile, expression);
  }, [profile, state.search]);
  const classes = useMemo(
    () => grown.map(({ tree }) => classesOf(profile, tree, state.colour, subject)),
    [...trees, state.colour],
  );
  const matches = useMemo(
    () => grown.map(({ tree }) => (matcher ? findMatches(tree, matcher) : null)),
    [...trees, matcher],
  );
  return useMemo(
    () => grown.map((part, i) => ({ ...part, classes: classes[i], matches: matches[i] })),
    [grown, classes, matches],
  );
}

/** The path of `target` for links; "" for the root. */
export function spell(look: Look, parts: Part[], { pane, box }: Target): string {
  const part = parts[pane];
  return part && box > 0 ? part.prefix + writePath(look.profile, part.tree, box) : "";
}

/** The box of a path, or the last one of it that exists. */
export function find(look: Look, parts: Part[], path: string): Target {
  const pane = Math.max(0, parts.findIndex((part) => path.startsWith(part.prefix) && part.prefix !== ""));
  return { pane, box: findPath(look.profile, parts[pane].tree, path.slice(parts[pane].prefix.length)) };
}

export interface Looks {
  scheme: Scheme;
  ink: Ink;
}

function readLooks(): Looks {
  const scheme = SCHEMES[isDark() ? "dark" : "light"];
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  return {
    scheme,
    ink: {
      text: css(scheme.text),
      dimText: css(scheme.dimText),
      dimFill: css(scheme.dimFill),
      back: token("--raised"),
      accent: token("--accent"),
      mark: token("--mark"),
    },
  };
}

/** Colours of the theme, read again when it changes. */
export function useLooks(): Looks {
  const [looks, setLooks] = useState(readLooks);
  useEffect(() => {
    const read = () => setLooks(readLooks());
    read();
    addEventListener(THEME_EVENT, read);
    return () => removeEventListener(THEME_EVENT, read);
  }, []);
  return looks;
}

export function usePanes(look: Look, parts: Part[], { scheme }: Looks): Pane[] {
  const { profile, state } = look;
  const picked = state.picked === "" ? -1 : (profile.functionOfKey(state.picked) ?? -1);
  return useMemo(
    () =>
      parts.map(({ tree, up, zoom, matches, classes }) => ({
        tree,
        up,
        zoom,
        fill: makePainter(profile, tree, classes, scheme, findNoise(look.dataset, state.metric, tree)),
        name: (box) => keyName(profile, tree.key[box]),
        figure: (box) => figureIn(tree, box, state.metric),
        found: matches?.found ?? null,
        picked,
        framed: parts.length > 1,
      })),
    [parts, scheme, picked, state.metric],
  );
}
