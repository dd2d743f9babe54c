// SPDX-License-Identifier: MIT
// cells.tsx - the contents of table cells: figures, names, places.

import type { ComponentChildren } from "preact";
import type { Estimate } from "../../data/header";
import { Role, type Profile } from "../../data/profile";
import { formatChange, formatError, formatValue, isUnsure, isVague } from "../../model/figures/format";
import type { Unit } from "../../model/figures/metric";
import "./cells.css";

const UNSURE = "The error is as large as the figure: too few samples to tell.";

/** A figure with its error, which is dimmed. The figure is dimmed as well if its true value may be zero. */
export function Figure({ unit, estimate, change }: { unit: Unit; estimate: Estimate; change: boolean }) {
  const { value, high } = estimate;
  if (!change && isVague(estimate)) return <span class="dim">at most {formatValue(unit, high)}</span>;
  const error = formatError(unit, change ? { ...estimate, value: Math.abs(value) } : estimate);
  const unsure = isUnsure(estimate);
  const direction = change ? (value > 0 ? "grew" : "shrank") : "";
  return (
    <>
      <span class={value === 0 || unsure ? "dim" : direction} title={unsure ? UNSURE : undefined}>
        {change ? formatChange(unit, value) : formatValue(unit, value)}
      </span>
      {error !== "" && <span class="dim"> {error}</span>}
    </>
  );
}

interface BesideBarProps {
  value: number;
  whole: number;
  change: boolean;
  children: ComponentChildren;
}

/** A figure, and before it a bar that shows its share of the whole. */
export function BesideBar({ value, whole, change, children }: BesideBarProps) {
  const part = whole > 0 ? Math.min(Math.abs(value) / whole, 1) : 0;
  return (
    <span class="beside-bar">
      <i aria-hidden="true">
        <b class={change ? (value < 0 ? "shrank" : "grew") : ""} style={{ width: `${100 * part}%` }} />
      </i>
      <span>{children}</span>
    </span>
  );
}

/** A placeholder until the error has been computed. */
export function exactly(value: number): Estimate {
  return { value, error: 0, low: value, high: value };
}

/** The program's own functions are emphasized. */
export function FunctionName({ profile, index }: { profile: Profile; index: number }) {
  const own = profile.functions.role[index] === Role.Own;
  return (
    <span class={own ? "name own" : "name"} title={profile.text(profile.functions.full[index])}>
      {profile.functionName(index)}
    </span>
  );
}

/** A site as in reports: the function, and below it the library function that it called, its place and its callers. */
export interface SiteText {
  index: number;
  /** "": none. */
  via: string;
  where: string;
  callers: string;
}

export function SiteName({ profile, site }: { profile: Profile; site: SiteText }) {
  const below = [site.via && `→ ${site.via}`, site.where, site.callers].filter(Boolean).join(" ");
  return (
    <span>
      <FunctionName profile={profile} index={site.index} />
      {below !== "" && <span class="site-below" title={below}>{below}</span>}
    </span>
  );
}

/** The same for the clipboard, on one line. */
export function plainSite(profile: Profile, { index, via }: Pick<SiteText, "index" | "via">): string {
  return profile.text(profile.functions.full[index]) + (via && ` → ${via}`);
}

/** If a path is too long for its cell, its end is shown: it says more than the beginning. */
export function Location({ text }: { text: string }) {
  return (
    <span class="location" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}
