// SPDX-License-Identifier: MIT
// columns.tsx - the kinds of table columns: texts, numbers, figures of a metric, shares.

import type { Estimates } from "../../data/header";
import type { Look } from "../../look";
import { formatPercent, isUnsure } from "../../model/figures/format";
import { isChange } from "../../model/figures/groups";
import { metricInfo, type MetricInfo } from "../../model/figures/metric";
import { rankTexts } from "../../model/tables/sorting";
import { exactly, Figure, Location } from "./cells";
import type { Lazy } from "./lazy";
import type { Column } from "./table";

export type Heading = Pick<Column, "id" | "title" | "usual"> & { help?: string };

const SHARE_DIGITS = 6; /* in a copied table */
const TITLE_WIDTH = 34; /* pixels of a title in addition to its letters, and per letter */
const LETTER_WIDTH = 8;

/** As wide as its contents, and at least as wide as its title. */
function widthFor(title: string, contents: number): number {
  return Math.max(contents, TITLE_WIDTH + LETTER_WIDTH * title.length);
}

/** The width of a column of figures, with their errors if they have any. */
export function figureWidth(look: Look, title: string): number {
  return widthFor(title, look.profile.header.sampling.exact ? 108 : 164);
}

export function textColumn(of: Heading, width: number, count: number, text: (row: number) => string): Column {
  return {
    ...of,
    width,
    numeric: false,
    keys: () => rankTexts(count, text),
    cell: (row) => <span class="name dim" title={text(row)}>{text(row)}</span>,
    plain: text,
  };
}

/** A column of files and lines. */
export function locationColumn(of: Heading, width: number, count: number, text: (row: number) => string): Column {
  return { ...textColumn(of, width, count, text), cell: (row) => <Location text={text(row)} /> };
}

/** Values are computed when first needed; NaN means unknown. */
export function numberColumn(of: Heading, values: () => Float64Array, print: (value: number) => string): Column {
  let known: Float64Array | undefined;
  const get = () => (known ??= values());
  return {
    ...of,
    width: widthFor(of.title, 84),
    numeric: true,
    keys: get,
    cell: (row) => (Number.isNaN(get()[row]) ? <span class="dim">–</span> : print(get()[row])),
    plain: (row) => get()[row],
  };
}

/** A column of a metric; errors appear as soon as they are computed. */
export function figureColumn(
  look: Look,
  of: Heading,
  info: MetricInfo,
  values: () => Float64Array,
  estimates: Lazy<Estimates>,
): Column {
  const change = isChange(look.dataset, info.metric);
  const estimate = (row: number) => estimates.get(row)?.[info.key] ?? exactly(values()[row]);
  return {
    ...of,
    width: figureWidth(look, of.title),
    numeric: true,
    keys: values,
    cell: (row) => <Figure unit={info.unit} estimate={estimate(row)} change={change} />,
    plain: (row) => values()[row],
    unsure: (row) => isUnsure(estimate(row)),
  };
}

/** No column if figures are changes: then there is no whole to have a share of. */
export function shareColumn(look: Look, of: Heading, values: () => Float64Array): Column[] {
  const { metric } = look.state;
  const whole = look.totals[metricInfo(metric).key].value;
  if (isChange(look.dataset, metric) || !(whole > 0)) return [];
  return [
    {
      ...of,
      width: widthFor(of.title, 78),
      numeric: true,
      keys: values,
      cell: (row) => formatPercent(values()[row] / whole),
      plain: (row) => Number((values()[row] / whole).toFixed(SHARE_DIGITS)),
    },
  ];
}

export function largestOf(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, Math.abs(values[i]));
  return most;
}

/** Adds a bar for each value; the bar of `most` fills the cell. */
export function withBar(column: Column, values: ArrayLike<number>, most: number): Column {
  return { ...column, bar: (row) => (most > 0 ? Math.abs(values[row]) / most : 0) };
}
