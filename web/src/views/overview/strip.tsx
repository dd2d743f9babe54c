// SPDX-License-Identifier: MIT
// strip.tsx - the headline figures in one line. Those that are metrics are buttons that choose the metric.

import { useMemo } from "preact/hooks";
import type { ViewProps } from "../../look";
import { headlines, PART, type Headline } from "../../model/overview/headlines";
import { metricInfo, type Metric } from "../../model/figures/metric";
import "./overview.css";

/** A line may break only before ±. */
function Value({ text }: { text: string }) {
  const at = text.indexOf(" ±");
  if (at < 0) return <span>{text}</span>;
  return (
    <>
      <span>{text.slice(0, at)}</span> <span>{text.slice(at + 1)}</span>
    </>
  );
}

function Figure({ line }: { line: Headline }) {
  return (
    <>
      <span class="label">{line.label}</span>{" "}
      <strong>
        <Value text={line.value} />
      </strong>
      {line.note && <span class="note"> {line.note}</span>}
    </>
  );
}

function MetricButton({ line, metric, look }: { line: Headline; metric: Metric } & ViewProps) {
  const shown = look.state.metric === metric;
  return (
    <button
      type="button"
      data-metric={metric}
      data-value={look.totals[metricInfo(metric).key].value}
      aria-pressed={shown}
      title={line.help}
      onClick={() => look.set({ metric })}
    >
      <Figure line={line} />
    </button>
  );
}

export function Strip({ look }: ViewProps) {
  const { profile, dataset, included, narrowed, totals } = look;
  const lines = useMemo(() => headlines(look), [profile, dataset, included, narrowed, totals]);
  return (
    <section class="strip" aria-label="Headline figures">
      <ul>
        {lines.map((line) => (
          <li key={line.label}>
            {line.metric ? (
              <MetricButton line={line} metric={line.metric} look={look} />
            ) : (
              <div class={line.label === PART ? "plain part" : "plain"}>
                <Figure line={line} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
