// SPDX-License-Identifier: MIT
// facts.ts - facts about a profile, as terms and texts: the program, how it ran, and how its figures were obtained.

import type { Header, ProcessInfo, Sampling } from "../../data/header";
import {
  counted,
  formatBytes,
  formatCount,
  formatExact,
  formatPercent,
  formatSeconds,
  formatSetting,
  formatSpan,
} from "../figures/format";

export interface Fact {
  term: string;
  text: string;
  /** A path or a command: shown in a monospaced font. */
  literal?: boolean;
}

const MACHINES: Record<number, string> = { 62: "x86_64", 183: "aarch64" };

/** An argument, quoted for a shell if necessary. */
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
      text: "This process is a fork of another profiled process; memory that it inherited is not in the profile.",
    });
  return facts.filter((fact) => fact.text !== "");
}

/** A merged profile has no process, and no time at which it ran. */
export function runFacts({ process, extent }: Header): Fact[] {
  return extent.merged ? [{ term: "Machine", text: describeMachine(process.machine) }] : processFacts(process);
}

const REALLOC_MATTERS = 0.05; /* of all bytes: as in reports */

/** Some figures are estimates. With a sampling interval of one byte every allocation is counted, so none is. */
export function isEstimated({ sampling }: Header): boolean {
  return !sampling.exact && !(sampling.mode === "sampled" && sampling.interval_bytes <= 1);
}

/** Calls by function, and how much reallocs copied. */
export function callFacts(header: Header): Fact[] {
  const { totals } = header;
  const called = Object.entries(totals.functions).filter(([, calls]) => calls > 0);
  const { calls, in_place, moved_bytes } = totals.reallocs;
  const facts: Fact[] = [];
  if (called.length > 0)
    facts.push({ term: "Calls", text: called.map(([name, count]) => `${name} ${formatExact(count)}`).join(" · ") });
  if (totals.alloc_space.value > 0 && moved_bytes / totals.alloc_space.value >= REALLOC_MATTERS) {
    const about = isEstimated(header) ? "about " : "";
    const all = counted(formatCount(calls), "call");
    const moved = formatBytes(moved_bytes);
    const kept = formatCount(in_place);
    facts.push({
      term: "Realloc",
      text: `${about}${all} copied ${about}${moved}; ${about}${kept} of them stayed in place`,
    });
  }
  return facts;
}

/** What the figures are about, if that is not the whole run of one process. */
export function extentFacts(header: Header): Fact[] {
  const { extent } = header;
  const facts: Fact[] = [];
  if (extent.merged)
    facts.push({ term: "Merged", text: `${extent.merged} profiles are merged; the peak is the sum of their peaks.` });
  if (extent.selection) facts.push({ term: "Selected", text: `${extent.selection}; all figures are of this part.` });
  if (extent.snapshot !== null)
    facts.push({
      term: "Snapshot",
      text: `${extent.snapshot || "unnamed"}, taken at ${formatSpan(extent.snapshot_s ?? 0)}`,
    });
  if (extent.resets > 0) {
    const when =
      extent.reset_s === null
        ? ""
        : `, the last time at ${formatSpan(extent.reset_s)}; earlier allocations are not included`;
    facts.push({
      term: "Resets",
      text: `Figures were reset ${extent.resets === 1 ? "once" : `${formatExact(extent.resets)} times`}${when}.`,
    });
  }
  if (extent.size_from > 0 || extent.size_to !== null) {
    const to = extent.size_to === null ? " and more" : ` to ${formatSetting(extent.size_to)}`;
    facts.push({
      term: "Stacks of",
      text: `allocations of ${formatSetting(extent.size_from)}${to}; all others are counted together as (other sizes)`,
    });
  }
  return facts;
}

const MODES: Record<string, string> = {
  exact: "exact: every allocation is counted",
  sampled: "sampled: figures are estimated from a sample of the allocations",
  auto: "auto: exact while that is cheap, then sampled",
};

/** Auto mode raises the sampling interval as more is allocated; the figure in sampling.method is its mean. */
function describeDistance({ exact_now, interval_bytes, interval_max }: Header["auto"]): string {
  const widest = formatSetting(interval_max);
  if (exact_now) return `the sampling interval was ${widest} at most`;
  const last = formatSetting(interval_bytes);
  return last === widest
    ? `the sampling interval grew to ${last}`
    : `the sampling interval was ${last} in the end, ${widest} at most`;
}

function describeAuto(header: Header): string {
  const { auto } = header;
  const parts = [`may cost ${formatPercent(auto.overhead)} of the CPU time`];
  if (auto.left_exact === 0) parts.push("never switched to sampling");
  else
    parts.push(
      `switched to sampling after about ${formatCount(auto.exact_calls)} calls ` +
        `(${formatSpan(auto.exact_cpu_s)} of CPU time)`,
    );
  if (auto.returned_to_exact > 0)
    parts.push(`switched back ${auto.returned_to_exact === 1 ? "once" : `${auto.returned_to_exact} times`}`);
  if (auto.interval_max > 0) parts.push(describeDistance(auto));
  return parts.join("; ");
}

function methodOf({ exact, method }: Sampling): string {
  if (!exact) return "sampled";
  return method.includes(" but for ") ? "exact, with gaps" : "exact";
}

/** How figures were obtained, in a word; for a comparison, in two words if they differ. */
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
  return `${formatSpan(own)} of CPU time${share}, without cache misses`;
}

function describeModules(header: Header): string {
  const count = header.modules.filter((module) => module.path !== "").length;
  const allocator = header.process.allocator === null ? undefined : header.modules[header.process.allocator];
  const name = allocator?.path.replace(/^.*\//s, "");
  return `${formatExact(count)} module${count === 1 ? "" : "s"}${name ? `; malloc is that of ${name}` : ""}`;
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
    facts.push({ term: "Damage", text: `${formatExact(reading.damage)} damaged records were ignored` });
  return facts.filter((fact) => fact.text !== "");
}

/** As in the head of reports. */
function describeUnsampled({ unsampled_sites: sites, unsampled_bytes: bytes }: Header["auto"]): string {
  const subject = sites === 1 ? "1 site has" : `${formatExact(sites)} sites have`;
  return (
    `${subject} not been sampled since exact counting ended: ` +
    `together at most ${formatBytes(bytes)} more, with 95% confidence`
  );
}

export function autoFacts(header: Header): Fact[] {
  const facts: Fact[] = [];
  if (header.sampling.mode === "auto" && !header.extent.merged)
    facts.push({ term: "Auto mode", text: describeAuto(header) });
  if (header.auto.unsampled_sites > 0) facts.push({ term: "Not sampled", text: describeUnsampled(header.auto) });
  return facts;
}
