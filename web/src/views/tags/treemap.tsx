// SPDX-License-Identifier: MIT
// treemap.tsx - a treemap: the area of a box is its figure, and each box is a button. The box under the pointer is
// described below the map.

import { hierarchy, treemap, treemapSquarify, type HierarchyRectangularNode } from "d3-hierarchy";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Box } from "../../model/tags/treemap";
import { css, SCHEMES } from "../../model/flame/colours";
import "./treemap.css";

export interface TreemapProps {
  /** The title of the map. */
  title: string;
  /** The boxes for an area of so many pixels. */
  boxes: (pixels: number) => Box;
  name: (box: Box) => string;
  /** The figure in short form. */
  figure: (box: Box) => string;
  /** A complete description. */
  describe: (box: Box) => string;
  /** As in the flame graph: the slot of its colour (null: neutral), and whether it is paler. */
  colour: (box: Box) => { slot: number | null; pale: boolean };
  /** Values may be negative: colours show whether a box grew or shrank. */
  signed: boolean;
  /** What a click does; undefined: nothing. */
  pick: (box: Box) => (() => void) | undefined;
  isPicked: (box: Box) => boolean;
}

type Placed = HierarchyRectangularNode<Box>;

const HEAD = 20; /* pixels above the boxes of a group, for its name */
const NAME_WIDTH = 34; /* pixels: narrower boxes have no name */
const NAME_HEIGHT = 15;
const BOTH_HEIGHT = 34; /* a name and a figure */

/** The width of the element, and the height of the map. */
function useExtent(): [{ current: HTMLDivElement | null }, number, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const { current } = element;
    if (!current) return;
    const measure = () => setWidth(Math.floor(current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return [element, width, width < 560 ? 420 : 460];
}

function place(root: Box, width: number, height: number): Placed[] {
  const tree = hierarchy(root, (box) => box.children)
    .sum((box) => (box.children.length > 0 ? 0 : box.size))
    .sort((a, b) => Number(a.data.kind === "more") - Number(b.data.kind === "more") || (b.value ?? 0) - (a.value ?? 0));
  const laid = treemap<Box>()
    .tile(treemapSquarify.ratio(1.4))
    .size([width, height])
    .paddingInner(1)
    .paddingTop((node) => (node.depth > 0 && node.y1 - node.y0 > 2 * HEAD && node.x1 - node.x0 > NAME_WIDTH ? HEAD : 0))
    .round(true)(tree);
  return laid.descendants().filter((node) => node.depth > 0 && node.x1 > node.x0 && node.y1 > node.y0);
}

/** Both colours, since treemap.css decides between light and dark. */
function fillsOf({ slot, pale }: { slot: number | null; pale: boolean }) {
  return { "--light": css(SCHEMES.light.fill(slot, pale)), "--dark": css(SCHEMES.dark.fill(slot, pale)) };
}

function classOf(node: Placed, signed: boolean, picked: boolean): string {
  const words = ["treebox", node.children ? "group" : node.data.kind];
  if (signed) words.push(node.data.value > 0 ? "grew" : "shrank");
  if (picked) words.push("picked");
  return words.join(" ");
}

interface TreeBoxProps {
  node: Placed;
  props: TreemapProps;
  current: boolean;
  focus: () => void;
  point: () => void;
}

function TreeBox({ node, props, current, focus, point }: TreeBoxProps) {
  const box = node.data;
  const [width, height] = [node.x1 - node.x0, node.y1 - node.y0];
  const named = width >= NAME_WIDTH && height >= NAME_HEIGHT;
  const act = props.pick(box);
  return (
    <button
      type="button"
      class={classOf(node, props.signed, props.isPicked(box))}
      data-box={box.item}
      data-kind={box.kind}
      data-value={box.value}
      tabIndex={current ? 0 : -1}
      aria-label={props.describe(box)}
      aria-disabled={act === undefined}
      style={{
        left: `${node.x0}px`,
        top: `${node.y0}px`,
        width: `${width}px`,
        height: `${height}px`,
        ...fillsOf(props.colour(box)),
      }}
      onClick={() => act?.()}
      onFocus={focus}
      onMouseEnter={point}
    >
      {named && <span class="name">{props.name(box)}</span>}
      {named && !node.children && height >= BOTH_HEIGHT && <span class="value">{props.figure(box)}</span>}
    </button>
  );
}

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function Treemap(props: TreemapProps) {
  const [element, width, height] = useExtent();
  const [cursor, setCursor] = useState(0);
  const [shown, setShown] = useState<Box | null>(null);
  const root = useMemo(() => (width > 0 ? props.boxes(width * height) : null), [props.boxes, width, height]);
  const nodes = useMemo(() => (root ? place(root, width, height) : []), [root, width, height]);
  const focus = (index: number) => {
    setCursor(index);
    setShown(nodes[index]?.data ?? null);
  };
  const walk = (event: KeyboardEvent) => {
    const step = STEPS[event.key] ?? 0;
    if (step === 0) return;
    const next = Math.min(Math.max(cursor + step, 0), nodes.length - 1);
    (element.current?.children[next] as HTMLElement | undefined)?.focus();
    event.preventDefault();
  };
  /* Memoized, so that pointing at another box does not redraw all of them. */
  const drawn = useMemo(
    () =>
      nodes.map((node, index) => (
        <TreeBox
          key={`${node.data.kind}${node.data.item}`}
          node={node}
          props={props}
          current={index === Math.min(cursor, nodes.length - 1)}
          focus={() => focus(index)}
          point={() => setShown(node.data)}
        />
      )),
    [nodes, props, cursor],
  );
  return (
    <div class="treemap-frame">
      <div
        id="treemap"
        class="treemap"
        role="group"
        aria-label={props.title}
        ref={element}
        data-boxes={nodes.length}
        data-total={root?.value ?? 0}
        style={{ height: `${height}px` }}
        onKeyDown={walk}
        onMouseLeave={() => setShown(null)}
      >
        {drawn}
      </div>
      {root && !(root.size > 0) && <p class="dim">There is nothing to show for this metric.</p>}
      <p class="readout">{shown ? props.describe(shown) : "Point at a box, or use the arrow keys."}</p>
    </div>
  );
}
