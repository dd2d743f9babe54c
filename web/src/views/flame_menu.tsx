// SPDX-License-Identifier: MIT
// flame_menu.tsx - what can be done with a box: a menu beside it. And copying, where the clipboard may be out of reach.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Box } from "./box";

export interface Action {
  id: string;
  title: string;
  act: () => void;
}

export interface Point {
  x: number;
  y: number;
}

const EDGE = 8;

/** Moves what is at a point of the window so that all of it can be seen. */
export function useWithinWindow(point: Point, beside: number) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const it = element.current;
    if (!it) return;
    const { width, height } = it.getBoundingClientRect();
    const right = document.documentElement.clientWidth - EDGE;
    const bottom = window.innerHeight - EDGE;
    const left = point.x + beside + width <= right ? point.x + beside : point.x - beside - width;
    const top = point.y + beside + height <= bottom ? point.y + beside : point.y - beside - height;
    it.style.left = `${Math.max(EDGE, Math.min(left, right - width))}px`;
    it.style.top = `${Math.max(EDGE, Math.min(top, bottom - height))}px`;
  });
  return element;
}

interface MenuProps {
  title: string;
  point: Point;
  actions: Action[];
  close: () => void;
}

export function Menu({ title, point, actions, close }: MenuProps) {
  const element = useWithinWindow(point, 2);
  const items = () => [...(element.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
  useLayoutEffect(() => items()[0]?.focus({ preventScroll: true }), [title]); /* the next key is for the menu */
  useEffect(() => {
    const away = (event: Event) => {
      if (!(event.target instanceof Node && element.current?.contains(event.target))) close();
    };
    addEventListener("pointerdown", away, true);
    addEventListener("resize", close);
    return () => {
      removeEventListener("pointerdown", away, true);
      removeEventListener("resize", close);
    };
  }, [close]);
  const press = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const last = all.length - 1;
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at + last, Home: 0, End: last };
    const to = moves[event.key];
    if (to !== undefined) all[to % all.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={element} class="flame-menu" role="menu" aria-label={title} onKeyDown={press}>
      {actions.map(({ id, title: text, act }) => (
        <button
          key={id}
          id={`flame-menu-${id}`}
          type="button"
          role="menuitem"
          tabIndex={-1}
          onClick={() => {
            close();
            act();
          }}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** False where the browser does not let us: pages from disk, or a user who said no. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** For copying by hand. */
export function CopyBox({ text, close }: { text: string; close: () => void }) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.select(), []);
  return (
    <Box title="Copy" close={close}>
      <p>The browser keeps the clipboard to itself here. Copy this by hand:</p>
      <textarea ref={area} class="flame-copy" readOnly rows={12} aria-label="Text to copy" value={text} />
    </Box>
  );
}
