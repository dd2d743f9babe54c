// SPDX-License-Identifier: MIT
// lazy.ts - what takes time for each row of a table: computed for rows in sight, a few milliseconds of it at a time.

import { useEffect, useState } from "preact/hooks";

export interface Lazy<T> {
  /** undefined: not yet. */
  get(row: number): T | undefined;
  /** Before rows are drawn. */
  begin(): void;
  /** Some were not there yet: draw again. */
  behind(): boolean;
}

const FRAME_MS = 8;

export function makeLazy<T>(compute: (row: number) => T): Lazy<T> {
  const known = new Map<number, T>();
  let until = 0;
  let missed = false;
  return {
    begin() {
      until = performance.now() + FRAME_MS;
      missed = false;
    },
    get(row) {
      const found = known.get(row);
      if (found !== undefined) return found;
      missed = performance.now() > until;
      if (missed) return undefined;
      const made = compute(row);
      known.set(row, made);
      return made;
    },
    behind: () => missed,
  };
}

const MANY_SITES = 20_000;

/** False until the page has been painted once, where there is much to compute: the graph comes first. */
export function usePainted(sites: number): boolean {
  const [painted, setPainted] = useState(sites < MANY_SITES);
  useEffect(() => {
    if (painted) return;
    let timer = 0;
    const later = () => (timer = window.setTimeout(() => setPainted(true)));
    let frame = requestAnimationFrame(() => (frame = requestAnimationFrame(later)));
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, []);
  return painted;
}
