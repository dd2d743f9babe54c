// SPDX-License-Identifier: MIT
// grid.tsx - the tag tree as a treegrid: a line for each visible tag, with its figures. Arrow keys move, fold and
// unfold; Enter selects a tag.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Estimates } from "../../data/header";
import type { Look } from "../../look";
import { formatExact, formatPercent } from "../../model/figures/format";
import { isChange } from "../../model/figures/groups";
import { metricInfo, metricTitle, type Metric } from "../../model/figures/metric";
import { hotRows, ROOT_TAG, tagName, type TagTree } from "../../model/tags/tags";
import { BesideBar, Figure } from "../tables/cells";

const CHILDREN = 100; /* of a tag, shown at first */
const UNFOLDED = 40; /* up to this number of tags, all are unfolded */
const INDENTS = 12; /* deeper tags are not indented further */

/** "own" is what is allocated outside of all tags; "more" stands for children that are not shown. */
interface Line {
  kind: "tag" | "own" | "more";
  row: number;
  depth: number;
  /** How many lines are not shown. */
  more: number;
}

interface Folding {
  isOpen: (row: number) => boolean;
  limit: (row: number) => number;
}

function keyOf(line: Line, tree: TagTree): string {
  return `${line.kind}${tree.tag[line.row]}`;
}

function isTag(line: Line, row: number): boolean {
  return line.kind === "tag" && line.row === row;
}

/** Whether anything was allocated outside of all tags, even if it has been freed. */
function hasOwn(tree: TagTree): boolean {
  return tree.self[0] !== 0 || tree.estimateSelf(0).alloc_objects.value !== 0;
}

function hasOwnLine(tree: TagTree): boolean {
  return tree.tag[0] === ROOT_TAG && tree.count > 1 && hasOwn(tree);
}

/** The lines in order. Children are sorted by weight, so those beyond the limit are the lightest. */
function layOut(tree: TagTree, { isOpen, limit }: Folding): Line[] {
  const lines: Line[] = [];
  const shown = new Map<number, number>();
  let own = hasOwnLine(tree) && isOpen(0);
  const addOwn = () => {
    lines.push({ kind: "own", row: 0, depth: 1, more: 0 });
    own = false;
  };
  for (let row = 0; row < tree.count; ) {
    const parent = tree.parent[row];
    const before = shown.get(parent) ?? 0;
    const depth = tree.depth[row];
    if (own && depth === 1 && Math.abs(tree.total[row]) < Math.abs(tree.self[0])) addOwn();
    if (row > 0 && before >= limit(parent)) {
      const end = parent + tree.below[parent] + 1;
      lines.push({ kind: "more", row: parent, depth, more: end - row });
      row = end;
      continue;
    }
    lines.push({ kind: "tag", row, depth, more: 0 });
    if (row > 0) shown.set(parent, before + 1);
    row += isOpen(row) ? 1 : tree.below[row] + 1;
  }
  if (own) addOwn();
  return lines;
}

/** Unfolds the top and the hot path, or all tags if there are few; what the user folds or unfolds takes precedence. */
function useFolding(tree: TagTree) {
  const [touched, setTouched] = useState<ReadonlyMap<number, boolean>>(new Map());
  const [limits, setLimits] = useState<ReadonlyMap<number, number>>(new Map());
  const hot = useMemo(() => new Set(hotRows(tree)), [tree]);
  const isOpen = (row: number) => {
    const byHand = touched.get(tree.tag[row]);
    return tree.below[row] > 0 && (byHand ?? (row === 0 || hot.has(row) || tree.count <= UNFOLDED));
  };
  const limit = (row: number) => limits.get(tree.tag[row]) ?? CHILDREN;
  return {
    isOpen,
    limit,
    hot,
    set: (row: number, open: boolean) => setTouched(new Map(touched).set(tree.tag[row], open)),
    showMore: (row: number) => setLimits(new Map(limits).set(tree.tag[row], 10 * limit(row))),
  };
}

type Fold = ReturnType<typeof useFolding>;

// --- cells ---

