// SPDX-License-Identifier: MIT
// memory.tsx - what RSS consisted of: a chart over time, and a table of one reading, which the user chooses.

import { useMemo, useState } from "preact/hooks";
import type { MemoryReading } from "../../data/header";
import type { ViewProps } from "../../look";
import { formatBytes, formatPercent, formatSpan } from "../../model/figures/format";
import {
  bandsOf,
  largestReading,
  linesOf,
  nearestReading,
  rssOf,
  type Band,
  type MemoryLine,
} from "../../model/memory/readings";
import { BesideBar } from "../tables/cells";
import "./memory.css";

const WIDTH = 1000; /* of the chart, in units of its own */
const HEIGHT = 200;

// --- the chart ---

interface ChartProps {
  readings: MemoryReading[];
  at: number;
  choose: (index: number) => void;
}

function bandPath(band: Band, x: (index: number) => number, y: (bytes: number) => number): string {
  const above = band.to.map((bytes, i) => `${x(i)},${y(bytes)}`);
  const below = band.from.map((bytes, i) => `${x(i)},${y(bytes)}`).reverse();
  return `M${[...above, ...below].join("L")}Z`;
}

function Chart({ readings, at, choose }: ChartProps) {
  const bands = useMemo(() => bandsOf(readings), [readings]);
  const most = Math.max(...readings.map(rssOf), 1);
  const first = readings[0].time_s;
  const span = readings[readings.length - 1].time_s - first || 1;
  const x = (index: number) => ((readings[index].time_s - first) / span) * WIDTH;
  const y = (bytes: number) => HEIGHT - (bytes / most) * HEIGHT;
  const point = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    choose(nearestReading(readings, first + ((event.clientX - box.left) / box.width) * span));
  };
  const walk = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    choose(Math.min(Math.max(at + step, 0), readings.length - 1));
    event.preventDefault();
  };
  return (
    <figure class="memory-chart">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="slider"
        tabIndex={0}
        aria-label="RSS over time, in parts; arrow keys choose a reading"
        aria-valuemin={0}
        aria-valuemax={readings.length - 1}
        aria-valuenow={at}
        aria-valuetext={`${formatSpan(readings[at].time_s)}: ${formatBytes(rssOf(readings[at]))}`}
        onClick={point}
        onKeyDown={walk}
      >
        {bands.map((band, i) => (
          <path key={band.title} d={bandPath(band, x, y)} style={{ fill: `var(--layer-${i % 8})` }}>
            <title>{band.title}</title>
          </path>
        ))}
        <line class="memory-at" x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT} />
      </svg>
      <figcaption>
        <span class="memory-scale">
          {formatSpan(first)} to {formatSpan(first + span)}, up to {formatBytes(most)}
        </span>
        {bands.map((band, i) => (
          <span key={band.title} class="memory-key">
            <i style={{ background: `var(--layer-${i % 8})` }} />
            {band.title} {formatBytes(band.to[at] - band.from[at])}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

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

export function Memory({ look }: ViewProps) {
  const readings = look.profile.header.memory;
  const largest = useMemo(() => largestReading(readings), [readings]);
  const [chosen, choose] = useState<number | null>(null);
  const at = Math.min(chosen ?? largest, readings.length - 1);
  const reading = readings[at];
  const lines = linesOf(reading);
  const rss = rssOf(reading);
  const swapped = lines.some((line) => line.swap > 0);
  return (
    <>
      {readings.length > 1 && <Chart readings={readings} at={at} choose={choose} />}
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
