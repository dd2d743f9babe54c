// SPDX-License-Identifier: MIT
// facts.tsx - "About this profile": the program, how it ran, and how figures were obtained.

import type { Header, Side } from "../../data/header";
import type { ViewProps } from "../../look";
import {
  autoFacts,
  callFacts,
  extentFacts,
  fileFacts,
  processFacts,
  runFacts,
  samplingFacts,
  type Fact,
} from "../../model/overview/facts";

function List({ facts }: { facts: Fact[] }) {
  return (
    <dl>
      {facts.map((fact) => (
        <div key={fact.term}>
          <dt>{fact.term}</dt>
          <dd class={fact.literal ? "literal" : ""}>{fact.text}</dd>
        </div>
      ))}
    </dl>
  );
}

function OneRun({ header }: { header: Header }) {
  return (
    <List
      facts={[
        ...runFacts(header),
        ...extentFacts(header),
        ...callFacts(header),
        ...samplingFacts(header.sampling),
        ...autoFacts(header),
        ...fileFacts(header),
      ]}
    />
  );
}

function OneSide({ title, side }: { title: string; side: Side }) {
  return (
    <>
      <h3>{title}</h3>
      <List
        facts={[
          { term: "Profile", text: side.subject, literal: true },
          ...processFacts(side.process),
          ...samplingFacts(side.sampling),
        ]}
      />
    </>
  );
}

export function Facts({ look }: ViewProps) {
  const { header } = look.profile;
  return (
    <section class="card facts">
      <h2>About this profile</h2>
      {header.diff ? (
        <>
          <OneSide title="Before" side={header.diff.before} />
          <OneSide title="After" side={header.diff.after} />
        </>
      ) : (
        <OneRun header={header} />
      )}
    </section>
  );
}
