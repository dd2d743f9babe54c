// SPDX-License-Identifier: MIT
// facts.ts - what a profile is of, how that ran, and how its figures were obtained, as terms and what is said of them.

import type { Header, ProcessInfo, Sampling } from "../data/header";
import {
  formatBytes,
  formatCount,
  formatExact,
  formatPercent,
  formatSeconds,
  formatSetting,
  formatSpan,
  plural,
} from "./format";

export interface Fact {
  term: string;
  text: string;
  /** It is code: a path, a command. */
  literal?: boolean;
}

const MACHINES: Record<number, string> = { 62: "x86_64", 183: "aarch64" };

/** An argument as a shell would want it. */
function quote(argument: string): string {
  return /^[\w@%+=:,./~-]+$/.test(argument) ? argument : `'${argument.replace(/'/g, "'\\''")}'`;
}

export function printCommand(command: readonly string[]): string {
  return command.map(quote).join(" ");
}

/** "2026-11-16 02:03:51 UTC" */
export function printTime(iso: string): string {
  return iso.replace(/T/, " ").replace(/(\.\d+)?Z$/, " UTC");
}

function describeRun(process: ProcessInfo): string {
  const ended = process.running ? "running" : process.ended;
  return `${formatSeconds(process.duration_s)}, ${ended}`;
}

function describeMachine(machine: number): string {
  return MACHINES[machine] ?? `ELF machine ${machine}`;
}

export function processFacts(process: ProcessInfo): Fact[] {
  const facts: Fact[] = [
    { term: "Command", text: printCommand(process.command) || process.name, literal: true },
    {
      term: "Process",
      text: `${process.name}, pid ${process.pid}, child of ${process.parent_pid}, uid ${process.uid}`,
    },
    { term: "Ran for", text: describeRun(process) },
    { term: "Started", text: printTime(process.start) },
    { term: "Directory", text: process.directory, literal: true },
    { term: "Program", text: process.exe, literal: true },
    { term: "Machine", text: describeMachine(process.machine) },
  ];
  if (process.forked)
    facts.push({
      term: "Forked",
      text: "It began as a fork of another profiled process; what it inherited is not in the profile.",
    });
  return facts.filter((fact) => fact.text !== "");
}

/** Of several profiles as one there is no process, and no time at which it ran. */
export function runFacts({ process, extent }: Header): Fact[] {
  return extent.merged ? [{ term: "Machine", text: describeMachine(process.machine) }] : processFacts(process);
}

const REALLOC_MATTERS = 0.05; /* of all bytes: as in reports */

/** Which functions were called, and what came of reallocs. */
export function callFacts({ totals }: Header): Fact[] {
  const called = Object.entries(totals.functions).filter(([, calls]) => calls > 0);
  const { calls, in_place, moved_bytes } = totals.reallocs;
  const facts: Fact[] = [];
  if (called.length > 0)
    facts.push({ term: "Calls", text: called.map(([name, count]) => `${name} ${formatExact(count)}`).join(" · ") });
  if (totals.alloc_space.value > 0 && moved_bytes / totals.alloc_space.value >= REALLOC_MATTERS) {
    const all = formatCount(calls);
    facts.push({
      term: "Realloc",
      text: `${formatBytes(moved_bytes)} copied in ${all} call${plural(all)}, ${formatCount(in_place)} stayed in place`,
    });
  }
  return facts;
}

/** What the figures are about, where that is not everything from start to end. */
export function extentFacts(header: Header): Fact[] {
  const { extent } = header;
  const facts: Fact[] = [];
  if (extent.merged)
    facts.push({ term: "Merged", text: `${extent.merged} profiles are here as one; the peak is the sum of theirs.` });
  if (extent.selection) facts.push({ term: "Selected", text: `${extent.selection}; figures are of that.` });
  if (extent.snapshot !== null)
    facts.push({
      term: "Snapshot",
      text: `${extent.snapshot || "without a name"}, taken at ${formatSpan(extent.snapshot_s ?? 0)}`,
    });
  if (extent.resets > 0) {
    const when =
      extent.reset_s === null
        ? ""
        : `, the last time at ${formatSpan(extent.reset_s)}; what was allocated before is left out`;
    facts.push({
      term: "Resets",
      text: `Figures began anew ${extent.resets === 1 ? "once" : `${formatExact(extent.resets)} times`}${when}.`,
    });
  }
  if (extent.size_from > 0 || extent.size_to !== null) {
    const to = extent.size_to === null ? " and more" : ` to ${formatSetting(extent.size_to)}`;
    facts.push({
      term: "Stacks of",
      text: `allocations of ${formatSetting(extent.size_from)}${to}; all others are counted together, as (other sizes)`,
    });
  }
  return facts;
}

