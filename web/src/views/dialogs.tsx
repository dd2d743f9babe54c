// SPDX-License-Identifier: MIT
// dialogs.tsx - what opens over the page: about it and its licences, and the help with keys and the meaning of figures.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Header } from "../data/header";
import type { Look } from "../look";
import { knownMetrics, metricTitle } from "../model/figures/metric";

export function Box({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="box"
      aria-label={title}
      onClose={close}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="icon" aria-label="Close" onClick={() => dialog.current?.close()}>
          <span aria-hidden="true">×</span>
        </button>
      </header>
      {children}
    </dialog>
  );
}

export interface BoxProps {
  look: Look;
  close: () => void;
}

/** A served page may request data from its server; a file may request nothing. */
function describeNetwork(served: boolean): string {
  if (served)
    return (
      "It talks only to the plimsoll process that serves it: its content security policy forbids everything else."
    );
  return "It makes no network requests: everything is in this one file, and its content security policy forbids them.";
}

function Licence({ name, version, licence, text }: (typeof LICENCES)[number]) {
  return (
    <details>
      <summary>
        {name} {version} <span class="dim">({licence})</span>
      </summary>
      <pre>{text}</pre>
    </details>
  );
}

export function About({ look, close }: BoxProps) {
  const { page } = look.profile.header;
  const served = location.protocol.startsWith("http");
  return (
    <Box title="About this page" close={close}>
      <p>
        Plimsoll {page.version} is a heap profiler for Linux: it shows which code allocates memory, which code holds it,
        and how accurate the figures are. This page shows the profile <strong>{page.subject}</strong>.
      </p>
      <p>
        {describeNetwork(served)} Your selection stays in this browser; a link contains the selection, not the profile.
      </p>
      <h3>Licences</h3>
      <p>Plimsoll is free software under the MIT licence. This page contains:</p>
      {LICENCES.map((each) => (
        <Licence key={each.name} {...each} />
      ))}
    </Box>
  );
}

const KEYS: readonly { keys: string[]; text: string }[] = [
  { keys: ["/"], text: "search functions with a regular expression" },
  { keys: ["n", "N"], text: "go to the next or previous match in the graph" },
  { keys: ["esc"], text: "leave the search, the zoom, the interval" },
  { keys: ["←", "↑", "→", "↓"], text: "move in the graph; in the timeline, move the cursor (with shift, faster)" },
  { keys: ["Enter"], text: "zoom to the focused frame; in the search box, go to the next match" },
  { keys: ["Home"], text: "go to the root of the graph" },
  { keys: [".", "right click"], text: "open the menu of a frame: callers and callees, focus, hide, copy" },
  { keys: ["drag"], text: "in the timeline: choose an interval of the run" },
  { keys: ["m"], text: "choose the metric" },
  { keys: ["g"], text: "group by stack, tag or thread" },
  { keys: ["?"], text: "open this help" },
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
  { name: "Icicle, Flame", text: "outermost callers at the top, or at the bottom; a frame is as wide as its total" },
  { name: "Inverted", text: "begins with the functions that allocate; their callers follow" },
  { name: "All frames", text: "also shows hidden frames: allocators, and code that starts programs and threads" },
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
      {knownMetrics(header).map((info) => (
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
    ? `In this profile everything was counted (${method}); only small sites in a time interval have estimates.`
    : `In this profile figures are estimated from samples (${method}).`;
}

export function Help({ look, close }: BoxProps) {
  const { header } = look.profile;
  return (
    <Box title="Help" close={close}>
      <p>
        All views show the same selection: the interval chosen in the timeline, the metric, the grouping, and the
        focused and hidden functions. Click a figure at the top to choose its metric.
      </p>
      <h3>Keys</h3>
      <Keys />
      <h3>The graph</h3>
      <Graph />
      <h3>Metrics</h3>
      <Metrics header={header} />
      <h3>What ± means</h3>
      <p>
        ± = 95% confidence: a figure with ± is an estimate, and the true value is between value − error and value +
        error in 95 of 100 cases. A figure without ± is exact. {describeFigures(header)}
      </p>
      <p>
        A peak <em>to within</em> some bytes may have been larger by that much: the heap is not measured at every
        allocation, so the timeline may exceed the peak.
      </p>
      <h3>Share a view</h3>
      <p>
        The address of the page contains the selection: copy it or bookmark it to open the same view of the same file
        again. The browser's back button goes back one step.
      </p>
    </Box>
  );
}