const OTHERS: readonly Metric[] = ["calls", "allocated", "live", "peak"];

function otherMetrics(look: Look): Metric[] {
  const interval = look.dataset.kind === "interval";
  return OTHERS.filter((metric) => metric !== look.state.metric && !(interval && metricInfo(metric).onlyWhole));
}

function titleOf(look: Look, metric: Metric): string {
  return metricTitle(look.profile.header, metric, look.dataset.kind === "interval");
}

/** The titles of columns. */
function titlesOf(look: Look, tree: TagTree): string[] {
  const { metric } = look.state;
  const titles = ["Tag", titleOf(look, metric)];
  if (!isChange(look.dataset, metric)) titles.push("Share");
  titles.push("Self", ...otherMetrics(look).map((other) => titleOf(look, other)));
  if (tree.exact) titles.push("Entered");
  return titles;
}

interface LineProps {
  look: Look;
  tree: TagTree;
  fold: Fold;
  line: Line;
  whole: number;
  current: boolean;
  focus: () => void;
}

function Name({ look, tree, fold, line }: LineProps) {
  const { row, kind } = line;
  const open = fold.isOpen(row);
  const indent = { paddingLeft: `${Math.min(line.depth, INDENTS) * 16}px` };
  if (kind === "more")
    return (
      <span class="tag-name" style={indent}>
        <i class="fold" />
        <button type="button" class="plain" tabIndex={-1} onClick={() => fold.showMore(row)}>
          {formatExact(line.more)} more…
        </button>
      </span>
    );
  const tag = tree.tag[row];
  const top = row === 0 && kind === "tag";
  const name = top && tag === ROOT_TAG ? "all" : tagName(look.profile, tag);
  const folds = kind === "tag" && tree.below[row] > 0;
  return (
    <span class="tag-name" style={indent}>
      {folds ? (
        <button
          type="button"
          class="fold"
          tabIndex={-1}
          aria-expanded={open}
          aria-label={open ? `Fold ${name}` : `Unfold ${name}`}
          onClick={() => fold.set(row, !open)}
        >
          <span aria-hidden="true">{open ? "▾" : "▸"}</span>
        </button>
      ) : (
        <i class="fold" />
      )}
      {kind === "own" || top ? (
        <span class={kind === "own" ? "dim" : "top"}>{name}</span>
      ) : (
        <button type="button" class="plain" tabIndex={-1} title="Select this tag" onClick={() => look.set({ tag })}>
          {name}
        </button>
      )}
      {kind === "tag" && fold.hot.has(row) && (
        <span class="hot" title="at least half of its parent">
          ◀<span class="hidden"> at least half of its parent</span>
        </span>
      )}
    </span>
  );
}

function Cells({ look, tree, line, whole }: LineProps) {
  const { metric } = look.state;
  const { key, unit } = metricInfo(metric);
  const change = isChange(look.dataset, metric);
  const own = line.kind === "own";
  const self: Estimates = tree.estimateSelf(line.row);
  const total: Estimates = own ? self : tree.estimateTotal(line.row);
  const top = line.row === 0 && !own && tree.tag[0] === ROOT_TAG && tree.count > 1;
  const entered = tree.entered[line.row];
  return (
    <>
      <td data-total={total[key].value}>
        <BesideBar value={total[key].value} whole={whole} change={change}>
          <Figure unit={unit} estimate={total[key]} change={change} />
        </BesideBar>
      </td>
      {!change && <td>{formatPercent(whole > 0 ? total[key].value / whole : 0)}</td>}
      <td data-self={self[key].value}>{top ? "" : <Figure unit={unit} estimate={self[key]} change={change} />}</td>
      {otherMetrics(look).map((other) => {
        const info = metricInfo(other);
        return (
          <td key={other} data-metric={other}>
            <Figure unit={info.unit} estimate={total[info.key]} change={isChange(look.dataset, other)} />
          </td>
        );
      })}
      {tree.exact && <td data-entered>{own || !(entered > 0) ? "" : formatExact(entered)}</td>}
    </>
  );
}

