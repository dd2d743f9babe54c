// SPDX-License-Identifier: MIT
// help.tsx - how to use this page: keys, what metrics mean, what ± means, and how to show somebody else what one sees.

import type { Header } from "../data/header";
import { METRICS, metricTitle } from "../model/metric";
import type { BoxProps } from "./about";
import { Box } from "./box";

const KEYS: readonly { keys: string[]; text: string }[] = [
  { keys: ["/"], text: "search functions, by a regular expression" },
  { keys: ["n", "N"], text: "to the next and the previous match, in the graph" },
  { keys: ["esc"], text: "back out: of the search, the zoom, the interval" },
  { keys: ["←", "↑", "→", "↓"], text: "walk the graph; in the timeline, move the cursor (with shift, faster)" },
  { keys: ["Enter"], text: "zoom to the frame that has the focus; in the search, to the next match" },
  { keys: ["Home"], text: "to the root of the graph" },
  { keys: [".", "right click"], text: "what can be done with a frame: callers and callees, focus, hide, copy" },
  { keys: ["drag"], text: "over the timeline: look at that part of the run alone" },
  { keys: ["m"], text: "choose the metric" },
  { keys: ["g"], text: "group by stack, by tag, by thread" },
  { keys: ["?"], text: "this box" },
];

function Keys() {
  return (
    <dl class="pairs">
      {KEYS.map(({ keys, text }) => (
        <>
          <dt>
            {keys.map((key) => (
              <>
                <kbd>{key}</kbd>{" "}
              </>
            ))}
          </dt>
          <dd>{text}</dd>
        </>
      ))}
    </dl>
  );
}

const GRAPH: readonly { name: string; text: string }[] = [
  { name: "Icicle, Flame", text: "from the outermost callers down, or up; a frame is as wide as what it answers for" },
  { name: "Inverted", text: "begins with the functions that allocate; their callers follow" },
  { name: "All frames", text: "shows what is usually folded: allocators, and what starts programs and threads" },
  { name: "Colour", text: "by module, by package (namespace or directory), or by tag: the same in every run" },
];

function Graph() {
  return (
    <dl class="pairs">
      {GRAPH.map(({ name, text }) => (
        <>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </>
      ))}
    </dl>
  );
}

function Metrics({ header }: { header: Header }) {
  return (
    <dl class="pairs">
      {METRICS.map((info) => (
        <>
          <dt>{metricTitle(header, info.metric)}</dt>
          <dd>{header.metric_help[info.key] ?? info.help}</dd>
        </>
      ))}
    </dl>
  );
}

function describeFigures(header: Header): string {
  const { exact, method } = header.sampling;
  return exact
    ? `In this profile everything was counted (${method}); only what small sites did in a part of the run is estimated.`
    : `In this profile figures come from samples (${method}).`;
}

export function Help({ look, close }: BoxProps) {
  const { header } = look.profile;
  return (
    <Box title="Help" close={close}>
      <p>
        Everything on the page shows one selection: the interval chosen in the timeline, the metric, the grouping, and
        what was focused or hidden. Click a figure at the top to see who it is made of.
      </p>
      <h3>Keys</h3>
      <Keys />
      <h3>The graph</h3>
      <Graph />
      <h3>Metrics</h3>
      <Metrics header={header} />
      <h3>What ± means</h3>
      <p>
        A figure with ± is an estimate: the true one is between value − error and value + error in 95 of 100 cases. A
        figure without ± is exact. {describeFigures(header)}
      </p>
      <p>
        A peak <em>to within</em> some bytes may have been larger by as many: the heap is not looked at with every
        allocation, and a moment of the timeline may lie above the peak.
      </p>
      <h3>Show it to somebody</h3>
      <p>
        The address of the page holds the selection: copy it, or bookmark it, and the same view opens again, of the same
        file. The browser's back button goes back one step.
      </p>
    </Box>
  );
}
