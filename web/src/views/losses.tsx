// SPDX-License-Identifier: MIT
// losses.tsx - what is missing from the profile, and what that means for its figures: only where something is.

import type { ViewProps } from "../look";
import { formatExact } from "../model/format";
import { describeFew, findLosses } from "../model/losses";

export function Losses({ look }: ViewProps) {
  const { header } = look.profile;
  const losses = findLosses(header);
  const few = describeFew(header);
  if (losses.length === 0 && !few) return null;
  return (
    <section class="notice" aria-label="What is missing">
      {few && <p>{few}</p>}
      {losses.length > 0 && (
        <details open={losses.length <= 3}>
          <summary>Not everything could be recorded as it was: what is missing</summary>
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
          {(header.losses["file_full"] ?? 0) > 0 && <p>plimsoll run --max-file lets the file have more.</p>}
        </details>
      )}
    </section>
  );
}
