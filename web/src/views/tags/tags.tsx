// SPDX-License-Identifier: MIT
// tags.tsx - what memory was used for: tags as a tree with figures, or as a treemap. A click selects a tag.
//
// The choice between them is part of the selection, as words in state.columns: "treemap", "modules".

import { useCallback, useEffect, useMemo } from "preact/hooks";
import type { Look, ViewProps } from "../../look";
import { boxesOf, modulesOf, type Box } from "../../model/tags/treemap";
import { isPale, moduleClass, slotsOfModules, slotsOfTags } from "../../model/flame/colours";
import {
  formatChange,
  formatChangeEstimate,
  formatEstimate,
  formatExact,
  formatPercent,
  formatValue,
} from "../../model/figures/format";
import { isChange } from "../../model/figures/groups";
import { metricInfo, metricTitle } from "../../model/figures/metric";
import { chosenTag, growTags, ROOT_TAG, scopesApply, tagName, tagPath, type TagTree } from "../../model/tags/tags";
import { Choice } from "../choice";
import { TagGrid } from "./grid";
import { Treemap } from "./treemap";
import "./tags.css";

const BOXES_MOST = 2000;
const BOX_PIXELS = 48; /* smaller boxes are too hard to click */
const BOX_DEPTH = 6;

function limitsFor(pixels: number) {
  return { most: BOXES_MOST, share: BOX_PIXELS / Math.max(pixels, 1), depth: BOX_DEPTH };
}

// --- controls ---

interface SwitchProps {
  title: string;
  chosen: string;
  /** Word, title, and the function that chooses it. */
  options: [string, string, () => void][];
}

