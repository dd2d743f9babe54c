// SPDX-License-Identifier: MIT
// about.tsx - what this page is, what it is of, and what it was made of.

import type { Look } from "../look";
import { Box } from "./box";

export interface BoxProps {
  look: Look;
  close: () => void;
}

/** Where the page has its data from decides what it may ask for. */
function describeNetwork(served: boolean): string {
  if (served)
    return (
      "It talks to nobody but the plimsoll on this machine that serves it: its content security policy forbids " +
      "everything else."
    );
  return "It makes no network requests: everything is in this one file, and its content security policy forbids them.";
}

function Licence({ name, version, licence, text }: (typeof LICENCES)[number]) {
  return (
    <details>
      <summary>
        {name} {version} <span class="dim">({licence})</span>
      </summary>
      <pre>{text}</pre>
    </details>
  );
}

export function About({ look, close }: BoxProps) {
  const { page } = look.profile.header;
  const served = location.protocol.startsWith("http");
  return (
    <Box title="About this page" close={close}>
      <p>
        Plimsoll {page.version} is a heap profiler for Linux: it says who allocates, who holds on to what, and how well
        that is known. This page shows the profile <strong>{page.subject}</strong>.
      </p>
      <p>
        {describeNetwork(served)} What you look at stays in this browser; a link to a view holds the view, not the
        profile.
      </p>
      <h3>Licences</h3>
      <p>Plimsoll is free software under the MIT licence. This page contains:</p>
      {LICENCES.map((each) => (
        <Licence key={each.name} {...each} />
      ))}
    </Box>
  );
}
