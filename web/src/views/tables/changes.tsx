// SPDX-License-Identifier: MIT
// changes.tsx - the changes from one profile to another by site, and which of them are more than noise.

import { useMemo, useState } from "preact/hooks";
import type { Change, Changes as ChangesInfo, Estimate, Header, MetricKey } from "../../data/header";
import type { Look, ViewProps } from "../../look";
import { formatChange, formatCount, formatError, formatValue, isUnsure, plural } from "../../model/figures/format";
import { functionTest } from "../../model/tables/functions";
import { metricInfo, metricTitle, type Metric, type MetricInfo } from "../../model/figures/metric";
import { callersAt, ownNodeOf, placeName, placeOrigin, viaAt } from "../../model/tables/stacks";
import { Figure, plainSite, SiteName, type SiteText } from "./cells";
import { figureWidth, largestOf, textColumn, withBar } from "./columns";
import { Actions, Stack } from "./stack";
import { Table, type Column } from "./table";
import "./changes.css";

/** The metrics that are compared by site, and which of them is shown for the others. */
const COMPARED: readonly Metric[] = ["live", "allocated", "calls", "peak"];
const STANDS_FOR: Partial<Record<Metric, Metric>> = { blocks: "live", "peak-blocks": "peak", temporary: "calls" };

/* --- the totals --- */

/** "(+366%)", "(−0.8%)"; "" if there is no change, or nothing before. */
function percent(change: number, before: number): string {
  const value = (100 * change) / before;
  if (change === 0 || !Number.isFinite(value)) return "";
  const digits = Math.abs(value).toFixed(Math.abs(value) < 9.95 ? 1 : 0);
  return `(${value > 0 ? "+" : "−"}${digits}%)`;
}

function TotalLine({ header, info, chosen }: { header: Header; info: MetricInfo; chosen: boolean }) {
  const before = header.diff?.before.totals[info.key];
  const after = header.diff?.after.totals[info.key];
  const change = header.totals[info.key];
  if (!before || !after) return null;
  const noise = change.error > 0 && change.value !== 0 && change.low <= 0 && change.high >= 0;
  const error = formatError(info.unit, { ...change, value: Math.abs(change.value) });
  return (
    <tr data-metric={info.metric} class={chosen ? "chosen" : ""}>
      <th scope="row">{metricTitle(header, info.metric)}</th>
      <td class="numeric">{formatValue(info.unit, before.value)}</td>
      <td class="numeric">→ {formatValue(info.unit, after.value)}</td>
      <td class="numeric">
        <span class={change.value > 0 ? "grew" : change.value < 0 ? "shrank" : "dim"}>
          {change.value === 0 ? "the same" : formatChange(info.unit, change.value)}
        </span>{" "}
        {percent(change.value, before.value)}
      </td>
      <td class="dim">{noise ? `within noise (${error})` : error}</td>
    </tr>
  );
}

function Totals({ look, compared }: { look: Look; compared: Metric }) {
  const { header } = look.profile;
  return (
    <table class="change-totals" id="change-totals">
      <caption class="hidden">Totals of both profiles</caption>
      <thead class="hidden">
        <tr>
          <th scope="col">Metric</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
          <th scope="col">Change</th>
          <th scope="col">Uncertainty</th>
        </tr>
      </thead>
      <tbody>
        {COMPARED.map((metric) => (
          <TotalLine key={metric} header={header} info={metricInfo(metric)} chosen={metric === compared} />
        ))}
      </tbody>
    </table>
  );
}

/* --- the table --- */

interface Rows {
  items: Change[];
  place: Uint32Array;
  index: Uint32Array;
}

function makeRows(look: Look, key: MetricKey, noise: boolean): Rows {
  const { profile } = look;
  const all = profile.header.diff?.changes[key]?.items ?? [];
  const items = all.filter((item) => item.what !== "same" && (noise || item.significant));
  const place = Uint32Array.from(items, (item) => profile.nodes.place[ownNodeOf(profile, item.node)]);
  return { items, place, index: place.map((each) => profile.places.function[each]) };
}

const CHANGE_WIDTH = 190; /* with room for an error: a change of the peak always has one */

type Member = "before" | "after" | "change";
const TITLES: Record<Member, string> = { before: "Before", after: "After", change: "Change" };

function memberColumn(look: Look, rows: Rows, info: MetricInfo, member: Member): Column {
  const title = TITLES[member];
  const change = member === "change";
  const value = (row: number): Estimate => rows.items[row][member];
  return {
    id: member,
    title,
    width: change ? CHANGE_WIDTH : figureWidth(look, title),
    numeric: true,
    usual: true,
    keys: () => rows.items.map((item) => item[member].value),
    cell: (row) => <Figure unit={info.unit} estimate={value(row)} change={change} />,
    plain: (row) => value(row).value,
    unsure: (row) => isUnsure(value(row)),
  };
}

