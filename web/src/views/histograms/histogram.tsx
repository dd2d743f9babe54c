// SPDX-License-Identifier: MIT
// histogram.tsx - a histogram whose columns describe themselves under the pointer or the focus; and the same figures as
// a table.

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Look } from "../../look";
import { wholeDataset, type Dataset } from "../../model/figures/dataset";
import type { Estimates } from "../../data/header";
import { includedSites } from "../../model/figures/narrow";
import { selectionTotals } from "../../model/figures/totals";
import "./histogram.css";

export interface Column {
  /** Where it begins, in a few characters. */
  tick: string;
  label: string;
  value: number;
  /** The part of it that belongs to the second series. */
  part: number;
}

export interface ColumnsProps {
  id: string;
  title: string;
  columns: Column[];
  format: (value: number) => string;
  /** The name of the second series; null: there is none. */
  partTitle: string | null;
  /** A description of a column. */
  describe: (column: Column, index: number) => string;
}

const TICKS = 5; /* fit a narrow screen */
const TICKS_WIDE = 8;
const WIDE = "(min-width: 1000px)";

function percent(value: number, most: number): string {
  return `${most > 0 ? (100 * Math.max(value, 0)) / most : 0}%`;
}

/** The column that a key leads to; -1: none. */
function step(key: string, at: number, count: number): number {
  if (key === "ArrowRight") return Math.min(at + 1, count - 1);
  if (key === "ArrowLeft") return Math.max(at - 1, 0);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : -1;
}

function Caption({ title, partTitle }: { title: string; partTitle: string | null }) {
  return (
    <figcaption>
      <h3>{title}</h3>
      {partTitle !== null && (
        <span class="histogram-legend">
          <i class="swatch" /> all <i class="swatch part" /> {partTitle}
        </span>
      )}
    </figcaption>
  );
}

/** A few of the columns have a tick below them. */
function Ticks({ columns }: { columns: Column[] }) {
  const every = Math.ceil(columns.length / (matchMedia(WIDE).matches ? TICKS_WIDE : TICKS));
  const isTicked = (index: number) => index % every === 0 && (index === 0 || index + every <= columns.length);
  return (
    <div class="ticks" aria-hidden="true">
      {columns.map((column, index) => (
        <span key={index}>{isTicked(index) ? column.tick : ""}</span>
      ))}
    </div>
  );
}

interface BarsProps extends ColumnsProps {
  most: number;
  /** The column that is described below the chart; null: none. */
  at: number | null;
  setAt: (index: number | null) => void;
}

/** The columns. Arrow keys, Home and End move the focus. */
function Bars({ title, columns, partTitle, describe, most, at, setAt }: BarsProps) {
  const list = useRef<HTMLDivElement>(null);
  const walk = (event: KeyboardEvent) => {
    const next = step(event.key, at ?? 0, columns.length);
    if (next < 0) return;
    (list.current?.children[next] as HTMLElement | undefined)?.focus();
    event.preventDefault();
  };
  return (
    <div
      class="histogram-columns"
      role="group"
      aria-label={title}
      ref={list}
      onKeyDown={walk}
      onMouseLeave={() => setAt(null)}
    >
      {columns.map((column, index) => (
        <div
          key={index}
          class="histogram-column"
          role="img"
          data-value={column.value}
          tabIndex={index === (at ?? 0) ? 0 : -1}
          aria-label={describe(column, index)}
          onFocus={() => setAt(index)}
          onMouseEnter={() => setAt(index)}
        >
          {column.value > 0 && <i class="fill" style={{ height: percent(column.value, most) }} />}
          {partTitle !== null && column.part > 0 && (
            <i class="fill part" style={{ height: percent(column.part, most) }} />
          )}
        </div>
      ))}
    </div>
  );
}

export function Columns(props: ColumnsProps) {
  const { id, title, columns, format, partTitle, describe } = props;
  const [at, setAt] = useState<number | null>(null);
  const most = columns.reduce((top, column) => Math.max(top, column.value, column.part), 0);
  const total = columns.reduce((sum, column) => sum + column.value, 0);
  const shown = at === null ? undefined : columns[at];
  return (
    <figure class="histogram" id={id} data-total={total}>
      <Caption title={title} partTitle={partTitle} />
      <div class="plot" style={{ "--columns": String(columns.length) }}>
        <div class="scale" aria-hidden="true">
          <span>{format(most)}</span>
          <span>{format(most / 2)}</span>
        </div>
        <Bars {...props} most={most} at={at} setAt={setAt} />
        <Ticks columns={columns} />
      </div>
      <p class="readout">
        {shown && at !== null ? describe(shown, at) : "Point at a column, or use the arrow keys."}
      </p>
    </figure>
  );
}

/** The figures of a chart as a table. */
export function FiguresTable({ title, head, rows }: { title: string; head: string[]; rows: string[][] }) {
  return (
    <details class="as-table">
      <summary>{title}</summary>
      <div class="spread-scroll">
        <table>
          <thead>
            <tr>
              {head.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, ...cells]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {cells.map((cell, index) => (
                  <td key={index}>{cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="spread-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The selection without its time interval: histograms are known only for the whole run. */
export interface WholeRun {
  dataset: Dataset;
  /** null: all sites. */
  chosen: Uint8Array | null;
  /** Sites through the picked function; null: none is picked. */
  picked: Uint8Array | null;
  pickedName: string | null;
  totals: Estimates;
}

export function useWholeRun(look: Look): WholeRun {
  const { profile, state } = look;
  const { tag, thread, focus, hide } = state;
  const dataset = useMemo(
    () => (look.dataset.kind === "interval" ? wholeDataset(profile) : look.dataset),
    [profile, look.dataset],
  );
  const chosen = useMemo(
    () => (look.narrowed ? includedSites(dataset, { tag, thread, focus, hide }) : null),
    [dataset, look.included],
  );
  const index = state.picked === "" ? undefined : profile.functionOfKey(state.picked);
  const picked = useMemo(
    () => (index === undefined ? null : includedSites(dataset, { tag, thread, focus: [...focus, state.picked], hide })),
    [dataset, look.included, index],
  );
  const totals = useMemo(
    () => (chosen ? selectionTotals(dataset, chosen, { tag, thread, focus, hide }) : profile.header.totals),
    [profile, dataset, chosen],
  );
  return { dataset, chosen, picked, pickedName: index === undefined ? null : profile.functionName(index), totals };
}

/** A note above figures that ignore the chosen interval. */
export function OfWholeRun({ look, what }: { look: Look; what: string }) {
  if (look.dataset.kind !== "interval") return null;
  return (
    <p class="spread-note" role="note">
      {what} are not recorded for a time interval: these are for the whole run.
    </p>
  );
}
