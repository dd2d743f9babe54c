// SPDX-License-Identifier: MIT
// held.tsx - what each root holds: a treemap of roots and sites. A click shows the way from a root to the blocks of a box,
// and where they were allocated.

import { useCallback, useMemo, useState } from "preact/hooks";
import type { Look, ViewProps } from "../../look";
import { formatBytes, formatExact, formatPercent } from "../../model/figures/format";
import { isPale, moduleClass, slotsOfModules } from "../../model/flame/colours";
import { heldTree, lineOf, wayTo, type HeldTree } from "../../model/held/holders";
import { placeName, placeOrigin } from "../../model/tables/stacks";
import { boxesOf, type Box } from "../../model/tags/treemap";
import { Stack } from "../tables/stack";
import { Treemap } from "../tags/treemap";
import "./held.css";

const PIXELS_PER_BOX = 1200;
const BOXES_MOST = 500;
const DEPTH_MOST = 6;

function limitsFor(pixels: number) {
  return { most: BOXES_MOST, share: pixels > 0 ? PIXELS_PER_BOX / 8 / pixels : 0, depth: DEPTH_MOST };
}

/** What a holder is called: the variable or thread, or the function that allocated the blocks. */
function nameOf({ profile }: Look, index: number): string {
  const { kind, name, node } = profile.header.holders[index];
  if (kind === "root") return name ?? "";
  if (kind === "rest") return "smaller ones";
  return node === null ? "(unknown)" : placeName(profile, profile.nodes.place[node]);
}

function originOf({ profile }: Look, index: number): string {
  const { node } = profile.header.holders[index];
  return node === null ? "" : placeOrigin(profile, profile.nodes.place[node]);
}

function amount(bytes: number, blocks: number): string {
  return `${formatBytes(bytes)} in ${formatExact(blocks)} block${blocks === 1 ? "" : "s"}`;
}

// --- the map ---

interface MapProps {
  look: Look;
  tree: HeldTree;
  chosen: number;
  choose: (index: number) => void;
}

function HeldMap({ look, tree, chosen, choose }: MapProps) {
  const { profile } = look;
  const boxes = useCallback((pixels: number) => boxesOf(tree, limitsFor(pixels)), [tree]);
  const holderOf = (box: Box) => tree.holder[box.item];
  const moduleOf = (index: number) => {
    const { node } = profile.header.holders[index];
    return node === null ? "" : moduleClass(profile, profile.functions.module[functionOf(node)]);
  };
  const functionOf = (node: number) => profile.places.function[profile.nodes.place[node]];
  const name = (box: Box) => {
    if (box.kind === "more") return `${formatExact(box.more)} more`;
    return box.kind === "own" ? "(itself)" : nameOf(look, holderOf(box));
  };
  const describe = (box: Box) => {
    const line = box.item > 0 ? lineOf(profile.header.holders, holderOf(box)).map((index) => nameOf(look, index)) : [];
    const what = box.kind === "item" ? line : [...line, name(box)];
    const figure = box.kind === "item" ? amount(box.size, tree.blocks[box.item]) : formatBytes(box.size);
    return `${what.join(" → ")}: ${figure}, ${formatPercent(box.size / (tree.bytes[0] || 1))}`;
  };
  return (
    <Treemap
      title="What each root retains"
      boxes={boxes}
      name={name}
      figure={(box) => formatBytes(box.size)}
      describe={describe}
      colour={(box) => {
        if (box.item === 0) return { slot: null, pale: false }; // roots that are too small for a box
        const { node } = profile.header.holders[holderOf(box)];
        const slot = slotsOfModules(profile).get(moduleOf(holderOf(box))) ?? null;
        return { slot, pale: node !== null && isPale(profile, functionOf(node)) };
      }}
      signed={false}
      pick={(box) => (box.kind === "more" ? undefined : () => choose(holderOf(box)))}
      isPicked={(box) => box.kind === "item" && holderOf(box) === chosen}
    />
  );
}

// --- the chosen box ---

function Way({ look, index }: { look: Look; index: number }) {
  const steps = wayTo(look.profile.header.holders, index);
  if (steps.length === 0) return null;
  return (
    <>
      <h3>A shortest way to one of these blocks</h3>
      <ol id="held-way" class="held-way" aria-label="From a root to a block">
        {steps.map((step) => (
          <li key={step}>
            {nameOf(look, step)} <span class="where">{originOf(look, step)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

function Detail({ look, tree, index }: { look: Look; tree: HeldTree; index: number }) {
  const holder = look.profile.header.holders[index];
  const item = tree.holder.indexOf(index);
  const withBelow = amount(tree.bytes[item], tree.blocks[item]);
  const below = tree.bytes[item] > holder.bytes && holder.kind !== "root";
  return (
    <section id="held-detail" class="held-detail" aria-label="The chosen box">
      <h2>{nameOf(look, index)}</h2>
      <p>
        retains {withBelow}
        {below && `, of which ${amount(holder.bytes, holder.blocks)} were allocated here`}
      </p>
      <Way look={look} index={index} />
      {holder.node !== null && (
        <>
          <h3>Allocated by</h3>
          <Stack look={look} node={holder.node} />
        </>
      )}
    </section>
  );
}

export function Held({ look }: ViewProps) {
  const { holders } = look.profile.header;
  const tree = useMemo(() => heldTree(holders), [holders]);
  const [chosen, choose] = useState(-1);
  return (
    <>
      <p class="dim">
        A box is as large as what could not be reached any more without it. Roots are variables, threads and mappings; what
        several roots lead to, none of them retains alone. Click on a box for the way to its blocks.
      </p>
      <HeldMap look={look} tree={tree} chosen={chosen} choose={(index) => choose(index === chosen ? -1 : index)} />
      {chosen >= 0 && <Detail look={look} tree={tree} index={chosen} />}
    </>
  );
}