function makeColumns(look: Look, rows: Rows, info: MetricInfo): Column[] {
  const { profile } = look;
  const sizes = rows.items.map((item) => Math.abs(item.change.value));
  const texts = (id: string, title: string, usual: boolean, width: number, text: (row: number) => string): Column =>
    textColumn({ id, title, usual }, width, rows.items.length, text);
  const siteOf = (row: number): SiteText => {
    const { node } = rows.items[row];
    const [where, callers] = [placeOrigin(profile, rows.place[row]), callersAt(profile, node)];
    return { index: rows.index[row], via: viaAt(profile, node), where, callers };
  };
  const where = texts("where", "Where", false, 180, (row) => siteOf(row).where);
  const callers = texts("callers", "Called by", false, 260, (row) => siteOf(row).callers);
  return [
    {
      ...texts("site", "Site", true, 0, (row) => placeName(profile, rows.place[row])),
      cell: (row) => <SiteName profile={profile} site={siteOf(row)} />,
      plain: (row) => plainSite(profile, siteOf(row)),
      beside: [where, callers],
    },
    { ...withBar(memberColumn(look, rows, info, "change"), sizes, largestOf(sizes)), keys: () => sizes },
    texts("what", "What", true, 76, (row) => rows.items[row].what),
    memberColumn(look, rows, info, "before"),
    memberColumn(look, rows, info, "after"),
    texts("noise", "Noise?", true, 120, (row) => (rows.items[row].significant ? "significant" : "within noise")),
    where,
    callers,
  ];
}

function matcher(look: Look, rows: Rows) {
  const { profile } = look;
  return (test: (text: string) => boolean) => {
    const passes = functionTest(profile, test);
    return (row: number) => passes(rows.index[row]) || test(rows.items[row].what);
  };
}

function Detail({ look, rows, row }: { look: Look; rows: Rows; row: number }) {
  const { node, moved } = rows.items[row];
  return (
    <>
      <Actions look={look} index={rows.index[row]} node={node} />
      {moved && <p class="dim">Compared by functions only, because lines have moved.</p>}
      <Stack look={look} node={node} />
    </>
  );
}

/** How many sites changed, and by which metric. */
function Sentence({ look, compared, changes }: { look: Look; compared: Metric; changes: ChangesInfo }) {
  const { header } = look.profile;
  const all = formatCount(changes.compared);
  return (
    <p class="dim">
      {metricTitle(header, compared)}, by site: {formatCount(changes.significant)} of {all} site{plural(all)} changed by
      more than noise.
      {compared !== look.state.metric && ` ${metricTitle(header, look.state.metric)}: not compared by site.`}
      {look.narrowed && " These are the changes of the whole runs, not of the selection."}
    </p>
  );
}

function NoiseChoice({ noise, setNoise, count }: { noise: boolean; setNoise: (on: boolean) => void; count: number }) {
  return (
    <label class="check">
      <input
        id="changes-noise"
        type="checkbox"
        checked={noise}
        onChange={(event) => setNoise(event.currentTarget.checked)}
      />
      show changes within noise ({formatCount(count)})
    </label>
  );
}

export function Changes({ look }: ViewProps) {
  const [noise, setNoise] = useState(false);
  const { profile, state } = look;
  const compared = STANDS_FOR[state.metric] ?? state.metric;
  const info = metricInfo(compared);
  const changes = profile.header.diff?.changes[info.key];
  const rows = useMemo(() => makeRows(look, info.key, noise), [profile, info.key, noise]);
  const columns = useMemo(() => makeColumns(look, rows, info), [rows, info]);
  if (!changes) return <p class="dim">This is not a comparison.</p>;
  const quiet = changes.items.filter((item) => !item.significant && item.what !== "same").length;
  return (
    <div class="changes">
      <Totals look={look} compared={compared} />
      <Sentence look={look} compared={compared} changes={changes} />
      <Table
        look={look}
        id="changes-table"
        label="Changes"
        rows={rows}
        count={rows.items.length}
        columns={columns}
        lines={2}
        usualSort="-change"
        matches={matcher(look, rows)}
        rowKey={(row) => String(rows.items[row].node)}
        functionOf={(row) => rows.index[row]}
        detail={(row) => <Detail look={look} rows={rows} row={row} />}
        tools={<NoiseChoice noise={noise} setNoise={setNoise} count={quiet} />}
        empty={quiet > 0 ? "All changes are within noise." : "Nothing has changed."}
      />
    </div>
  );
}
