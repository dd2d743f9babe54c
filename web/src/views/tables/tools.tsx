// SPDX-License-Identifier: MIT
// tools.tsx - the toolbar of a table: a filter, the choice of columns, and a copy button.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { copyText } from "../../copy";
import type { Look } from "../../look";
import { useTyped } from "../typed";

const SAID_MS = 2000;

export function FilterBox({ look, id, invalid }: { look: Look; id: string; invalid: boolean }) {
  const { text, type } = useTyped(look.state.filter, (filter) => look.set({ filter }));
  return (
    <label class="table-filter">
      <span class="hidden">Filter rows: text, or a regular expression between slashes</span>
      <input
        id={`${id}-filter`}
        type="search"
        placeholder="Filter, or /regex/"
        value={text}
        aria-invalid={invalid}
        onInput={(event) => type(event.currentTarget.value)}
      />
      {invalid && <span role="status" class="table-invalid">not a regular expression</span>}
    </label>
  );
}

interface Choosable {
  id: string;
  title: string;
  help?: string;
}

/** In the form of state.columns: "" for the default columns. */
function writeColumns(usual: Choosable[], chosen: Choosable[]): string {
  const same = usual.length === chosen.length && usual.every((each) => chosen.includes(each));
  return same ? "" : chosen.map((each) => each.id).join(",");
}

interface ChoiceProps<C> {
  look: Look;
  id: string;
  columns: C[];
  usual: C[];
  shown: C[];
}

/** The first column is always shown. */
export function ColumnChoice<C extends Choosable>({ look, id, columns, usual, shown }: ChoiceProps<C>) {
  const offered = columns.slice(1);
  const choose = (column: C, on: boolean) => {
    const chosen = offered.filter((each) => (each === column ? on : shown.includes(each)));
    if (chosen.length > 0) look.set({ columns: writeColumns(usual.slice(1), chosen) });
  };
  const close = (event: KeyboardEvent & { currentTarget: HTMLDetailsElement }) => {
    if (event.key !== "Escape") return;
    event.currentTarget.open = false;
    event.currentTarget.querySelector("summary")?.focus();
    event.stopPropagation();
  };
  return (
    <details class="table-columns" id={`${id}-columns`} onKeyDown={close}>
      <summary>Columns</summary>
      <fieldset>
        <legend class="hidden">Columns to show</legend>
        {offered.map((column) => (
          <label key={column.id} title={column.help}>
            <input
              type="checkbox"
              name={column.id}
              checked={shown.includes(column)}
              onChange={(event) => choose(column, event.currentTarget.checked)}
            />
            {column.title}
          </label>
        ))}
        <button type="button" disabled={look.state.columns === ""} onClick={() => look.set({ columns: "" })}>
          Default columns
        </button>
      </fieldset>
    </details>
  );
}

/** Shows for a moment whether copying succeeded. */
export function CopyButton({ text, children, id }: { text: () => string; children: ComponentChildren; id?: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid((await copyText(text())) ? "Copied" : "The browser refused to copy");
  return (
    <button type="button" id={id} onClick={() => void copy()}>
      {said || children}
      <span class="hidden" role="status">{said}</span>
    </button>
  );
}
