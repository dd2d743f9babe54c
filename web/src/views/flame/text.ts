// SPDX-License-Identifier: MIT
// text.ts - shortens texts to a width. Each character is measured once; widths are added up.

const ELLIPSIS = "…";
/** Characters that are invisible or change the text direction: names come from untrusted sources. */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;
const LONGEST = 400;

export interface Writer {
  width: (text: string) => number;
  /** The text, shortened if necessary, or "" if nothing fits. */
  fit: (text: string, width: number) => string;
}

export function showable(text: string): string {
  return text.replace(UNSHOWABLE, "\ufffd");
}

/** The font of `context` must be set already. */
export function newWriter(context: CanvasRenderingContext2D): Writer {
  const known = new Map<string, number>();
  const one = (character: string) => {
    let width = known.get(character);
    if (width === undefined) known.set(character, (width = context.measureText(character).width));
    return width;
  };
  const width = (text: string) => {
    let sum = 0;
    for (const character of text) sum += one(character);
    return sum;
  };
  const fit = (text: string, room: number) => {
    const beginning = showable(text.length > LONGEST ? text.slice(0, LONGEST) : text);
    const withEllipsis = room - one(ELLIPSIS);
    let sum = 0;
    let end = 0;
    let at = 0;
    for (const character of beginning) {
      sum += one(character);
      at += character.length;
      if (sum <= withEllipsis) end = at;
      if (sum > room) return end > 0 ? beginning.slice(0, end) + ELLIPSIS : "";
    }
    return text.length > LONGEST ? beginning.slice(0, end) + ELLIPSIS : beginning;
  };
  return { width, fit };
}
