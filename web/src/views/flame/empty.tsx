// SPDX-License-Identifier: MIT
// empty.tsx - the text in place of an empty graph, or above one with few samples, and what to do about it.

import type { Look } from "../../look";
import { formatCount, formatEstimate, formatSeconds, formatSetting, plural } from "../../model/figures/format";
import { knownMetrics, metricInfo, metricTitle } from "../../model/figures/metric";

const FEW_SAMPLES = 100;
const ROUGH = 0.25; /* of the total: its error */

interface Way {
  title: string;
  go: () => void;
}

/** Buttons for metrics that are not empty. */
function otherMetrics(look: Look): Way[] {
  const interval = look.dataset.kind === "interval";
  return knownMetrics(look.profile.header, interval)
    .filter(({ metric }) => metric !== look.state.metric)
    .filter(({ key }) => look.totals[key].value > 0)
    .slice(0, 3)
    .map(({ metric }) => ({
      title: metricTitle(look.profile.header, metric, interval),
      go: () => look.set({ metric, zoom: "" }),
    }));
}

function widen(look: Look): Way {
  const everything = { tag: null, thread: null, focus: [], hide: [], sandwich: "", zoom: "" };
  return { title: "Show everything", go: () => look.set(everything) };
}

function noSample(look: Look): string {
  const { sampling } = look.profile.header;
  const { alloc_objects: calls, alloc_space: bytes } = look.totals;
  return (
    `No sample: none of ${formatEstimate("calls", calls)} calls for ${formatEstimate("bytes", bytes)} was sampled, ` +
    `at a sampling interval of ${formatSetting(sampling.interval_bytes)}. ` +
    "Record with --exact, or with a smaller --sample, to see where they were made."
  );
}

function reason(look: Look): { text: string; ways: Way[] } {
  const { dataset, profile, totals, state } = look;
  const title = metricTitle(profile.header, state.metric, dataset.kind === "interval");
  const anything = profile.header.totals.alloc_objects.value > 0 || profile.header.extent.difference;
  if (state.sandwich !== "") return { text: "The function is not in the selection.", ways: [widen(look)] };
  if (!anything) return { text: "Nothing was allocated.", ways: [] };
  const others = otherMetrics(look);
  if (look.narrowed) return { text: `${title}: nothing in the selection.`, ways: [widen(look), ...others] };
  if (dataset.kind === "difference") return { text: `${title}: nothing in either profile.`, ways: others };
  if (dataset.kind === "interval") {
    const span = `${formatSeconds(dataset.since)} and ${formatSeconds(dataset.until)}`;
    const whole = { title: "The whole run", go: () => look.set({ since: null, until: null }) };
    return { text: `${title}: nothing between ${span}.`, ways: [whole, ...others] };
  }
  const { exact, samples } = profile.header.sampling;
  if (!exact && samples === 0) return { text: noSample(look), ways: [] };
  const { key, unit } = metricInfo(state.metric);
  const known = totals[key].high > 0;
  const what = known ? `${formatEstimate(unit, totals[key])}, but no sample has a stack for it` : "nothing";
  return { text: `${title}: ${what}.`, ways: others };
}

/** Shown instead of the graph. */
export function Empty({ look }: { look: Look }) {
  const { text, ways } = reason(look);
  return (
    <div class="flame-empty" id="flame-empty">
      <p>{text}</p>
      <div>
        {ways.map(({ title, go }) => (
          <button key={title} type="button" onClick={go}>
            {title}
          </button>
        ))}
      </div>
    </div>
  );
}

/** Above a graph with few samples. If calls were counted at first, the error decides whether they are too few. */
export function FewSamples({ look }: { look: Look }) {
  const { sampling } = look.profile.header;
  const { key } = metricInfo(look.state.metric);
  const samples = key.startsWith("inuse_") ? sampling.samples_live : sampling.samples;
  const { value, error } = look.totals[key];
  const counted = sampling.exact_calls > 0;
  const enough = counted ? error <= ROUGH * value : samples >= FEW_SAMPLES;
  if (sampling.exact || enough || look.dataset.kind === "difference") return null;
  const from = `${formatCount(samples)} sample${plural(formatCount(samples))}`;
  return (
    <p class="flame-few" id="flame-few">
      Drawn from {counted && "the allocations counted exactly, and "}
      {from}: widths are rough. Each figure's ± says how rough.
    </p>
  );
}
