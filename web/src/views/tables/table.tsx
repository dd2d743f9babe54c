// SPDX-License-Identifier: MIT
// table.tsx - the table of several views. It may have 100,000 rows, of which only the visible ones are in the document.
//
// Rows are numbers, and a view defines the columns. Order, filter and chosen columns are part of the selection, so that
// a link restores them. The cursor and the unfolded row are remembered by a key, so that they stay while the figures of
// a running program change.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Look } from "../../look";
import { searchExpression } from "../../model/flame/find";
import { formatExact, plural } from "../../model/figures/format";
import { nextSort, orderRows, parseFilter, parseSort, plainCell, writeSort } from "../../model/tables/sorting";
import type { Lazy } from "./lazy";
import { ColumnChoice, CopyButton, FilterBox } from "./tools";
import "./table.css";

export interface Column {
  id: string;
  title: string;
  help?: string;
  /** In pixels; the first column takes the rest of the width. */
  width: number;
  numeric: boolean;
  /** Shown unless other columns are chosen. */
  usual: boolean;
  /** Sort keys by row; called when the table is sorted by this column. */
  keys: () => ArrayLike<number>;
  cell: (row: number) => ComponentChildren;
  /** For the clipboard; numbers have all their digits. */
  plain: (row: number) => string | number;
  /** The length of the bar, from 0 to 1; hatched if `unsure`: the true value may be zero. */
  bar?: (row: number) => number;
  unsure?: (row: number) => boolean;
  /** Columns whose contents its cells show as well: they are copied with it. */
  beside?: Column[];
}

export interface TableProps {
  look: Look;
  id: string;
  label: string;
  /** A new object if the rows change. */
  rows: object;
  count: number;
  columns: Column[];
  /** How many lines a row has. */
  lines: 1 | 2;
  /** In the form of state.sort. */
  usualSort: string;
  /** Whether a row passes a filter. */
  matches: (test: (text: string) => boolean) => (row: number) => boolean;
  /** A key that is the same in every reading of the profile. */
  rowKey: (row: number) => string;
  /** The index of its function, which is highlighted in every view when the row is picked. */
  functionOf: (row: number) => number;
  /** What is unfolded below a row. */
  detail?: (row: number) => ComponentChildren;
  /** Slow computations that cells use. */
  lazy?: Lazy<unknown>[];
  /** Shown beside the filter. */
  tools?: ComponentChildren;
  /** Shown if there are no rows. */
  empty: string;
}

const ROW_HEIGHTS = { 1: 28, 2: 40 }; /* as in table.css */
const HEAD_HEIGHT = 32;
const NAME_LEAST = 260; /* as in table.css */
const NAME_SHARE = 0.3; /* of the width: names identify rows */
const PHONE_WIDTH = 560;
const AROUND = 8; /* rows beyond the visible ones */
const NOWHERE = -1;

/* --- columns, and the order of rows --- */

/** As many of the default columns as fit; on a phone, where hardly any fit, all of them. */
function usualColumns(columns: Column[], width: number): Column[] {
  const usual = columns.filter((column, i) => i === 0 || column.usual);
  if (width < PHONE_WIDTH) return usual;
  let room = width - Math.max(NAME_LEAST, NAME_SHARE * width);
  return usual.filter((column, i) => i === 0 || (room -= column.width) >= 0 || i === 1);
}

function chosenColumns(columns: Column[], usual: Column[], chosen: string): Column[] {
  const ids = chosen.split(",");
  const wanted = columns.filter((column, i) => i === 0 || ids.includes(column.id));
  return chosen === "" || wanted.length < 2 ? usual : wanted;
}

function useOrder(props: TableProps): { order: Uint32Array; sort: string; invalid: boolean } {
  const { look, columns, rows, count } = props;
  const known = columns.some((column) => column.id === parseSort(look.state.sort).column);
  const sort = known ? look.state.sort : props.usualSort;
  const filter = useMemo(() => parseFilter(look.state.filter), [look.state.filter]);
  const order = useMemo(() => {
    const by = parseSort(sort);
    const keys = columns.find((column) => column.id === by.column)?.keys() ?? new Float64Array(count);
    return orderRows(count, keys, by.descending, filter.test && props.matches(filter.test));
  }, [rows, columns, sort, filter]);
  return { order, sort, invalid: filter.invalid };
}

