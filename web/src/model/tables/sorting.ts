// SPDX-License-Identifier: MIT
// sorting.ts - sorts and filters the rows of a table.
//
// Rows are numbers, and so are their sort keys: texts are ranked first. Sorting is stable, and NaN comes last in either
// direction.

export interface SortBy {
  column: string;
  descending: boolean;
}

/** "column" or "-column", as the URL has it. */
export function parseSort(word: string): SortBy {
  return word.startsWith("-") ? { column: word.slice(1), descending: true } : { column: word, descending: false };
}

export function writeSort(by: SortBy): string {
  return (by.descending ? "-" : "") + by.column;
}

/** The order after a click on a column's title: reversed if it is sorted by that column already, else the default. */
export function nextSort(now: SortBy, column: string, numeric: boolean): SortBy {
  return { column, descending: now.column === column ? !now.descending : numeric };
}

/** For each row the rank of its text; equal texts have equal ranks. */
export function rankTexts(count: number, text: (row: number) => string): Float64Array {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const ranks = new Map<string, number>();
  for (let row = 0; row < count; row++) ranks.set(text(row), 0);
  const sorted = [...ranks.keys()].sort((a, b) => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0));
  sorted.forEach((each, rank) => ranks.set(each, rank));
  const ranked = new Float64Array(count);
  for (let row = 0; row < count; row++) ranked[row] = ranks.get(text(row)) ?? 0;
  return ranked;
}

/** Keys that can be compared by subtraction: a larger key comes later. */
function sortable(keys: ArrayLike<number>, count: number, descending: boolean): Float64Array {
  const most = Number.MAX_VALUE;
  const result = new Float64Array(count);
  for (let row = 0; row < count; row++) {
    const key = Math.min(most / 4, Math.max(-most / 4, keys[row]));
    result[row] = Number.isNaN(key) ? most / 2 : descending ? -key : key;
  }
  return result;
}

/** The rows that `keep` keeps, in order of their keys. */
export function orderRows(
  count: number,
  keys: ArrayLike<number>,
  descending: boolean,
  keep: ((row: number) => boolean) | null,
): Uint32Array {
  const rows = new Uint32Array(count);
  let kept = 0;
  for (let row = 0; row < count; row++) if (!keep || keep(row)) rows[kept++] = row;
  const by = sortable(keys, count, descending);
  return rows.subarray(0, kept).sort((a, b) => by[a] - by[b] || a - b);
}

export interface Filter {
  /** null: everything passes. */
  test: ((text: string) => boolean) | null;
  /** It looks like a regular expression, but is not a valid one. */
  invalid: boolean;
}

/** Plain text, regardless of case, or /a regular expression/. */
export function parseFilter(typed: string): Filter {
  const text = typed.trim();
  if (text === "") return { test: null, invalid: false };
  const pattern = /^\/(.+)\/$/s.exec(text);
  if (!pattern) {
    const part = text.toLowerCase();
    return { test: (each) => each.toLowerCase().includes(part), invalid: false };
  }
  try {
    const expression = new RegExp(pattern[1], "i");
    return { test: (each) => expression.test(each), invalid: false };
  } catch {
    return { test: null, invalid: true };
  }
}

/** Caches the result of a test by the index of the text: many rows may share one. */
export function rememberTests(
  text: (index: number) => string,
  test: (text: string) => boolean,
): (index: number) => boolean {
  const known = new Map<number, boolean>();
  return (index) => {
    let passes = known.get(index);
    if (passes === undefined) known.set(index, (passes = test(text(index))));
    return passes;
  };
}

/** A text cell for a spreadsheet: on one line, and never a formula. It must not begin with a quote either: the
 * spreadsheet would read all up to the next quote, including tabs and line breaks, as one cell. */
export function plainCell(text: string): string {
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");
  return /^\s*["'=+\-@＂＇＝＋－＠]/.test(clean) ? `'${clean}` : clean;
}
