// SPDX-License-Identifier: MIT
// threads.tsx - the table of threads. Threads of one name are one row, which can be unfolded; a click selects the name.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Look, ViewProps } from "../../look";
import { formatExact, formatPercent, formatSeconds } from "../../model/figures/format";
import { isChange } from "../../model/figures/groups";
import { metricInfo, metricTitle, type Metric } from "../../model/figures/metric";
import { includedSites } from "../../model/figures/narrow";
import { nextSort, parseSort, writeSort, type SortBy } from "../../model/tables/sorting";
import { ALLOCATION_FUNCTIONS, tabulateThreads, type ThreadRow, type ThreadTable } from "../../model/tags/threads";
import { BesideBar, Figure } from "./cells";
import "./threads.css";

const LINES = 200; /* shown at first */

// --- columns ---

interface Column {
  id: string;
  title: string;
  /** The sort key. */
  key: (row: ThreadRow) => number;
  cell: (row: ThreadRow) => ComponentChildren;
  /** The total, below all rows. */
  total?: ComponentChildren;
}

const OTHERS: readonly Metric[] = ["calls", "allocated", "live", "peak"];

function lifeText(row: ThreadRow, running: boolean): string {
  const end = row.end_s === null ? (running ? "now" : "the end") : formatSeconds(row.end_s);
  const alive = running && row.alive > 0 ? `, ${formatExact(row.alive)} alive` : "";
  return `${formatSeconds(row.start_s)} to ${end}${alive}`;
}

/** A bar that shows when the threads lived, within the duration of the run. */
function Life({ row, duration, running }: { row: ThreadRow; duration: number; running: boolean }) {
  const at = (seconds: number) => (duration > 0 ? Math.min(Math.max(seconds / duration, 0), 1) * 100 : 0);
  const [from, to] = [at(row.start_s), at(row.end_s ?? duration)];
  return (
    <span class="thread-life" title={lifeText(row, running)}>
      <i style={{ left: `${from}%`, width: `${Math.max(to - from, 1)}%` }} />
      <span class="hidden">{lifeText(row, running)}</span>
    </span>
  );
}

function metricColumn(look: Look, table: ThreadTable, metric: Metric): Column {
  const { key, unit } = metricInfo(metric);
  const change = isChange(look.dataset, metric);
  return {
    id: metric,
    title: metricTitle(look.profile.header, metric, look.dataset.kind === "interval"),
    key: (row) => row.estimates[key].value,
    cell: (row) => <Figure unit={unit} estimate={row.estimates[key]} change={change} />,
    total: <Figure unit={unit} estimate={table.total[key]} change={change} />,
  };
}

/** The chosen metric, with a bar and its share. */
function mainColumns(look: Look, table: ThreadTable): Column[] {
  const { metric } = look.state;
  const { key } = metricInfo(metric);
  const plain = metricColumn(look, table, metric);
  const change = isChange(look.dataset, metric);
  const whole = change
    ? table.groups.reduce((most, row) => Math.max(most, Math.abs(row.value)), 0)
    : table.total[key].value;
  const figure: Column = {
    ...plain,
    cell: (row) => (
      <BesideBar value={row.value} whole={whole} change={change}>
        {plain.cell(row)}
      </BesideBar>
    ),
  };
  const share: Column = {
    id: "share",
    title: "Share",
    key: (row) => row.value,
    cell: (row) => formatPercent(whole > 0 ? row.value / whole : 0),
  };
  return change ? [figure] : [figure, share];
}

function functionColumns(look: Look, table: ThreadTable): Column[] {
  if (!table.functions) return [];
  const { threads } = look.profile.header;
  const sum = (name: (typeof ALLOCATION_FUNCTIONS)[number]) =>
    threads.reduce((all, thread) => all + thread.functions[name], 0);
  return ALLOCATION_FUNCTIONS.filter((name) => sum(name) > 0).map((name) => ({
    id: name,
    title: name,
    key: (row) => row.functions[name],
    cell: (row) => formatExact(row.functions[name]),
    total: formatExact(sum(name)),
  }));
}

