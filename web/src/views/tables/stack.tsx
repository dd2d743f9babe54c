// SPDX-License-Identifier: MIT
// stack.tsx - a stack, one frame per line, and its buttons.

import { Role, type Profile } from "../../data/profile";
import type { Look } from "../../look";
import { placeLocation, printStack, stackNodes } from "../../model/tables/stacks";
import { FunctionName } from "./cells";
import { CopyButton } from "./tools";
import "./stack.css";

function Frame({ look, node }: { look: Look; node: number }) {
  const { profile } = look;
  const place = profile.nodes.place[node];
  const index = profile.places.function[place];
  const role = profile.functions.role[index];
  const module = profile.moduleName(profile.functions.module[index]);
  const key = profile.functionKey(index);
  const location = placeLocation(profile, place);
  return (
    <li class={role === Role.Own || role === Role.Library ? "" : "unusual"}>
      <button
        type="button"
        class="frame"
        aria-pressed={look.state.picked === key}
        title="Highlight this function in every view"
        onClick={() => look.set({ picked: key })}
      >
        <FunctionName profile={profile} index={index} />
      </button>
      {location !== "" && <span class="where">{location}</span>}
      {module !== "" && <span class="dim">[{module}]</span>}
    </li>
  );
}

/** All frames, innermost first. */
export function Stack({ look, node }: { look: Look; node: number }) {
  return (
    <ol class="stack" aria-label="Stack, innermost frame first" tabIndex={0}>
      {stackNodes(look.profile, node).map((each) => (
        <Frame key={each} look={look} node={each} />
      ))}
    </ol>
  );
}

function hasSource(profile: Profile, index: number): boolean {
  const file = profile.text(profile.functions.source[index]);
  return file !== "" && profile.header.sources.some((snippet) => snippet.file === file);
}

/** Buttons for a function, and for the stack that is shown. */
export function Actions({ look, index, node }: { look: Look; index: number; node?: number }) {
  const { profile, state, set } = look;
  const key = profile.functionKey(index);
  const without = (list: string[]) => list.filter((each) => each !== key);
  const focus = () => set({ focus: [...without(state.focus), key], hide: without(state.hide) });
  const hide = () => set({ hide: [...without(state.hide), key], focus: without(state.focus) });
  return (
    <div class="actions" role="group" aria-label={`Actions for ${profile.functionName(index)}`}>
      <button type="button" data-action="sandwich" onClick={() => set({ picked: key, sandwich: key, zoom: "" })}>
        Callers and callees
      </button>
      <button type="button" data-action="focus" onClick={focus}>
        Only stacks through it
      </button>
      <button type="button" data-action="hide" onClick={hide}>
        Hide it
      </button>
      {hasSource(profile, index) && (
        <button
          type="button"
          data-action="source"
          onClick={() => set({ picked: key, tab: "source", sort: "", columns: "", filter: "" })}
        >
          Source
        </button>
      )}
      {node !== undefined && <CopyButton text={() => printStack(profile, node)}>Copy stack</CopyButton>}
    </div>
  );
}
