// SPDX-License-Identifier: MIT
// memory.tsx - what RSS consisted of, and how much of what was live was resident: of each a chart over time, and a table
// of one reading, which the user chooses.

import { useMemo, useState } from "preact/hooks";
import type { MemoryReading } from "../../data/header";
import type { ViewProps } from "../../look";
import { formatBytes, formatPercent, formatSpan } from "../../model/figures/format";
import {
  bandsOf,
  largestReading,
  linesOf,
  rssOf,
  type MemoryLine,
} from "../../model/memory/readings";
import { BesideBar } from "../tables/cells";
import { Chart } from "./chart";
import { Residency } from "./residency";
import "./memory.css";

// --- the table ---

function Line({ line, rss, swapped }: { line: MemoryLine; rss: number; swapped: boolean }) {
  const bytes = (value: number) => (value > 0 ? formatBytes(value) : <span class="dim">-</span>);
  return (
    <tr class={`memory-${line.level}`}>
      <th scope="row">{line.title}</th>
      <td>
        <BesideBar value={line.resident} whole={rss} change={false}>
          {bytes(line.resident)}
        </BesideBar>
      </td>
      <td>{formatPercent(rss > 0 ? line.resident / rss : 0)}</td>
      <td>{bytes(line.virtual)}</td>
      <td>{bytes(line.pss)}</td>
      {swapped && <td>{bytes(line.swap)}</td>}
    </tr>
  );
}

function describe(reading: MemoryReading, readings: MemoryReading[]): string {
  const which = readings.length > 1 ? `Of ${readings.length} readings, the one at` : "As of";
  const live = reading.exact ? "live blocks were counted" : "live blocks are estimated";
  const unread = reading.unread ? "; its memory could not be read, so malloc's free memory is not known" : "";
  return `${which} ${formatSpan(reading.time_s)} after the start: ${live}${unread}.`;
}

function Parts({ readings }: { readings: MemoryReading[] }) {
  const bands = useMemo(() => bandsOf(readings), [readings]);
  const largest = useMemo(() => largestReading(readings), [readings]);
  const [chosen, choose] = useState<number | null>(null);
  const at = Math.min(chosen ?? largest, readings.length - 1);
  const reading = readings[at];
  const lines = linesOf(reading);
  const rss = rssOf(reading);
  const swapped = lines.some((line) => line.swap > 0);
  return (
    <>
      {readings.length > 1 && (
        <Chart title="RSS over time, in parts" readings={readings} bands={bands} at={at} choose={choose} />
      )}
      <p class="dim">{describe(reading, readings)}</p>
      <table id="memory-table">
        <thead>
          <tr>
            <th scope="col">What RSS consisted of</th>
            <th scope="col">Resident</th>
            <th scope="col">Share</th>
            <th scope="col">Virtual</th>
            <th scope="col" title="Pages that several processes share are divided among them">
              PSS
            </th>
            {swapped && <th scope="col">Swap</th>}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line key={line.title} line={line} rss={rss} swapped={swapped} />
          ))}
        </tbody>
      </table>
    </>
  );
}

export function Memory({ look }: ViewProps) {
  const { memory, residency } = look.profile.header;
  return (
    <>
      {memory.length > 0 && <Parts readings={memory} />}
      {residency.length > 0 && <Residency look={look} />}
    </>
  );
}