function makeColumns(look: Look, table: ThreadTable): Column[] {
  const { header } = look.profile;
  const interval = look.dataset.kind === "interval";
  const others = OTHERS.filter((metric) => metric !== look.state.metric && !(interval && metricInfo(metric).onlyWhole));
  return [
    ...mainColumns(look, table),
    { id: "threads", title: "Threads", key: (row) => row.threads, cell: (row) => formatExact(row.threads) },
    ...others.map((metric) => metricColumn(look, table, metric)),
    {
      id: "life",
      title: `Alive, of ${formatSeconds(header.process.duration_s)}`,
      key: (row) => row.start_s,
      cell: (row) => <Life row={row} duration={header.process.duration_s} running={header.process.running} />,
    },
    ...functionColumns(look, table),
  ];
}

// --- rows ---

function nameOf(row: ThreadRow): string {
  return row.name === "" ? "?" : row.name;
}

interface RowProps {
  look: Look;
  columns: Column[];
  row: ThreadRow;
}

function Cells({ columns, row }: Omit<RowProps, "look">) {
  return (
    <>
      {columns.map((column) => (
        <td key={column.id} data-column={column.id}>
          {column.cell(row)}
        </td>
      ))}
    </>
  );
}

function GroupRow({ look, columns, row, open, toggle }: RowProps & { open: boolean; toggle: () => void }) {
  const { key } = metricInfo(look.state.metric);
  const chosen = look.state.thread === row.name;
  return (
    <tr data-thread={row.name} data-total={row.estimates[key].value} class={chosen ? "chosen" : ""}>
      <th scope="row">
        <span class="thread-name">
          {row.members.length > 1 ? (
            <button
              type="button"
              class="fold"
              aria-expanded={open}
              aria-label={`Single threads of ${nameOf(row)}`}
              onClick={toggle}
            >
              <span aria-hidden="true">{open ? "▾" : "▸"}</span>
            </button>
          ) : (
            <i class="fold" />
          )}
          <button
            type="button"
            class="plain"
            aria-pressed={chosen}
            title={chosen ? "Show all threads again" : "Show threads of this name only"}
            onClick={() => look.set({ thread: chosen ? null : row.name })}
          >
            {nameOf(row)}
          </button>
        </span>
      </th>
      <Cells columns={columns} row={row} />
    </tr>
  );
}

/** An entry represents several threads if there were more than a profile has room for. */
function singleName(look: Look, row: ThreadRow): string {
  const { tid } = look.profile.header.threads[row.members[0]];
  return row.threads > 1 ? `${formatExact(row.threads)} threads` : `thread ${tid}`;
}

function SingleRow({ look, columns, row }: RowProps) {
  return (
    <tr class="single" data-single={row.members[0]}>
      <th scope="row">
        <span class="thread-name">{singleName(look, row)}</span>
      </th>
      <Cells columns={columns} row={row} />
    </tr>
  );
}

function MoreRow({ more, columns, show }: { more: number; columns: number; show: () => void }) {
  return (
    <tr>
      <td colSpan={columns} class="thread-more">
        <button type="button" onClick={show}>
          {formatExact(more)} more…
        </button>
      </td>
    </tr>
  );
}

function Singles({ look, columns, group, table, order }: {
  look: Look;
  columns: Column[];
  group: ThreadRow;
  table: ThreadTable;
  order: (rows: ThreadRow[]) => ThreadRow[];
}) {
  const [most, setMost] = useState(LINES);
  const rows = useMemo(() => table.unfold(group), [table, group]);
  const shown = order(rows).slice(0, most);
  return (
    <>
      {shown.map((row) => (
        <SingleRow key={row.members[0]} look={look} columns={columns} row={row} />
      ))}
      {rows.length > most && (
        <MoreRow more={rows.length - most} columns={columns.length + 1} show={() => setMost(10 * most)} />
      )}
    </>
  );
}

// --- the table ---