function Switch({ title, chosen, options }: SwitchProps) {
  return (
    <div class="segments" role="group" aria-label={title}>
      {options.map(([word, text, choose]) => (
        <button key={word} type="button" id={`tags-${word}`} aria-pressed={word === chosen} onClick={choose}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Names of threads, those with most bytes first. */
function threadNames(look: Look): string[] {
  const bytes = new Map<string, number>();
  for (const thread of look.profile.header.threads)
    bytes.set(thread.name, (bytes.get(thread.name) ?? 0) + thread.bytes);
  return [...bytes].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

function ThreadChoice({ look }: ViewProps) {
  const names = useMemo(() => threadNames(look), [look.profile]);
  if (names.length < 2) return null;
  const { thread } = look.state;
  const options = names.map((name) => ({ value: `=${name}`, title: name === "" ? "?" : name }));
  return (
    <Choice
      id="tags-thread"
      label="Threads"
      value={thread === null ? "" : `=${thread}`}
      options={[{ value: "", title: "all" }, ...options]}
      choose={(value) => look.set({ thread: value === "" ? null : value.slice(1) })}
    />
  );
}

function Crumbs({ look, tag }: { look: Look; tag: number }) {
  if (tag === ROOT_TAG) return null;
  const path = tagPath(look.profile, tag);
  return (
    <nav class="crumbs" aria-label="Tag">
      <button type="button" onClick={() => look.set({ tag: null })}>
        all
      </button>
      {path.map((each) => (
        <span key={each}>
          <span aria-hidden="true">/</span>
          {each === tag ? (
            <strong aria-current="page">{tagName(look.profile, each)}</strong>
          ) : (
            <button type="button" onClick={() => look.set({ tag: each })}>
              {tagName(look.profile, each)}
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}

// --- treemaps ---

function shareText(value: number, whole: number): string {
  return whole > 0 ? `, ${formatPercent(value / whole)}` : "";
}

/** The meaning of the colour, in words. */
function changeWord(value: number): string {
  return value > 0 ? " (grew)" : value < 0 ? " (shrank)" : "";
}

function shortFigure(look: Look, value: number): string {
  const { unit } = metricInfo(look.state.metric);
  return isChange(look.dataset, look.state.metric) ? formatChange(unit, value) : formatValue(unit, value);
}

function titleOf(look: Look): string {
  return metricTitle(look.profile.header, look.state.metric, look.dataset.kind === "interval");
}

function TagMap({ look, tree }: { look: Look; tree: TagTree }) {
  const { profile } = look;
  const { key, unit } = metricInfo(look.state.metric);
  const change = isChange(look.dataset, look.state.metric);
  const tagOf = (box: Box) => tree.tag[box.item];
  const boxes = useCallback((pixels: number) => boxesOf(tree, limitsFor(pixels)), [tree]);
  const name = (box: Box) => {
    if (box.kind === "more") return `${formatExact(box.more)} more`;
    if (box.kind === "own") return tagOf(box) === ROOT_TAG ? tagName(profile, ROOT_TAG) : "(itself)";
    return tagName(profile, tagOf(box));
  };
  const pathOf = (box: Box) => tagPath(profile, tagOf(box)).map((tag) => tagName(profile, tag)).join("/");
  const slots = useMemo(() => slotsOfTags(profile), [profile]);
  const slotOf = (box: Box) => slots.get(profile.header.tags[tagOf(box)]?.path ?? "") ?? null;
  const said = useMemo(() => new Map<Box, string>(), [tree]);
  const describe = (box: Box) => {
    let text = said.get(box);
    if (text === undefined) said.set(box, (text = inWords(box)));
    return text;
  };
  const inWords = (box: Box) => {
    const path = pathOf(box);
    const what = box.kind === "item" ? path : [path, name(box)].filter(Boolean).join(" ");
    const known = box.kind === "own" ? tree.estimateSelf : tree.estimateTotal;
    const estimate = box.kind === "more" ? null : known(box.item);
    const print = change ? formatChangeEstimate : formatEstimate;
    const figure = estimate ? print(unit, estimate[key]) : shortFigure(look, box.value);
    return `${what}: ${figure}${change ? changeWord(box.value) : shareText(box.value, tree.total[0])}`;
  };
  return (
    <Treemap
      title={`${titleOf(look)}, by tag`}
      boxes={boxes}
      name={name}
      figure={(box) => shortFigure(look, box.value)}
      describe={describe}
      colour={(box) => ({ slot: slotOf(box), pale: false })}
      signed={change}
      pick={(box) => (box.kind !== "more" && box.item > 0 ? () => look.set({ tag: tagOf(box) }) : undefined)}
      isPicked={() => false}
    />
  );
}

function ModuleMap({ look }: ViewProps) {
  const { profile, dataset, values } = look;
  const tree = useMemo(() => modulesOf(dataset, values), [dataset, values]);
  const change = isChange(look.dataset, look.state.metric);
  const whole = useMemo(() => tree.self.reduce((sum, value) => sum + value, 0), [tree]);
  const boxes = useCallback((pixels: number) => boxesOf(tree, limitsFor(pixels)), [tree]);
  const moduleOf = (box: Box) => (tree.module[box.item] < 0 ? "" : moduleClass(profile, tree.module[box.item]));
  const name = (box: Box) => {
    if (box.kind === "more") return `${formatExact(box.more)} more`;
    const index = tree.function[box.item];
    return index < 0 ? moduleOf(box) : profile.functionName(index);
  };
  const isFunction = (box: Box) => box.kind === "item" && tree.function[box.item] >= 0;
  const describe = (box: Box) => {
    const module = name(box) === moduleOf(box) ? "" : ` in ${moduleOf(box)}`;
    const behind = change ? changeWord(box.value) : shareText(box.value, whole);
    return `${name(box)}${module}: ${shortFigure(look, box.value)}${behind}`;
  };
  const keyOf = (box: Box) => (isFunction(box) ? profile.functionKey(tree.function[box.item]) : "");
  return (
    <Treemap
      title={`${titleOf(look)}, by module and function`}
      boxes={boxes}
      name={name}
      figure={(box) => shortFigure(look, box.value)}
      describe={describe}
      colour={(box) => ({
        slot: slotsOfModules(profile).get(moduleOf(box)) ?? null,
        pale: isPale(profile, tree.function[box.item]),
      })}
      signed={change}
      pick={(box) => {
        if (!isFunction(box)) return undefined;
        return () => look.set({ picked: keyOf(box) === look.state.picked ? "" : keyOf(box) });
      }}
      isPicked={(box) => look.state.picked !== "" && keyOf(box) === look.state.picked}
    />
  );
}

// --- without tags ---

const EXAMPLE = `#include <plimsoll.h>

plimsoll_push("load");
load();
plimsoll_pop();`;

function NoTags() {
  return (
    <div class="no-tags">
      <p>
        This program used no tags. A stack says where memory is allocated; a <em>tag</em> says what it is for. The
        program enters a tag and leaves it. Memory that any function or library allocates in between is charged to the
        tag until it is freed.
      </p>
      <pre>{EXAMPLE}</pre>
      <p class="dim">
        The program need not be linked with anything for this: see <code>plimsoll help tags</code>. Without tags, this
        tab shows which modules and functions allocated.
      </p>
    </div>
  );
}

// --- the tab ---

function Exactness({ look, tree }: { look: Look; tree: TagTree }) {
  if (!tree.exact || look.profile.header.sampling.exact) return null;
  return <p class="dim">Calls, bytes and how often a tag was entered are exact; figures with ± are estimated.</p>;
}

/** The last choice while the page is open: a change of tabs removes it from the selection. */
let lastWay = "";

function useLastWay({ state, set }: Look): (columns: string) => void {
  useEffect(() => {
    if (state.columns === "" && lastWay !== "") set({ columns: lastWay });
  }, []);
  return (columns) => set({ columns: (lastWay = columns) });
}

function TaggedView({ look }: ViewProps) {
  const { profile, state, dataset, values, included } = look;
  const choose = useLastWay(look);
  const words = state.columns.split(",");
  const map = words.includes("treemap");
  const modules = map && words.includes("modules");
  const tag = chosenTag(profile, state.tag);
  const scopes = scopesApply(dataset, state);
  const tree = useMemo(
    () => growTags(dataset, values, included, { tag, thread: state.thread, metric: state.metric, scopes }),
    [dataset, values, included, tag, state.thread, state.metric, scopes],
  );
  return (
    <>
      <div class="tools">
        <Switch
          title="Tags as"
          chosen={map ? "treemap" : "tree"}
          options={[
            ["tree", "Tree", () => choose("")],
            ["treemap", "Treemap", () => choose("treemap")],
          ]}
        />
        {map && (
          <Switch
            title="Treemap of"
            chosen={modules ? "modules" : "tags"}
            options={[
              ["tags", "Tags", () => choose("treemap")],
              ["modules", "Modules", () => choose("treemap,modules")],
            ]}
          />
        )}
        <ThreadChoice look={look} />
      </div>
      <Crumbs look={look} tag={tag} />
      {!map && <TagGrid look={look} tree={tree} />}
      {map && !modules && <TagMap look={look} tree={tree} />}
      {modules && <ModuleMap look={look} />}
      {!modules && <Exactness look={look} tree={tree} />}
    </>
  );
}

export function Tags({ look }: ViewProps) {
  if (look.profile.header.tags.length > 1) return <TaggedView look={look} />;
  return (
    <>
      <NoTags />
      <ModuleMap look={look} />
    </>
  );
}
