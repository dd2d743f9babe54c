// SPDX-License-Identifier: MIT
// flame_tip.tsx - what there is to know about a box, beside the pointer; on a phone, at the foot of the window.

import type { Facts } from "../model/flame_facts";
import { useWithinWindow, type Action, type Point } from "./flame_menu";
import { showable } from "./flame_text";

const LONGEST_NAME = 600;

function cut(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
}

interface TipProps {
  facts: Facts;
  point: Point;
  actions: Action[];
  close: () => void;
}

/** With actions it stays, and can be pressed; without, it follows the pointer and lets it through. */
export function Tip({ facts, point, actions, close }: TipProps) {
  const element = useWithinWindow(point, 14);
  const stays = actions.length > 0;
  return (
    <div
      ref={element}
      id="flame-tip"
      class={stays ? "flame-tip flame-tip-stays" : "flame-tip"}
      role={stays ? "dialog" : "tooltip"}
      aria-label={stays ? "About this box" : undefined}
    >
      <p class="flame-tip-name">{showable(cut(facts.name))}</p>
      {facts.where && <p class="dim flame-tip-where">{showable(cut(facts.where))}</p>}
      <dl>
        {facts.facts.map(({ label, text }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{showable(cut(text))}</dd>
          </div>
        ))}
      </dl>
      {facts.note && <p class="dim">{facts.note}</p>}
      {stays && (
        <div class="flame-tip-actions">
          {actions.map(({ id, title, act }) => (
            <button key={id} id={`flame-tip-${id}`} type="button" onClick={act}>
              {title}
            </button>
          ))}
          <button type="button" class="icon" aria-label="Close" onClick={close}>
            <span aria-hidden="true">×</span>
          </button>
        </div>
      )}
    </div>
  );
}
