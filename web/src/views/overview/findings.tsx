// SPDX-License-Identifier: MIT
// findings.tsx - "What stands out": findings with their evidence, the most important first; for two runs, the changes
// that are more than noise. A function's name is a button that highlights it in every view.

import { useMemo } from "preact/hooks";
import type { Advice, Change, Header, MetricKey } from "../../data/header";
import type { Look, ViewProps } from "../../look";
import { findFindings, type Finding } from "../../model/overview/findings";
import { formatBytes, formatChangeEstimate, formatCount, formatEstimate } from "../../model/figures/format";
import { METRICS, metricInfo, metricTitle, type Metric, type MetricInfo } from "../../model/figures/metric";
import { ownNodeOf, placeLocation, viaAt } from "../../model/tables/stacks";
import { usePainted } from "../tables/lazy";

const MOST = 5;

/** Another word for a kind whose own name is a verdict: the verdict follows in the text, with its evidence. */
const KIND_WORDS: Record<string, string> = { leak: "grows" };

/** The explanation of each kind of advice. */
const KIND_TITLES: Record<string, string> = {
  leak: "live bytes that keep growing",
  growth: "memory that grew until the peak and was freed in the end",
  reserve: "containers that grow by realloc",
  reuse: "mostly temporary allocations",
  pool: "many equal small blocks",
  slack: "sizes that allocators round up",
  fragmentation: "memory that is resident and not in use",
  outside: "memory that does not come from malloc",
};

const NAME_MOST = 120;
const TEXT_MOST = 800;