function GridLine(props: LineProps) {
  const { tree, fold, line, look, current, focus } = props;
  const folds = line.kind === "tag" && tree.below[line.row] > 0;
  const columns = titlesOf(look, tree).length;
  return (
    <tr
      role="row"
      tabIndex={current ? 0 : -1}
      data-key={keyOf(line, tree)}
      data-tag={line.kind === "tag" ? tree.tag[line.row] : undefined}
      aria-level={line.depth + 1}
      {...(folds ? { "aria-expanded": fold.isOpen(line.row) } : {})}
      onFocus={focus}
    >
      <th scope="row" role="rowheader" {...(line.kind === "more" ? { colSpan: columns } : {})}>
        <Name {...props} />
      </th>
      {line.kind !== "more" && <Cells {...props} />}
    </tr>
  );
}

// --- the grid ---

function Head({ look, tree }: { look: Look; tree: TagTree }) {
  return (
    <thead>
      <tr role="row">
        {titlesOf(look, tree).map((title) => (
          <th key={title} scope="col" role="columnheader">
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** Handles keys: moves to another line, folds or unfolds this one, or selects its tag. */
function useWalk(look: Look, tree: TagTree, fold: Fold, lines: Line[], at: number, go: (index: number) => void) {
  const sideways = (open: boolean) => {
    const line = lines[at];
    if (line.kind !== "tag") return;
    const folds = tree.below[line.row] > 0;
    if (folds && fold.isOpen(line.row) !== open) fold.set(line.row, open);
    else if (open && folds) go(at + 1);
    else if (!open && line.row > 0) go(lines.findIndex((each) => isTag(each, tree.parent[line.row])));
  };
  const enter = () => {
    const line = lines[at];
    if (line.kind === "more") fold.showMore(line.row);
    else if (line.kind === "tag" && line.row > 0) look.set({ tag: tree.tag[line.row] });
  };
  const acts: Record<string, () => void> = {
    ArrowDown: () => go(Math.min(at + 1, lines.length - 1)),
    ArrowUp: () => go(Math.max(at - 1, 0)),
    Home: () => go(0),
    End: () => go(lines.length - 1),
    ArrowRight: () => sideways(true),
    ArrowLeft: () => sideways(false),
    Enter: enter,
  };
  return (event: KeyboardEvent) => {
    const act = acts[event.key];
    const inside = (event.target as HTMLElement).tagName === "BUTTON" && event.key === "Enter";
    if (!act || inside) return;
    act();
    event.preventDefault();
  };
}

export function TagGrid({ look, tree }: { look: Look; tree: TagTree }) {
  const fold = useFolding(tree);
  const lines = layOut(tree, fold);
  const [cursor, setCursor] = useState("");
  const body = useRef<HTMLTableSectionElement>(null);
  const wanted = useRef(false);
  const at = Math.max(0, lines.findIndex((line) => keyOf(line, tree) === cursor));
  const go = (index: number) => {
    wanted.current = true;
    setCursor(keyOf(lines[index], tree));
  };
  useEffect(() => {
    if (wanted.current) (body.current?.children[at] as HTMLElement | undefined)?.focus();
    wanted.current = false;
  });
  const walk = useWalk(look, tree, fold, lines, at, go);
  const change = isChange(look.dataset, look.state.metric);
  const largest = () => lines.reduce((most, line) => Math.max(most, Math.abs(tree.total[line.row])), 0);
  const whole = change ? largest() : tree.total[0];
  return (
    <div class="tag-scroll">
      <table
        id="tag-tree"
        role="treegrid"
        aria-label={`${titleOf(look, look.state.metric)}, by tag`}
        data-rows={tree.count}
        data-total={tree.total[0]}
        onKeyDown={walk}
      >
        <Head look={look} tree={tree} />
        <tbody ref={body}>
          {lines.map((line, index) => (
            <GridLine
              key={keyOf(line, tree)}
              look={look}
              tree={tree}
              fold={fold}
              line={line}
              whole={whole}
              current={index === at}
              focus={() => setCursor(keyOf(line, tree))}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}