/** Remembers a row by its key, and finds it again when rows change. */
function useRemembered(props: TableProps): [number, (row: number) => void] {
  const [at, setAt] = useState<{ row: number; key: string; rows: object } | null>(null);
  const now = useMemo(() => {
    if (!at) return NOWHERE;
    if (at.rows === props.rows || (at.row < props.count && props.rowKey(at.row) === at.key)) return at.row;
    for (let row = 0; row < props.count; row++) if (props.rowKey(row) === at.key) return row;
    return NOWHERE;
  }, [at, props.rows]);
  return [now, (row) => setAt(row === NOWHERE ? null : { row, key: props.rowKey(row), rows: props.rows })];
}

/* --- the visible part --- */

interface Sight {
  top: number;
  height: number;
  width: number;
  /** There are more columns to the right. */
  more: boolean;
}

function readSight({ scrollTop, scrollLeft, scrollWidth, clientHeight, clientWidth }: HTMLElement): Sight {
  const more = scrollLeft + clientWidth + 1 < scrollWidth;
  return { top: scrollTop, height: clientHeight, width: clientWidth, more };
}

function useSight(scroller: { current: HTMLDivElement | null }): Sight {
  const [sight, setSight] = useState<Sight>({ top: 0, height: 600, width: 0, more: false });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => setSight(readSight(element));
    const observer = new ResizeObserver(look);
    observer.observe(element);
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  return sight;
}

/** All rows have the same height; below the row at `open`, details take `extra` pixels. */
interface Layout {
  height: number;
  open: number;
  extra: number;
}

function topOf(layout: Layout, position: number): number {
  return position * layout.height + (layout.open !== NOWHERE && position > layout.open ? layout.extra : 0);
}

function positionAt({ height, open, extra }: Layout, y: number): number {
  if (open === NOWHERE || y < (open + 1) * height) return Math.floor(y / height);
  return Math.max(open, Math.floor((y - extra) / height));
}

/** Rows [first, last) are in the document. */
function rowsInSight(sight: Sight, count: number, layout: Layout): { first: number; last: number } {
  const first = Math.max(0, Math.min(count, positionAt(layout, sight.top) - AROUND));
  const end = positionAt(layout, sight.top + sight.height) + AROUND + 1;
  return { first, last: Math.max(first, Math.min(count, end)) };
}

/* --- state --- */

/** The state of a table in use. */
interface Use {
  props: TableProps;
  usual: Column[];
  shown: Column[];
  order: Uint32Array;
  sort: string;
  invalid: boolean;
  /** `cursor` and `open` are rows, `cursorAt` is a position in the order; NOWHERE: none. */
  cursor: number;
  cursorAt: number;
  open: number;
  layout: Layout;
  sight: Sight;
  setExtra: (height: number) => void;
  setOpen: (row: number) => void;
  move: (position: number) => void;
  pick: (row: number) => void;
  unfold: (row: number) => void;
}

function scrollTo(element: HTMLDivElement, top: number, height: number): void {
  const bottom = top + height + HEAD_HEIGHT;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
}

function useTable(props: TableProps, scroller: { current: HTMLDivElement | null }): Use {
  const { look, columns } = props;
  const sight = useSight(scroller);
  const usual = useMemo(() => usualColumns(columns, sight.width), [columns, sight.width]);
  const shown = useMemo(() => chosenColumns(columns, usual, look.state.columns), [usual, look.state.columns]);
  const { order, sort, invalid } = useOrder(props);
  const [cursor, setCursor] = useRemembered(props);
  const [open, setOpen] = useRemembered(props);
  const [extra, setExtra] = useState(0);
  const height = ROW_HEIGHTS[props.lines];
  const layout = { height, open: open === NOWHERE || !props.detail ? NOWHERE : order.indexOf(open), extra };
  const cursorAt = cursor === NOWHERE ? NOWHERE : order.indexOf(cursor);
  const move = (position: number) => {
    if (order.length === 0) return;
    const to = Math.max(0, Math.min(order.length - 1, position));
    setCursor(order[to]);
    if (scroller.current) scrollTo(scroller.current, topOf(layout, to), height);
  };
  const pick = (row: number) => {
    setCursor(row);
    const key = look.profile.functionKey(props.functionOf(row));
    if (key !== look.state.picked) look.set({ picked: key });
  };
  const unfold = (row: number) => {
    pick(row);
    if (props.detail) setOpen(open === row ? NOWHERE : row);
  };
  const where = { cursor, cursorAt, open, layout, sight };
  return { props, usual, shown, order, sort, invalid, ...where, setExtra, setOpen, move, pick, unfold };
}

/** Scrolls to the first row of a function that was picked in another view. */
function useFollowPicked({ props, order, cursor, move }: Use): void {
  const { look, functionOf } = props;
  useEffect(() => {
    const picked = look.profile.functionOfKey(look.state.picked);
    if (picked === undefined || (cursor !== NOWHERE && functionOf(cursor) === picked)) return;
    const position = order.findIndex((row) => functionOf(row) === picked);
    if (position >= 0) move(position);
  }, [look.state.picked]);
}

