// SPDX-License-Identifier: MIT
// lazy.ts - slow computations for rows of a table: done for visible rows only, a few milliseconds at a time.

import { useEffect, useState } from "preact/hooks";

export interface Lazy<T> {
  /** undefined: not computed yet. */
  get(row: number): T | undefined;
  /** To be called before rows are drawn. */
  begin(): void;
  /** Some rows were not computed: draw again. */
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

/** If there is much to compute, false until the page has been painted once: the graph comes first. */
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
