// SPDX-License-Identifier: MIT
// residency.tsx - how much of what was live was resident: over time, and by site for one reading, which the user chooses.

import { useMemo, useState } from "preact/hooks";
import type { Look, ViewProps } from "../../look";
import { formatEstimate, formatPercent, formatSpan, isUnsure } from "../../model/figures/format";
import {
  absent,
  fullestReading,
  ofReading,
  residencyBands,
  sitesOf,
  type Kind,
  type ResidentSite,
} from "../../model/memory/residency";
import { functionTest } from "../../model/tables/functions";
import { callersAt, ownNodeOf, placeName, placeOrigin, viaAt } from "../../model/tables/stacks";
import { Figure, plainSite, SiteName } from "../tables/cells";
import { figureWidth, largestOf, textColumn, withBar } from "../tables/columns";
import { Actions, Stack } from "../tables/stack";
import { Table, type Column } from "../tables/table";
import { Chart } from "./chart";

interface Rows {
  items: ResidentSite[];
  place: number[];
  index: number[];
}

function makeRows({ profile }: Look, reading: number): Rows {
  const items = sitesOf(profile, reading);
  const place = items.map(({ node }) => profile.nodes.place[ownNodeOf(profile, node)]);
  return { items, place, index: place.map((each) => profile.places.function[each]) };
}

const TITLES: Record<Kind, string> = { live: "Live", resident: "Resident", untouched: "Untouched", swapped: "Swapped" };

function kindColumn(look: Look, rows: Rows, kind: Kind): Column {
  const title = TITLES[kind];
  return {
    id: kind,
    title,
    width: figureWidth(look, title),
    numeric: true,
    usual: true,
    keys: () => rows.items.map((site) => site[kind].value),
    cell: (row) => <Figure unit="bytes" estimate={rows.items[row][kind]} change={false} />,
    plain: (row) => rows.items[row][kind].value,
    unsure: (row) => isUnsure(rows.items[row][kind]),
  };
}

function makeColumns(look: Look, rows: Rows): Column[] {
  const { profile } = look;
  const { items, place, index } = rows;
  const count = items.length;
  const siteOf = (row: number) => ({
    index: index[row],
    via: viaAt(profile, items[row].node),
    where: placeOrigin(profile, place[row]),
    callers: callersAt(profile, items[row].node),
  });
  const where = textColumn({ id: "where", title: "Where", usual: false }, 180, count, (row) => siteOf(row).where);
  const callers = textColumn({ id: "callers", title: "Called by", usual: false }, 260, count, (row) => siteOf(row).callers);
  const name = (row: number) => placeName(profile, place[row]);
  const untouched = items.map((site) => site.untouched.value);
  return [
    {
      ...textColumn({ id: "site", title: "Site", usual: true }, 0, count, name),
      cell: (row) => <SiteName profile={profile} site={siteOf(row)} />,
      plain: (row) => plainSite(profile, siteOf(row)),
      beside: [where, callers],
    },
    { ...withBar(kindColumn(look, rows, "untouched"), untouched, largestOf(untouched)), keys: () => items.map(absent) },
    kindColumn(look, rows, "resident"),
    kindColumn(look, rows, "live"),
    ...(items.some((site) => site.swapped.value > 0) ? [kindColumn(look, rows, "swapped")] : []),
    where,
    callers,
  ];
}

function describe(look: Look, at: number): string {
  const readings = look.profile.header.residency;
  const reading = readings[at];
  const text = (kind: Kind) => formatEstimate("bytes", ofReading(reading, kind));
  const share = formatPercent(reading.live_bytes > 0 ? reading.resident_bytes / reading.live_bytes : 0);
  const which = readings.length > 1 ? `Of ${readings.length} readings, the one at` : "As of";
  const swapped = reading.swapped_bytes > 0 ? `, ${text("swapped")} swapped out` : "";
  return (
    `${which} ${formatSpan(reading.time_s)} after the start: of ${text("live")} live, ${text("resident")} were resident ` +
    `(${share})${swapped}, and ${text("untouched")} on pages that were never touched, or given back.`
  );
}

export function Residency({ look }: ViewProps) {
  const { profile } = look;
  const readings = profile.header.residency;
  const fullest = useMemo(() => fullestReading(readings), [readings]);
  const bands = useMemo(() => residencyBands(readings), [readings]);
  const [chosen, choose] = useState<number | null>(null);
  const at = Math.min(chosen ?? fullest, readings.length - 1);
  const rows = useMemo(() => makeRows(look, at), [profile, at]);
  const columns = useMemo(() => makeColumns(look, rows), [profile, rows]);
  return (
    <section id="residency" class="residency" aria-label="Live memory that is not resident">
      <h2>Live memory that is not resident</h2>
      {readings.length > 1 && (
        <Chart title="Live memory over time" readings={readings} bands={bands} at={at} choose={choose} />
      )}
      <p class="dim" data-seconds={readings[at].time_s}>
        {describe(look, at)}
      </p>
      <Table
        look={look}
        id="residency-table"
        label="Sites of which a part is not resident"
        rows={rows}
        count={rows.items.length}
        columns={columns}
        lines={2}
        usualSort="-untouched"
        matches={(test) => {
          const passes = functionTest(profile, test);
          return (row) => passes(rows.index[row]);
        }}
        rowKey={(row) => String(rows.items[row].node)}
        functionOf={(row) => rows.index[row]}
        detail={(row) => (
          <>
            <Actions look={look} index={rows.index[row]} node={rows.items[row].node} />
            <Stack look={look} node={rows.items[row].node} />
          </>
        )}
        empty="All of what was live was resident."
      />
    </section>
  );
}
