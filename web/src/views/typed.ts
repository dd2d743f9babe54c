// SPDX-License-Identifier: MIT
// typed.ts - a text field that shows what is typed at once, and applies it after a pause.
//
// Only one application can be pending. Whatever is applied at once cancels it, so that an older text never comes back;
// and while one is pending, a selection that changes elsewhere does not replace the text.

import { useEffect, useRef, useState } from "preact/hooks";

const PAUSE_MS = 120;

export interface Typed {
  text: string;
  /** Applied after a pause. */
  type: (text: string) => void;
  /** Applied at once. */
  enter: (text: string) => void;
}

export function useTyped(applied: string, apply: (text: string) => void): Typed {
  const [text, setText] = useState(applied);
  const timer = useRef(0);
  const cancel = () => {
    clearTimeout(timer.current);
    timer.current = 0;
  };
  useEffect(() => {
    if (!timer.current) setText(applied);
  }, [applied]);
  useEffect(() => cancel, []);
  const enter = (next: string) => {
    cancel();
    setText(next);
    apply(next);
  };
  const type = (next: string) => {
    cancel();
    setText(next);
    timer.current = window.setTimeout(() => enter(next), PAUSE_MS);
  };
  return { text, type, enter };
}
