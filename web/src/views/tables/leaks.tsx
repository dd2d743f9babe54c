// SPDX-License-Identifier: MIT
// leaks.tsx - memory never freed, grouped by verdict: "leak" is a judgement, and is shown with its evidence.

import { useMemo, useState } from "preact/hooks";
import type { Header, Leak, Leaks as LeaksInfo, Verdict } from "../../data/header";
import type { Profile } from "../../data/profile";
import type { Look, ViewProps } from "../../look";
import { formatBytes, formatCount, formatEstimate, formatSpan, plural } from "../../model/figures/format";
import { ageScale, sumOf, survivorHeights, survivorsAt, type AgeClass } from "../../model/tables/histograms";
import { callersAt, ownNodeOf, placeOrigin, viaAt } from "../../model/tables/stacks";
import { Figure, FunctionName } from "./cells";
import { Actions, Stack } from "./stack";
import "./leaks.css";

const FIRST = 20; /* of each kind; a button shows more */

const KINDS: readonly { verdict: Verdict; title: string; what: string }[] = [
  { verdict: "suspected", title: "Suspected leaks", what: "old blocks survive and new ones accumulate" },
  { verdict: "unknown", title: "Cannot tell", what: "the profile does not show whether they grow, and each says why" },
  { verdict: "stopped", title: "Stopped growing", what: "grew at first, but no longer at the end" },
  { verdict: "once", title: "Once, or at the start", what: "probably kept on purpose" },
  { verdict: "young", title: "Young", what: "allocated shortly before the end: probably in use" },
];

const SAID_ABOVE = /^suspected leak: /;

const WORDS: Record<LeaksInfo["ending"], string> = {
  running: "live",
  exited: "never freed",
  killed: "live when it ended",
};

/** A leak, and how many of its blocks were made in each age class. */
interface Listed {
  leak: Leak;
  number: number;
  made: Float64Array;
}

/* --- when they were made --- */

const BAR_WIDTH = 9;
const STEP_HEIGHT = 3;
const CHART_HEIGHT = 8 * STEP_HEIGHT;

/** A bar for each age class, the oldest first; its height is the number of blocks that are left. */
function Made({ made, classes }: { made: Float64Array; classes: AgeClass[] }) {
  const heights = survivorHeights(made, classes.map(({ bucket }) => bucket));
  const words = classes.map(({ bucket, since, until }) => {
    const count = formatCount(made[bucket]);
    return `${formatSpan(since)} to ${formatSpan(until)}: ${count} block${plural(count)}`;
  });
  const width = BAR_WIDTH * classes.length;
  return (
    <svg
      class="leak-made"
      viewBox={`0 0 ${width} ${CHART_HEIGHT}`}
      width={width}
      height={CHART_HEIGHT}
      role="img"
      data-heights={heights.join(",")}
      aria-label={words.join("; ")}
    >
      {heights.map((steps, i) => {
        const height = Math.max(1, steps * STEP_HEIGHT);
        const place = { x: BAR_WIDTH * i, y: CHART_HEIGHT - height, width: BAR_WIDTH - 2, height };
        return (
          <rect key={i} {...place} class={steps > 0 ? "" : "none"}>
            <title>{words[i]}</title>
          </rect>
        );
      })}
    </svg>
  );
}

/* --- the list --- */

function Site({ look, node, place }: { look: Look; node: number; place: number }) {
  const { profile } = look;
  const index = profile.places.function[place];
  const via = viaAt(profile, node);
  return (
    <>
      <button type="button" class="leak-name" onClick={() => look.set({ picked: profile.functionKey(index) })}>
        <FunctionName profile={profile} index={index} />
      </button>{" "}
      {via !== "" && <span class="dim">→ {via} </span>}
      <span class="dim">{placeOrigin(profile, place)}</span>
    </>
  );
}

function LeakStack({ look, leak, index, columns }: { look: Look; leak: Leak; index: number; columns: number }) {
  return (
    <tr class="leak-stack">
      <td colSpan={columns}>
        <Actions look={look} index={index} node={leak.node} />
        {leak.stacks > 1 && <p class="dim">{formatCount(leak.stacks)} stacks look like this; one of them:</p>}
        <Stack look={look} node={leak.node} />
      </td>
    </tr>
  );
}

interface ItemProps {
  look: Look;
  item: Listed;
  classes: AgeClass[];
}

/** If ages are unknown, there is no column for them. */
function columnsFor(classes: AgeClass[]): number {
  return classes.length > 0 ? 4 : 3;
}

function Item({ look, item, classes }: ItemProps) {
  const { leak, number, made } = item;
  const [open, setOpen] = useState(false);
  const { profile } = look;
  const place = profile.nodes.place[ownNodeOf(profile, leak.node)];
  const index = profile.places.function[place];
  const picked = look.state.picked === profile.functionKey(index);
  const action = open ? "Fold the stack" : "Unfold the stack";
  const callers = callersAt(profile, leak.node);
  return (
    <>
      <tr data-row={number} class={picked ? "picked" : ""}>
        <td class="numeric"><Figure unit="bytes" estimate={leak.bytes} change={false} /></td>
        <td class="numeric" data-column="blocks" data-noun={`block${plural(formatEstimate("blocks", leak.blocks))}`}>
          <Figure unit="blocks" estimate={leak.blocks} change={false} />
        </td>
        {classes.length > 0 && <td class="made">{sumOf(made) > 0 && <Made made={made} classes={classes} />}</td>}
        <th scope="row">
          <button type="button" class="unfold" aria-expanded={open} aria-label={action} onClick={() => setOpen(!open)}>
            <span aria-hidden="true">{open ? "▾" : "▸"}</span>
          </button>
          <Site look={look} node={leak.node} place={place} />
          <p class="evidence">{leak.evidence.replace(SAID_ABOVE, "")}</p>
          {callers !== "" && <p class="callers dim">{callers}</p>}
        </th>
      </tr>
      {open && <LeakStack look={look} leak={leak} index={index} columns={columnsFor(classes)} />}
    </>
  );
}

