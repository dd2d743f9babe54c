// SPDX-License-Identifier: MIT
// chart.tsx - amounts of memory over time, stacked. A click, or arrow keys, choose a reading.

import { formatBytes, formatSpan } from "../../model/figures/format";
import { nearestReading, type Band } from "../../model/memory/readings";
import "./memory.css";

const WIDTH = 1000; /* of the chart, in units of its own */
const HEIGHT = 200;

interface ChartProps {
  /** "RSS over time, in parts" */
  title: string;
  readings: readonly { time_s: number }[];
  bands: Band[];
  at: number;
  choose: (index: number) => void;
}

function bandPath(band: Band, x: (index: number) => number, y: (bytes: number) => number): string {
  const above = band.to.map((bytes, i) => `${x(i)},${y(bytes)}`);
  const below = band.from.map((bytes, i) => `${x(i)},${y(bytes)}`).reverse();
  return `M${[...above, ...below].join("L")}Z`;
}

export function Chart({ title, readings, bands, at, choose }: ChartProps) {
  const top = bands[bands.length - 1]?.to ?? [];
  const most = top.reduce((largest, bytes) => Math.max(largest, bytes), 1);
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
        tabindex={0} /* as SVG spells it: otherwise it cannot have the focus */
        aria-label={`${title}; arrow keys choose a reading`}
        aria-valuemin={0}
        aria-valuemax={readings.length - 1}
        aria-valuenow={at}
        aria-valuetext={`${formatSpan(readings[at].time_s)}: ${formatBytes(top[at] ?? 0)}`}
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
