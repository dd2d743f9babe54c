// SPDX-License-Identifier: MIT
// flame.tsx - the flame graph: where memory is allocated.
//
// scene.ts decides what is drawn, canvas.ts draws it, and drawing.tsx handles input.

import { useRef } from "preact/hooks";
import type { Look, ViewProps } from "../../look";
import { formatChange, formatChangeEstimate, formatEstimate, formatValue } from "../../model/figures/format";
import { metricInfo, metricTitle } from "../../model/figures/metric";
import { boxValue, keyName } from "../../model/flame/tree";
import { Drawing } from "./drawing";
import { Empty, FewSamples } from "./empty";
import { useParts, useSubject, type Part } from "./scene";
import { showable } from "./text";
import { Found, Tools, useDirection } from "./tools";
import "./flame.css";

/** During a search, the total of the matches replaces the total. */
function Title({ look, part, searched }: { look: Look; part: Part; searched: boolean }) {
  const { state, profile, totals, dataset } = look;
  const { key, unit } = metricInfo(state.metric);
  const write = part.tree.widths === "value" ? formatEstimate : formatChangeEstimate;
  const metric = metricTitle(profile.header, state.metric, dataset.kind === "interval");
  if (state.sandwich !== "") {
    const through = part.tree.widths === "value" ? formatValue : formatChange;
    return (
      <h2>
        Callers and callees of {showable(keyName(profile, part.tree.key[0]))}{" "}
        <span class="dim">
          {metric}, {through(unit, boxValue(part.tree, 0))} through it; the tables show all stacks
        </span>
      </h2>
    );
  }
  return (
    <h2>
      Flame graph{" "}
      <span class="dim">
        {metric}
        {!searched && `, ${write(unit, totals[key])}`}
      </span>
    </h2>
  );
}

export function Flame({ look }: ViewProps) {
  const subject = useSubject(look);
  const [direction, choose] = useDirection();
  const parts = useParts(look, subject, direction);
  const walk = useRef<(by: 1 | -1) => void>(() => {});
  const last = parts[parts.length - 1];
  const empty = !(last.tree.size[0] > 0);
  const found = empty ? null : parts[0].matches;
  return (
    <section class="card flame" aria-label="Flame graph">
      <header>
        <div class="flame-title">
          <Title look={look} part={last} searched={found !== null} />
          {found && <Found look={look} part={parts[0]} matches={found} walk={(by) => walk.current(by)} />}
        </div>
        <Tools look={look} parts={empty ? [] : parts} direction={direction} choose={choose} />
      </header>
      {empty ? <Empty look={look} /> : <FewSamples look={look} />}
      {!empty && <Drawing look={look} subject={subject} parts={parts} walk={walk} />}
    </section>
  );
}