/** Draws again while cells wait for slow computations. */
function useCatchUp(lazy: Lazy<unknown>[] | undefined): void {
  const [, again] = useState(0);
  for (const each of lazy ?? []) each.begin();
  useEffect(() => {
    if (!lazy?.some((each) => each.behind())) return;
    const frame = requestAnimationFrame(() => again((n) => n + 1));
    return () => cancelAnimationFrame(frame);
  });
}

function pressKey(use: Use, event: KeyboardEvent): void {
  const { cursor, cursorAt, order, open, move } = use;
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Math.max(1, Math.floor((use.sight.height - HEAD_HEIGHT) / use.layout.height) - 1);
  const there = cursorAt !== NOWHERE;
  const keys: Record<string, () => void> = {
    ArrowDown: () => move(cursorAt + 1),
    ArrowUp: () => move(cursorAt - 1),
    PageDown: () => move(cursorAt + page),
    PageUp: () => move(cursorAt - page),
    Home: () => move(0),
    End: () => move(order.length - 1),
    Enter: () => there && use.unfold(cursor),
    " ": () => there && use.pick(cursor),
    ArrowRight: () => there && open !== cursor && use.unfold(cursor),
    ArrowLeft: () => there && open === cursor && use.setOpen(NOWHERE),
  };
  if (open !== NOWHERE) keys["Escape"] = () => use.setOpen(NOWHERE);
  if (!Object.hasOwn(keys, event.key)) return;
  keys[event.key]();
  event.preventDefault();
  event.stopPropagation();
}

/* --- parts --- */

/** The shown columns, and those whose contents they show as well. */
function copiedColumns(shown: Column[]): Column[] {
  const beside = (column: Column) => (column.beside ?? []).filter((each) => !shown.some(({ id }) => id === each.id));
  return shown.flatMap((column) => [column, ...beside(column)]);
}

function printTable(columns: Column[], order: Uint32Array): string {
  const print = (plain: string | number) =>
    typeof plain === "string" ? plainCell(plain) : Number.isFinite(plain) ? String(plain) : "";
  const lines = [columns.map((column) => plainCell(column.title)).join("\t")];
  for (const row of order) lines.push(columns.map((column) => print(column.plain(row))).join("\t"));
  return `${lines.join("\n")}\n`;
}

function Tools({ use }: { use: Use }) {
  const { props, order, shown, usual } = use;
  const [all, some] = [formatExact(props.count), formatExact(order.length)];
  return (
    <div class="table-tools">
      <FilterBox look={props.look} id={props.id} invalid={use.invalid} />
      {props.tools}
      <span class="table-count dim" role="status">
        {order.length === props.count ? `${all} row${plural(all)}` : `${some} row${plural(some)} of ${all}`}
      </span>
      <span class="table-actions">
        <ColumnChoice look={props.look} id={props.id} columns={props.columns} usual={usual} shown={shown} />
        <CopyButton id={`${props.id}-copy`} text={() => printTable(copiedColumns(shown), order)}>Copy</CopyButton>
      </span>
    </div>
  );
}

