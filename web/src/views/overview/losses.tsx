// SPDX-License-Identifier: MIT
// losses.tsx - what is missing from the profile, and what that means for its figures; nothing if nothing is missing.

import type { ViewProps } from "../../look";
import { formatExact } from "../../model/figures/format";
import { describeFew, describeUnrecorded, findLosses, type Loss } from "../../model/overview/losses";

const FIRST = 3;

function Table({ losses }: { losses: Loss[] }) {
  return (
    <table>
      <thead class="hidden">
        <tr>
          <th scope="col">How many</th>
          <th scope="col">What</th>
        </tr>
      </thead>
      <tbody>
        {losses.map((loss) => (
          <tr key={loss.text}>
            <td>{formatExact(loss.count)}</td>
            <td>{loss.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Missing({ losses, quiet }: { losses: Loss[]; quiet: boolean }) {
  return (
    <>
      {quiet ? (
        <p>Some stacks are incomplete; their figures are not affected:</p>
      ) : (
        <p class="warning">Some data could not be recorded. What is missing:</p>
      )}
      <Table losses={losses.slice(0, FIRST)} />
      {losses.length > FIRST && (
        <details>
          <summary>{formatExact(losses.length - FIRST)} more</summary>
          <Table losses={losses.slice(FIRST)} />
        </details>
      )}
    </>
  );
}

export function Losses({ look }: ViewProps) {
  const { header } = look.profile;
  const losses = findLosses(header);
  const said = [describeFew(header), ...describeUnrecorded(look.profile)].filter((line) => line !== "");
  if (losses.length === 0 && said.length === 0) return null;
  const quiet = said.length === 0 && losses.every((loss) => loss.stacksOnly);
  return (
    <section class={quiet ? "notice quiet" : "notice"} aria-label="What is missing">
      {said.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {losses.length > 0 && <Missing losses={losses} quiet={quiet} />}
      {(header.losses["file_full"] ?? 0) > 0 && <p>plimsoll run --max-file allows a larger file.</p>}
    </section>
  );
}