function Heading({ look, column, sort }: { look: Look; column: { id: string; title: string }; sort: SortBy }) {
  const active = sort.column === column.id;
  const numeric = column.id !== "name";
  return (
    <th
      scope="col"
      data-column={column.id}
      aria-sort={active ? (sort.descending ? "descending" : "ascending") : "none"}
    >
      <button type="button" onClick={() => look.set({ sort: writeSort(nextSort(sort, column.id, numeric)) })}>
        {column.title}
        <span class="arrow" aria-hidden="true">{active ? (sort.descending ? " ▾" : " ▴") : ""}</span>
      </button>
    </th>
  );
}

/** Rows arrive heaviest first, so that order needs no sorting. */
function orderBy(columns: Column[], sort: SortBy): (rows: ThreadRow[]) => ThreadRow[] {
  const sign = sort.descending ? -1 : 1;
  if (sort.column === "name") return (rows) => [...rows].sort((a, b) => sign * a.name.localeCompare(b.name, "en"));
  const column = columns.find((each) => each.id === sort.column);
  return column ? (rows) => [...rows].sort((a, b) => sign * (column.key(a) - column.key(b))) : (rows) => rows;
}

function Total({ look, columns, table }: { look: Look; columns: Column[]; table: ThreadTable }) {
  const threads = table.groups.reduce((sum, row) => sum + row.threads, 0);
  return (
    <tfoot>
      <tr data-total={table.total[metricInfo(look.state.metric).key].value}>
        <th scope="row">
          <span class="thread-name">all</span>
        </th>
        {columns.map((column) => (
          <td key={column.id} data-column={column.id}>
            {column.id === "threads" ? formatExact(threads) : (column.total ?? "")}
          </td>
        ))}
      </tr>
    </tfoot>
  );
}

function useThreads(look: Look): ThreadTable {
  const { dataset, state } = look;
  const { tag, focus, hide, metric } = state;
  const { key } = metricInfo(metric);
  return useMemo(() => {
    const included = includedSites(dataset, { tag, focus, hide, thread: null });
    return tabulateThreads(dataset, included, { tag, focus, hide }, key);
  }, [dataset, tag, focus.join(), hide.join(), key]);
}

function note(look: Look, table: ThreadTable): string {
  const { exact } = look.profile.header.sampling;
  if (!exact && table.exact) return "Calls and bytes of threads are exact; figures with ± are estimated.";
  return look.dataset.kind === "interval" ? "Figures are of the interval; bars show the whole run." : "";
}

export function Threads({ look }: ViewProps) {
  const table = useThreads(look);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [most, setMost] = useState(LINES);
  const columns = makeColumns(look, table);
  const known = ["name", ...columns.map((column) => column.id)];
  const sorted = parseSort(look.state.sort);
  const sort: SortBy = known.includes(sorted.column) ? sorted : { column: look.state.metric, descending: true };
  const order = orderBy(columns, sort);
  if (table.groups.length === 0) return <p class="dim">No thread has allocated anything.</p>;
  const toggle = (name: string) => {
    const next = new Set(open);
    if (!next.delete(name)) next.add(name);
    setOpen(next);
  };
  return (
    <div class="threads">
      <div class="thread-scroll">
        <table id="threads-table" aria-label="Threads, by name" data-rows={table.groups.length}>
          <thead>
            <tr>
              <Heading look={look} column={{ id: "name", title: "Thread" }} sort={sort} />
              {columns.map((column) => (
                <Heading key={column.id} look={look} column={column} sort={sort} />
              ))}
            </tr>
          </thead>
          <tbody>
            {order(table.groups).slice(0, most).flatMap((row) => [
              <GroupRow
                key={`=${row.name}`}
                look={look}
                columns={columns}
                row={row}
                open={open.has(row.name)}
                toggle={() => toggle(row.name)}
              />,
              open.has(row.name) && (
                <Singles key={`+${row.name}`} look={look} columns={columns} group={row} table={table} order={order} />
              ),
            ])}
            {table.groups.length > most && (
              <MoreRow more={table.groups.length - most} columns={columns.length + 1} show={() => setMost(10 * most)} />
            )}
          </tbody>
          <Total look={look} columns={columns} table={table} />
        </table>
      </div>
      <p class="dim">{note(look, table)}</p>
    </div>
  );
}
