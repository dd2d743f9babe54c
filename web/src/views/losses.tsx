// SPDX-License-Identifier: MIT
// losses.tsx - what is missing from the profile, and what that means for its figures: only where something is.

import type { ViewProps } from "../look";
import { formatExact } from "../model/format";
import { describeFew, describeUnrecorded, findLosses, type Loss } from "../model/losses";

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

function Missing({ losses }: { losses: Loss[] }) {
  return (
    <>
      <p class="warning">Not everything could be recorded as it was. What is missing:</p>
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
  return (
    <section class="notice" aria-label="What is missing">
      {said.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {losses.length > 0 && <Missing losses={losses} />}
      {(header.losses["file_full"] ?? 0) > 0 && <p>plimsoll run --max-file lets the file have more.</p>}
    </section>
  );
}
