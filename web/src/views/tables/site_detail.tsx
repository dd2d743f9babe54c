// SPDX-License-Identifier: MIT
// site_detail.tsx - the unfolded details of a site: its stacks, one at a time, its sizes, its threads and tags.

import { useMemo, useState } from "preact/hooks";
import type { Look } from "../../look";
import { formatBytes, formatCount, formatValue, plural } from "../../model/figures/format";
import { metricInfo } from "../../model/figures/metric";
import { namesOf, sizesOf, stacksOf, type SiteRows } from "../../model/tables/sites";
import { Actions, Stack } from "./stack";

interface SiteProps {
  look: Look;
  rows: SiteRows;
  row: number;
}

const BAR_WIDTH = 8;
const CHART_HEIGHT = 24;

/** A small histogram of the sizes requested, and the same in words. */
function Sizes({ look, rows, row }: SiteProps) {
  const { counts, smallest, largest } = useMemo(() => sizesOf(rows, row), [rows, row]);
  const from = look.profile.header.scales.sizes_from;
  const first = counts.findIndex((count) => count > 0);
  if (first < 0) return null;
  const range = `Sizes from ${formatBytes(smallest)} to ${formatBytes(largest)}`;
  const most = counts.reduce((sum, count) => Math.max(sum, count), 0);
  const buckets = Array.from(counts.keys()).filter((bucket) => bucket >= first && from[bucket] <= largest);
  const words = (bucket: number) => `from ${formatBytes(from[bucket])}: ${formatCount(counts[bucket])} calls`;
  const width = BAR_WIDTH * buckets.length;
  const bar = (bucket: number, i: number) => {
    const height = Math.max(1, ((CHART_HEIGHT - 1) * counts[bucket]) / most);
    return (
      <rect key={bucket} x={BAR_WIDTH * i} width={BAR_WIDTH - 1} y={CHART_HEIGHT - height} height={height}>
        <title>{words(bucket)}</title>
      </rect>
    );
  };
  return (
    <figure class="site-sizes">
      <figcaption class="dim">{smallest < largest ? range : `All blocks: ${formatBytes(largest)}`}</figcaption>
      {buckets.length > 1 && (
        <svg
          viewBox={`0 0 ${width} ${CHART_HEIGHT}`}
          width={width}
          height={CHART_HEIGHT}
          role="img"
          aria-label={buckets.map(words).join("; ")}
        >
          {buckets.map(bar)}
        </svg>
      )}
    </figure>
  );
}

interface ChoiceProps {
  at: number;
  count: number;
  value: string;
  go: (to: number) => void;
}

/** Chooses one of the stacks that look the same. */
function StackChoice({ at, count, value, go }: ChoiceProps) {
  return (
    <div class="site-stacks">
      <button type="button" class="icon" aria-label="Previous stack" disabled={at === 0} onClick={() => go(at - 1)}>
        <span aria-hidden="true">‹</span>
      </button>
      <span role="status">
        stack {formatCount(at + 1)} of {formatCount(count)} that look like this: {value}
      </span>
      <button type="button" class="icon" aria-label="Next stack" disabled={at + 1 >= count} onClick={() => go(at + 1)}>
        <span aria-hidden="true">›</span>
      </button>
    </div>
  );
}

function Names({ title, names }: { title: string; names: string[] }) {
  const known = names.filter((name) => name !== "");
  if (known.length === 0) return null;
  return (
    <p class="dim site-names">
      {title}
      {plural(String(known.length))}: {known.join(", ")}
    </p>
  );
}

export function SiteDetail({ look, rows, row, index }: SiteProps & { index: number }) {
  const [which, setWhich] = useState(0);
  const { metric } = look.state;
  const stacks = useMemo(() => stacksOf(rows, row, metric), [rows, row, metric]);
  const at = Math.min(which, stacks.length - 1);
  const stack = stacks[at];
  if (!stack) return null;
  const value = formatValue(metricInfo(metric).unit, stack.value);
  return (
    <div class="site-detail">
      <Actions look={look} index={index} node={stack.node} />
      {stacks.length > 1 && <StackChoice at={at} count={stacks.length} value={value} go={setWhich} />}
      <Stack look={look} node={stack.node} />
      {look.dataset.kind !== "interval" && <Sizes look={look} rows={rows} row={row} />}
      <Names title="Thread" names={namesOf(rows, row, metric, "thread")} />
      <Names title="Tag" names={namesOf(rows, row, metric, "tag")} />
    </div>
  );
}
