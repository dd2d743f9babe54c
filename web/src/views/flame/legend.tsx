// SPDX-License-Identifier: MIT
// legend.tsx - the legend of the flame graph's colours.

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { Profile } from "../../data/profile";
import { css, legendOf, type Classes, type Scheme } from "../../model/flame/colours";
import type { Tree } from "../../model/flame/tree";
import type { Colouring } from "../../state";
import { showable } from "./text";

const MOST_ROWS = 7;
const STEPS = [-1, -0.66, -0.33, 0, 0.33, 0.66, 1];

export interface LegendProps {
  profile: Profile;
  tree: Tree;
  classes: Classes;
  scheme: Scheme;
  colouring: Colouring;
}

function Swatch({ colour }: { colour: string }) {
  return <span class="flame-swatch" aria-hidden="true" style={{ backgroundColor: colour }} />;
}

function Row({ colour, children }: { colour: string; children: ComponentChildren }) {
  return (
    <li>
      <Swatch colour={colour} />
      <span class="flame-legend-name">{children}</span>
    </li>
  );
}

/** Whether the profile, or one of the two compared, is sampled. */
function isSampled({ header: { diff, sampling } }: Profile): boolean {
  return diff ? !(diff.before.sampling.exact && diff.after.sampling.exact) : !sampling.exact;
}

function ChangeLegend({ profile, tree, scheme }: LegendProps) {
  const [less, more] = tree.widths === "change" ? ["less than before", "more than before"] : ["shrank", "grew"];
  return (
    <ul class="flame-legend" aria-label="Colours">
      <li>
        <span>− {less}</span>
        <span class="flame-steps">
          {STEPS.map((step) => (
            <Swatch key={step} colour={css(scheme.change(step))} />
          ))}
        </span>
        <span>{more} +</span>
      </li>
      {isSampled(profile) && <li class="dim">changes within noise are paler</li>}
    </ul>
  );
}

const PLAIN: Record<Colouring, string> = {
  module: "modules",
  language: "languages",
  package: "packages",
  tag: "tags",
};

export function Legend(props: LegendProps) {
  const { profile, tree, classes, scheme, colouring } = props;
  const { rows, others } = useMemo(() => legendOf(profile, tree, classes, MOST_ROWS), [tree, classes]);
  if (tree.widths !== "value") return <ChangeLegend {...props} />;
  return (
    <ul class="flame-legend" aria-label={`Colours: ${PLAIN[colouring]}`}>
      {rows.map(({ name, slot, pale }) => (
        <Row key={name} colour={css(scheme.fill(slot, pale))}>
          {showable(name)}
        </Row>
      ))}
      {others > 0 && (
        <li class="dim">
          and {others} {others === 1 ? PLAIN[colouring].replace(/s$/, "") : PLAIN[colouring]} more
        </li>
      )}
      {colouring !== "tag" && <li class="dim">library code is paler</li>}
    </ul>
  );
}