interface KindProps {
  look: Look;
  kind: (typeof KINDS)[number];
  items: Listed[];
  classes: AgeClass[];
}

function Kind({ look, kind, items, classes }: KindProps) {
  const [shown, setShown] = useState(FIRST);
  const bytes = formatBytes(items.reduce((sum, { leak }) => sum + leak.bytes.value, 0));
  const sites = `${formatCount(items.length)} site${plural(formatCount(items.length))}`;
  return (
    <tbody data-verdict={kind.verdict} class={kind.verdict === "suspected" ? "suspected" : ""}>
      <tr>
        <th scope="rowgroup" colSpan={columnsFor(classes)} class="leak-kind">
          {kind.title}{" "}
          <span class="dim">
            · {bytes} at {sites}: {kind.what}
          </span>
        </th>
      </tr>
      {items.slice(0, shown).map((item) => (
        <Item key={item.number} look={look} item={item} classes={classes} />
      ))}
      {items.length > shown && (
        <tr>
          <td colSpan={columnsFor(classes)}>
            <button type="button" onClick={() => setShown(shown + 10 * FIRST)}>
              {formatCount(items.length - shown)} more
            </button>
          </td>
        </tr>
      )}
    </tbody>
  );
}

function conclude(leaks: LeaksInfo): string {
  const suspected = leaks.items.filter((item) => item.verdict === "suspected").length;
  const unknown = leaks.items.filter((item) => item.verdict === "unknown").length;
  const all = leaks.items.length;
  if (suspected > 0) return "";
  if (unknown === all) return " The profile does not show whether any of it grows.";
  if (unknown > 0) return ` No leak is suspected, but ${unknown} of ${all} sites cannot be judged.`;
  return " No leak is suspected: no site shows steady growth.";
}

/** A summary of the leaks, in a sentence or two. */
function summarize({ totals }: Header, leaks: LeaksInfo): string {
  const bytes = formatEstimate("bytes", totals.inuse_space);
  const blocks = formatEstimate("blocks", totals.inuse_objects);
  if (leaks.items.length > 0)
    return `${bytes} in ${blocks} block${plural(blocks)} ${WORDS[leaks.ending]}.${conclude(leaks)}`;
  if (leaks.suppressed.stacks > 0)
    return `${bytes} in ${blocks} block${plural(blocks)} ${WORDS[leaks.ending]}, all suppressed.`;
  return totals.alloc_objects.value > 0
    ? "Nothing is left: every recorded block was freed."
    : "Nothing was allocated, so nothing is left.";
}

/** The summary, what is suppressed, and which part of the run the figures are of. */
function Summary({ look, leaks }: { look: Look; leaks: LeaksInfo }) {
  const { suppressed } = leaks;
  const blocks = formatCount(suppressed.blocks);
  return (
    <div class="leak-summary">
      <p>{summarize(look.profile.header, leaks)}</p>
      {suppressed.stacks > 0 && (
        <p class="dim">
          {formatBytes(suppressed.bytes)} in {blocks} block{plural(blocks)} of that matches suppressions: known not to matter.{" "}
          <code>plimsoll report --leaks --no-default-suppressions</code> shows them.
        </p>
      )}
      {(look.narrowed || look.dataset.kind === "interval") && (
        <p class="dim">These figures are for the whole run: leaks are not judged for a part of it.</p>
      )}
    </div>
  );
}

function listLeaks(profile: Profile): { items: Listed[]; classes: AgeClass[] } {
  const leaks = profile.header.leaks?.items ?? [];
  const made = survivorsAt(profile, leaks.map(({ node }) => node));
  const classes = ageScale(profile.header);
  const known = classes.length > 1 && made.some((counts) => sumOf(counts) > 0);
  return {
    items: leaks.map((leak, number) => ({ leak, number, made: made[number] })),
    classes: known ? classes : [],
  };
}

export function Leaks({ look }: ViewProps) {
  const { leaks } = look.profile.header;
  const { items, classes } = useMemo(() => listLeaks(look.profile), [look.profile]);
  if (!leaks)
    return (
      <p class="dim">
        Leaks are not judged in a comparison. The Changes tab compares live memory: choose the metric Live.
      </p>
    );
  const all = leaks.items.length + leaks.items_left_out;
  return (
    <div class="leaks">
      <Summary look={look} leaks={leaks} />
      {leaks.items.length > 0 && (
        <div class="leak-scroll">
          <table id="leaks-table" data-rows={all} data-shown={leaks.items.length}>
            <caption class="hidden">Memory never freed, by verdict</caption>
            <thead>
              <tr>
                <th scope="col" class="numeric" data-column="bytes">Bytes</th>
                <th scope="col" class="numeric" data-column="blocks">Blocks</th>
                {classes.length > 0 && <th scope="col" class="made" data-column="made">Allocated</th>}
                <th scope="col" data-column="site">Site</th>
              </tr>
            </thead>
            {KINDS.map((kind) => {
              const ones = items.filter(({ leak }) => leak.verdict === kind.verdict);
              if (ones.length === 0) return null;
              return <Kind key={kind.verdict} look={look} kind={kind} items={ones} classes={classes} />;
            })}
          </table>
        </div>
      )}
      {leaks.items_left_out > 0 && <p class="dim">{formatCount(leaks.items_left_out)} smaller items are not listed.</p>}
    </div>
  );
}
