// SPDX-License-Identifier: MIT
// cells.tsx - what tables have in their cells: figures, names, places.

import type { Estimate } from "../data/header";
import { Role, type Profile } from "../data/profile";
import { formatChange, formatError, formatValue } from "../model/format";
import type { Unit } from "../model/metric";

/** A figure, and dim beside it how far it may be off. */
export function Figure({ unit, estimate, change }: { unit: Unit; estimate: Estimate; change: boolean }) {
  const { value, high } = estimate;
  if (!change && !(value > 0) && high > 0) return <span class="dim">at most {formatValue(unit, high)}</span>;
  const error = formatError(unit, change ? { ...estimate, value: Math.abs(value) } : estimate);
  return (
    <>
      <span class={value === 0 ? "dim" : change ? (value > 0 ? "grew" : "shrank") : ""}>
        {change ? formatChange(unit, value) : formatValue(unit, value)}
      </span>
      {error !== "" && <span class="dim"> {error}</span>}
    </>
  );
}

/** Before it is known how far it may be off. */
export function exactly(value: number): Estimate {
  return { value, error: 0, low: value, high: value };
}

/** The reader's own functions stand out. */
export function FunctionName({ profile, index }: { profile: Profile; index: number }) {
  const own = profile.functions.role[index] === Role.Own;
  return (
    <span class={own ? "name own" : "name"} title={profile.text(profile.functions.full[index])}>
      {profile.functionName(index)}
    </span>
  );
}

/** A site as reports have it: the function, what it called, and below it where that is and who called it. */
export interface SiteText {
  index: number;
  /** "": none. */
  via: string;
  where: string;
  callers: string;
}

export function SiteName({ profile, site }: { profile: Profile; site: SiteText }) {
  const from = [site.where, site.callers].filter(Boolean).join(" ");
  return (
    <span>
      <span class="site-name">
        <FunctionName profile={profile} index={site.index} />
        {site.via !== "" && <span class="dim" title={site.via}>→ {site.via}</span>}
      </span>
      {from !== "" && <span class="site-from" title={from}>{from}</span>}
    </span>
  );
}

/** The same for the clipboard, on one line. */
export function plainSite(profile: Profile, { index, via }: Pick<SiteText, "index" | "via">): string {
  return profile.text(profile.functions.full[index]) + (via && ` → ${via}`);
}

/** The end of a path says more than its beginning, so that is what stays where there is no room for both. */
export function Location({ text }: { text: string }) {
  return (
    <span class="location" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}