const MODES: Record<string, string> = {
  exact: "exact: every allocation is counted",
  sampled: "sampled: a part of the allocations stands for all",
  auto: "auto: exact as long as that is cheap, then sampled",
};

/** Samples lie farther apart the more is allocated; what figures are said to be sampled by is the mean of it. */
function describeDistance({ exact_now, interval_bytes, interval_max }: Header["auto"]): string {
  const widest = formatSetting(interval_max);
  if (exact_now) return `samples were ${widest} apart at the widest`;
  const last = formatSetting(interval_bytes);
  return last === widest
    ? `samples were farther and farther apart, ${last} in the end`
    : `samples were ${last} apart in the end, ${widest} at the widest`;
}

function describeAuto(header: Header): string {
  const { auto } = header;
  const parts = [`may cost ${formatPercent(auto.overhead)} of the CPU time`];
  if (auto.left_exact === 0) parts.push("exact counting was never left");
  else
    parts.push(
      `left exact counting after about ${formatCount(auto.exact_calls)} calls ` +
        `(${formatSpan(auto.exact_cpu_s)} of CPU time)`,
    );
  if (auto.returned_to_exact > 0)
    parts.push(`returned to it ${auto.returned_to_exact === 1 ? "once" : `${auto.returned_to_exact} times`}`);
  if (auto.interval_max > 0) parts.push(describeDistance(auto));
  return parts.join("; ");
}

function methodOf({ exact, method }: Sampling): string {
  if (!exact) return "sampled";
  return method.includes(" but for ") ? "exact, but for gaps" : "exact";
}

/** How figures were obtained, in a word; of a comparison, in two where they differ. */
export function describeMethod({ sampling, diff }: Header): string {
  if (!diff) return methodOf(sampling);
  const [before, after] = [methodOf(diff.before.sampling), methodOf(diff.after.sampling)];
  return before === after ? after : `${before} → ${after}`;
}

export function samplingFacts(sampling: Sampling): Fact[] {
  const facts: Fact[] = [{ term: "Figures", text: sampling.method }];
  facts.push({ term: "Mode", text: MODES[sampling.mode] ?? sampling.mode });
  if (sampling.samples > 0)
    facts.push({
      term: "Samples",
      text: `${formatExact(sampling.samples)}, ${formatExact(sampling.samples_live)} of them live`,
    });
  return facts;
}

function describeCost(header: Header): string {
  const { profiler_cpu_s: own, process_cpu_s: all } = header.cost;
  if (own === null || !(own > 0)) return "";
  const share = all !== null && all > 0 ? ` (${formatPercent(own / all)} of the program's)` : "";
  return `${formatSpan(own)} of CPU time${share}`;
}

function describeModules(header: Header): string {
  const count = header.modules.filter((module) => module.path !== "").length;
  const allocator = header.process.allocator === null ? undefined : header.modules[header.process.allocator];
  const name = allocator?.path.replace(/^.*\//s, "");
  return `${formatExact(count)} loaded file${count === 1 ? "" : "s"}${name ? `; malloc of ${name}` : ""}`;
}

export function fileFacts(header: Header): Fact[] {
  const { page, reading } = header;
  const facts: Fact[] = [
    { term: "Cost", text: describeCost(header) },
    { term: "Code", text: describeModules(header) },
    {
      term: "Profile",
      text: page.subject + (reading.file_bytes > 0 ? ` (${formatBytes(reading.file_bytes)})` : ""),
      literal: true,
    },
    { term: "Page", text: `written ${printTime(page.written)} by Plimsoll ${page.version}` },
  ];
  if (reading.damage > 0)
    facts.push({ term: "Damage", text: `${formatExact(reading.damage)} records made no sense and were left out` });
  return facts.filter((fact) => fact.text !== "");
}

export function autoFacts(header: Header): Fact[] {
  const told = header.sampling.mode === "auto" && !header.extent.merged;
  return told ? [{ term: "Auto mode", text: describeAuto(header) }] : [];
}