function Heading({ look, column, sort }: { look: Look; column: Column; sort: string }) {
  const by = parseSort(sort);
  const active = by.column === column.id;
  return (
    <th
      scope="col"
      data-column={column.id}
      class={column.numeric ? "numeric" : ""}
      aria-sort={active ? (by.descending ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        title={column.help}
        onClick={() => look.set({ sort: writeSort(nextSort(by, column.id, column.numeric)) })}
      >
        <span>{column.title}</span>
        <span class="arrow" aria-hidden="true">{active ? (by.descending ? "▾" : "▴") : ""}</span>
      </button>
    </th>
  );
}

function drawCell(column: Column, row: number) {
  const part = Math.min(1, column.bar?.(row) ?? 0);
  const bar = column.unsure?.(row) ? "cell-bar unsure" : "cell-bar";
  return (
    <td key={column.id} class={column.numeric ? "numeric" : ""}>
      {part > 0 && <span class={bar} aria-hidden="true" style={{ width: `${(100 * part).toFixed(2)}%` }} />}
      <span class="cell">{column.cell(row)}</span>
    </td>
  );
}

function UnfoldButton({ use, row }: { use: Use; row: number }) {
  const unfolded = use.open === row;
  const press = (event: MouseEvent) => {
    event.stopPropagation();
    use.unfold(row);
  };
  return (
    <button type="button" class="unfold" tabIndex={-1} aria-label={unfolded ? "Fold" : "Unfold"} onClick={press}>
      <span aria-hidden="true">{unfolded ? "▾" : "▸"}</span>
    </button>
  );
}

/** The search and the picked function. */
interface Marks {
  search: RegExp | null;
  picked: number | undefined;
}

function findMarks({ profile, state }: Look): Marks {
  return { search: searchExpression(state.search), picked: profile.functionOfKey(state.picked) };
}

function isFound({ profile }: Look, search: RegExp | null, index: number): boolean {
  if (search === null) return false;
  return search.test(profile.functionName(index)) || search.test(profile.text(profile.functions.full[index]));
}

function drawRow(use: Use, position: number, { search, picked }: Marks) {
  const { props, shown } = use;
  const row = use.order[position];
  const found = isFound(props.look, search, props.functionOf(row));
  return (
    <tr
      key={position}
      id={`${props.id}-row-${position}`}
      data-row={row}
      class={(position === use.cursorAt ? "cursor" : "") + (found ? " found" : "")}
      aria-rowindex={position + 2}
      aria-selected={props.functionOf(row) === picked}
      aria-expanded={props.detail ? use.open === row : undefined}
      onClick={() => use.pick(row)}
    >
      <th scope="row">
        <span class="row-head">
          {props.detail && <UnfoldButton use={use} row={row} />}
          {shown[0].cell(row)}
        </span>
      </th>
      {shown.slice(1).map((column) => drawCell(column, row))}
    </tr>
  );
}

/** As high as its contents, and as wide as the visible part. */
function Unfolded({ use, children }: { use: Use; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => use.setExtra(element.offsetHeight);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return (
    <tr class="unfolded">
      <td colSpan={use.shown.length}>
        <div ref={box} class="unfolded-box" style={{ width: `${use.sight.width}px` }}>{children}</div>
      </td>
    </tr>
  );
}

/** The visible rows, and spacers for the others. */
function drawBody(use: Use, first: number, last: number) {
  const { props, order, layout } = use;
  const marks = findMarks(props.look);
  const body: ComponentChildren[] = [];
  for (let position = first; position < last; position++) {
    body.push(drawRow(use, position, marks));
    if (position === layout.open && props.detail)
      body.push(<Unfolded key={`open ${props.rowKey(use.open)}`} use={use}>{props.detail(use.open)}</Unfolded>);
  }
  const above = topOf(layout, first);
  const below = topOf(layout, order.length) - topOf(layout, last);
  return (
    <tbody>
      {above > 0 && <tr class="spacer" aria-hidden="true" style={{ height: `${above}px` }} />}
      {body}
      {below > 0 && <tr class="spacer" aria-hidden="true" style={{ height: `${below}px` }} />}
    </tbody>
  );
}

function drawGrid(use: Use) {
  const { props, shown, order, cursorAt } = use;
  const { first, last } = rowsInSight(use.sight, order.length, use.layout);
  const rest = shown.slice(1).reduce((sum, column) => sum + column.width, 0);
  const enter = (event: FocusEvent) => event.target === event.currentTarget && cursorAt === NOWHERE && use.move(0);
  return (
    <table
      id={props.id}
      class={props.lines === 2 ? "two-lines" : ""}
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={order.length + 1}
      aria-colcount={shown.length}
      aria-activedescendant={cursorAt >= first && cursorAt < last ? `${props.id}-row-${cursorAt}` : undefined}
      data-rows={props.count}
      data-shown={order.length}
      style={{ minWidth: `calc(var(--name-width) + ${rest}px)` }}
      onKeyDown={(event) => pressKey(use, event)}
      onFocus={enter}
    >
      <colgroup>
        <col />
        {shown.slice(1).map((column) => (
          <col key={column.id} style={{ width: `${column.width}px` }} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {shown.map((column) => (
            <Heading key={column.id} look={props.look} column={column} sort={use.sort} />
          ))}
        </tr>
      </thead>
      {drawBody(use, first, last)}
    </table>
  );
}

export function Table(props: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const use = useTable(props, scroller);
  const nothing = props.count === 0 ? props.empty : "No row matches the filter.";
  useFollowPicked(use);
  useCatchUp(props.lazy);
  return (
    <div class="table-view">
      <Tools use={use} />
      <div class={use.sight.more ? "table-frame more" : "table-frame"}>
        <div class="table-scroll" ref={scroller}>
          {drawGrid(use)}
          {use.order.length === 0 && <p class="table-empty">{nothing}</p>}
        </div>
      </div>
    </div>
  );
}