/** Names may have any length, and headlines contain names. */
function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A name that allows line breaks only between its parts. */
function Parts({ name }: { name: string }) {
  const parts = cut(name, NAME_MOST).split(/(?<=::|[<,(/])/);
  return <>{parts.map((part, index) => (index > 0 ? [<wbr />, part] : part))}</>;
}

interface NameProps {
  look: Look;
  function: number;
  name: string;
  metric: Metric;
}

function FunctionButton({ look, function: index, name, metric }: NameProps) {
  const key = look.profile.functionKey(index);
  const picked = look.state.picked === key;
  return (
    <button
      type="button"
      class="function"
      aria-pressed={picked}
      title={`${picked ? "Highlighted" : "Highlight"} in every view`}
      onClick={() => look.set(picked ? { picked: "" } : { picked: key, metric })}
    >
      <Parts name={name} />
    </button>
  );
}

/** The library function that was called: it distinguishes findings about the same function. */
function Via({ name }: { name: string }) {
  return name === "" ? null : <span class="dim via">→{"\u00a0"}<Parts name={name} /> </span>;
}

/** Advice about leaks ends with a command; the page shows a button to its own tab instead. */
const LEAKS_ELSEWHERE = /; plimsoll report --leaks shows (when they were made)$/;

function describeGain(advice: Advice): string {
  const parts: string[] = [];
  if (advice.gain_bytes > 0) parts.push(formatBytes(advice.gain_bytes));
  if (advice.gain_calls > 0) parts.push(`${formatCount(advice.gain_calls)} calls`);
  return parts.length ? `saves at least ${parts.join(", ")}` : "";
}

function LeaksButton({ look, what }: { look: Look; what: string }) {
  const show = () => {
    look.set({ tab: "leaks", sort: "", columns: "", filter: "" });
    document.getElementById("tab-leaks")?.focus();
  };
  return (
    <button type="button" class="function" onClick={show}>
      {what}
    </button>
  );
}

function Consequence({ look, advice }: { look: Look; advice: Advice }) {
  const gain = describeGain(advice);
  const [, elsewhere] = LEAKS_ELSEWHERE.exec(advice.action) ?? [];
  return (
    <>
      <p>
        <span aria-hidden="true">→ </span>
        {cut(advice.action.replace(LEAKS_ELSEWHERE, ""), TEXT_MOST)}
        {elsewhere && (
          <>
            : <LeaksButton look={look} what={elsewhere} />
          </>
        )}
        {gain && <span class="dim"> ({gain})</span>}
      </p>
      <details>
        <summary>evidence</summary>
        <p>{cut(advice.evidence, TEXT_MOST)}</p>
      </details>
    </>
  );
}

function FindingItem({ look, finding }: { look: Look; finding: Finding }) {
  const { kind, name, place, via, caller, headline, advice, metric } = finding;
  return (
    <li data-kind={kind}>
      <p>
        <span class="kind" title={KIND_TITLES[kind] ?? metricInfo(metric).help}>
          {KIND_WORDS[kind] ?? kind}
        </span>{" "}
        {finding.function !== null ? (
          <FunctionButton look={look} function={finding.function} name={name} metric={metric} />
        ) : (
          <strong>
            <Parts name={name} />
          </strong>
        )}{" "}
        {place && <span class="dim">({place}) </span>}
        <Via name={via} />
        {caller && <span class="dim">{cut(caller.trim(), TEXT_MOST)} </span>}
        {cut(headline, TEXT_MOST)}
      </p>
      {advice && <Consequence look={look} advice={advice} />}
    </li>
  );
}

function describeQuiet(header: Header): string {
  const { sampling, extent, totals } = header;
  if (!(totals.alloc_objects.value > 0)) return "Nothing was allocated.";
  if (!sampling.exact && sampling.exact_calls === 0 && sampling.samples < 100)
    return "There are too few samples for any finding; plimsoll run --exact counts every allocation.";
  if (extent.merged)
    return "A merged profile has no timeline, so Plimsoll does not look for growth and leaks.";
  return (
    "No function has a large share of any metric, and no known pattern (growth, reallocs, temporaries, many small " +
    "blocks, slack, fragmentation) is large enough to matter."
  );
}

function FoundList({ look }: ViewProps) {
  const { profile } = look;
  const findings = useMemo(() => findFindings(profile), [profile]);
  if (findings.length === 0)
    return (
      <p>
        Nothing stands out. <span class="dim">{describeQuiet(profile.header)}</span>
      </p>
    );
  const items = findings.map((finding, index) => <FindingItem key={index} look={look} finding={finding} />);
  return (
    <>
      {(look.dataset.kind === "interval" || look.narrowed) && <p class="dim">In the whole run:</p>}
      <ol>{items.slice(0, MOST)}</ol>
      {items.length > MOST && (
        <details>
          <summary>{items.length - MOST} more</summary>
          <ol start={MOST + 1}>{items.slice(MOST)}</ol>
        </details>
      )}
    </>
  );
}

function FindingList({ look }: ViewProps) {
  return usePainted(look.profile.sites.count) ? <FoundList look={look} /> : <p class="dim">Computing…</p>;
}

// --- of two runs ---

function ChangeItem({ look, change, info }: { look: Look; change: Change; info: MetricInfo }) {
  const { profile } = look;
  const place = profile.nodes.place[ownNodeOf(profile, change.node)];
  const index = profile.places.function[place];
  const location = placeLocation(profile, place);
  return (
    <li data-kind={change.what}>
      <p>
        <span class={`kind ${change.change.value > 0 ? "grew" : "shrank"}`}>{change.what}</span>{" "}
        <strong>{formatChangeEstimate(info.unit, change.change)}</strong>{" "}
        <FunctionButton look={look} function={index} name={profile.functionName(index)} metric={info.metric} />{" "}
        {location && <span class="dim">({location}) </span>}
        <Via name={viaAt(profile, change.node)} />
      </p>
      <p class="dim">
        {formatEstimate(info.unit, change.before)} → {formatEstimate(info.unit, change.after)}
        {change.moved && "; its lines have moved"}
      </p>
    </li>
  );
}

/** The chosen metric if it was compared by stack; else the first one that was. */
function comparedMetric(look: Look): MetricInfo | null {
  const changes: Partial<Record<MetricKey, unknown>> = look.profile.header.diff?.changes ?? {};
  const shown = metricInfo(look.state.metric);
  return changes[shown.key] ? shown : (METRICS.find((info) => changes[info.key]) ?? null);
}

function ChangeList({ look }: ViewProps) {
  const { header } = look.profile;
  const info = comparedMetric(look);
  const changes = info && header.diff?.changes[info.key];
  if (!info || !changes) return <p>Nothing was compared.</p>;
  const title = metricTitle(header, info.metric).toLowerCase();
  const shown = changes.items.filter((item) => item.significant).slice(0, MOST);
  const compared = `${formatCount(changes.compared)} stack${changes.compared === 1 ? "" : "s"} compared by ${title}`;
  if (shown.length === 0)
    return (
      <p>
        Nothing stands out. <span class="dim">{compared}: none changed by more than noise.</span>
      </p>
    );
  return (
    <>
      <p class="dim">{`${compared}: ${formatCount(changes.significant)} changed significantly`}</p>
      <ol>
        {shown.map((change) => (
          <ChangeItem key={change.node} look={look} change={change} info={info} />
        ))}
      </ol>
      {changes.significant > shown.length && (
        <button type="button" onClick={() => look.set({ tab: "changes", sort: "", columns: "", filter: "" })}>
          All changes
        </button>
      )}
    </>
  );
}

export function Findings({ look }: ViewProps) {
  return (
    <section class="card findings">
      <h2>What stands out</h2>
      {look.profile.header.diff ? <ChangeList look={look} /> : <FindingList look={look} />}
    </section>
  );
}
