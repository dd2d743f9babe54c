// SPDX-License-Identifier: MIT
// source.tsx - source lines that allocate, with their figures.

import { useMemo } from "preact/hooks";
import type { Snippet } from "../../data/header";
import type { Look, ViewProps } from "../../look";
import { formatChange, formatValue } from "../../model/figures/format";
import { isChange } from "../../model/figures/groups";
import { hasLine, linesOfFunction, sumLines, type Lines } from "../../model/tables/lines";
import { metricInfo, metricTitle } from "../../model/figures/metric";
import "./source.css";

const MOST = 12; /* snippets, if no function is picked */

/* --- choosing snippets --- */

function weigh(snippet: Snippet, lines: Lines): number {
  let sum = 0;
  for (let i = 0; i < snippet.lines.length; i++) sum += Math.abs(lines.own(snippet.file, snippet.first + i));
  return sum;
}

/** The snippets of the picked function, in order; without one, the heaviest snippets, heaviest first. */
function chooseSnippets(look: Look, lines: Lines): { snippets: Snippet[]; picked: number | undefined } {
  const { profile } = look;
  const { sources } = profile.header;
  const picked = profile.functionOfKey(look.state.picked);
  if (picked !== undefined) {
    const file = profile.text(profile.functions.source[picked]);
    const wanted = linesOfFunction(profile, picked);
    const found = sources.filter((snippet) => snippet.file === file && wanted.some((line) => hasLine(snippet, line)));
    return { snippets: found.sort((a, b) => a.first - b.first), picked };
  }
  const weight = new Map(sources.map((snippet) => [snippet, weigh(snippet, lines)]));
  const heaviest = [...sources].sort((a, b) => (weight.get(b) ?? 0) - (weight.get(a) ?? 0));
  const some = heaviest.filter((snippet) => (weight.get(snippet) ?? 0) > 0);
  return { snippets: (some.length > 0 ? some : heaviest).slice(0, MOST), picked };
}

/** The line with the largest figure of its own, else with its callees; the first line if all are 0. */
function heaviestLine(snippet: Snippet, lines: Lines): number {
  for (const of of [lines.own, lines.through]) {
    let [line, most] = [0, 0];
    for (let i = snippet.first; i < snippet.first + snippet.lines.length; i++)
      if (Math.abs(of(snippet.file, i)) > most) [line, most] = [i, Math.abs(of(snippet.file, i))];
    if (line > 0) return line;
  }
  return snippet.first;
}

/* --- drawing --- */

function shownFile(look: Look, file: string): string {
  const { profile } = look;
  const { functions } = profile;
  for (let i = 0; i < functions.count; i++)
    if (profile.text(functions.source[i]) === file) return profile.text(functions.file[i]) || file;
  return file;
}

function Line({ look, lines, snippet, number }: { look: Look; lines: Lines; snippet: Snippet; number: number }) {
  const { unit } = metricInfo(look.state.metric);
  const print = (value: number) =>
    isChange(look.dataset, look.state.metric) ? formatChange(unit, value) : formatValue(unit, value);
  const own = lines.own(snippet.file, number);
  const through = lines.through(snippet.file, number);
  return (
    <tr class={own !== 0 ? "allocates" : ""} data-line={number}>
      <td class="source-figure numeric" title="allocated here">{own !== 0 && print(own)}</td>
      <td class="source-figure numeric dim" title="allocated here or in callees">
        {through !== 0 && through !== own && print(through)}
      </td>
      <th scope="row">{number}</th>
      <td class="code"><code>{snippet.lines[number - snippet.first]}</code></td>
    </tr>
  );
}

function SnippetBox({ look, lines, snippet }: { look: Look; lines: Lines; snippet: Snippet }) {
  const file = useMemo(() => shownFile(look, snippet.file), [look.profile, snippet.file]);
  return (
    <section class="snippet" data-file={file}>
      <h3>
        {file}:{heaviestLine(snippet, lines)}
      </h3>
      {snippet.younger && (
        <p class="younger">This file is newer than the binary: lines may have moved.</p>
      )}
      <div class="snippet-scroll" tabIndex={0} role="group" aria-label={`Source of ${file}`}>
        <table>
          <thead>
            <tr>
              <th scope="col" class="source-figure">Here</th>
              <th scope="col" class="source-figure">Through here</th>
              <th scope="col">Line</th>
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {snippet.lines.map((_, i) => (
              <Line key={i} look={look} lines={lines} snippet={snippet} number={snippet.first + i} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Why there are no lines. */
function Nothing({ look, picked }: { look: Look; picked: number | undefined }) {
  if (picked === undefined) return <p class="dim">No source code could be read when this page was made.</p>;
  const { profile } = look;
  const name = profile.functionName(picked);
  const file = profile.text(profile.functions.file[picked]);
  if (file === "") return <p class="dim">The source file of {name} is unknown: there is no debug information.</p>;
  return (
    <p class="dim">
      This page has no lines of {name}: {file} was not found when the page was made, or other lines allocate more.
    </p>
  );
}

export function Source({ look }: ViewProps) {
  const { dataset, values, profile } = look;
  const lines = useMemo(() => sumLines(dataset, values), [dataset, values]);
  const { snippets, picked } = useMemo(() => chooseSnippets(look, lines), [lines, profile, look.state.picked]);
  const what = metricTitle(profile.header, look.state.metric, dataset.kind === "interval").toLowerCase();
  return (
    <div class="source" id="source-view" data-snippets={snippets.length}>
      <p class="source-head">
        {picked === undefined ? (
          <span class="dim">
            The lines with the largest figures ({what}). Pick a function in any view to see its source.
          </span>
        ) : (
          <>
            Lines of <strong>{profile.functionName(picked)}</strong>{" "}
            <button type="button" onClick={() => look.set({ picked: "" })}>All functions</button>
          </>
        )}
      </p>
      {snippets.length === 0 && <Nothing look={look} picked={picked} />}
      {snippets.map((snippet) => (
        <SnippetBox key={`${snippet.file}:${snippet.first}`} look={look} lines={lines} snippet={snippet} />
      ))}
    </div>
  );
}
