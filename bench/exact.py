# SPDX-License-Identifier: MIT
"""exact - the cost of exact and auto mode, compared with heaptrack and DHAT: the tables `exact`, `memory` and `auto`.

A profiler adds its CPU time minus that of the bare program, both as medians of interleaved rounds. Ours is measured
twice: preloaded, which is the cost inside the program, and by `plimsoll run`, with all that it does. Heaptrack is two
processes: the program, which writes an event for every allocation, and an interpreter, which reads them. They are
started here like heaptrack's own wrapper does it, with a pipe in between, and each is measured separately. Heaptrack
adds the CPU time of both. The share that it adds to the program alone is stated beside it.
"""

import os
import statistics
import subprocess
import sys
from contextlib import contextmanager

from measure import (INTERVAL_BYTES, Way, dhat_way, heaptrack_piped, plimsoll_way, ratio, run_together, run_way,
                     take_turns)
from programs import LIVE, LIVE_MIXED, LONG, ONE_THREAD, PROGRAMS, TWO_THREADS
from tables import table

ADDED_MAX = 1 / 10  # of heaptrack's addition, on every workload, with everything that `plimsoll run` does
ADDED_MEAN_MAX = 1 / 10  # in the geometric mean
REAL_RATIO_MAX = 1.25  # to the bare program, median over real programs
FILE_MIB_MAX = 16
BLOCK_BYTES_MAX = 24
MEMORY_FREE_KIB = 4096
HEAP_SHARE_MAX = 0.08  # of a heap of large blocks
CREDIT_S = 0.1
OVERHEAD = 0.02


def median_of(runs, what="cpu_s"):
    return statistics.median(getattr(run, what) for run in runs)


def check_file(targets, table_name, program, runs):
    mib = max(run.file_bytes for run in runs) / 2**20
    targets.add(f"{table_name}: profile, {program.name}", f"{mib:.1f} MiB", f"under {FILE_MIB_MAX} MiB",
                mib < FILE_MIB_MAX)
    return f"{mib:.1f} MiB"


# ---- CPU time ----


class Added:
    """The CPU seconds that the profilers add to one program."""

    def __init__(self, runs):
        bare = median_of(runs["bare"])
        self.exact = median_of(runs["exact"]) - bare
        self.share = self.share_alone = None
        if runs["heaptrack"]:
            alone = median_of(runs["heaptrack"]) - bare
            run = median_of(runs["run"]) - bare
            self.share_alone = self.exact / alone
            self.share = run / (alone + statistics.median(run.reader.cpu_s for run in runs["heaptrack"]))


def exact_row(program, runs, columns, added):
    ratios = {way.name: ratio(runs[way.name], runs["bare"]) for way in columns if runs[way.name]}
    bare = median_of(runs["bare"])
    cells = [program.name, f"{bare:.2f} s", *(ratios.get(way.name, "-") for way in columns[1:])]
    if not runs["heaptrack"]:
        return [*cells, "-", "-", "-"]
    interpreter = statistics.median(run.reader.cpu_s for run in runs["heaptrack"])
    return [*cells, f"{interpreter / bare:.1f}", f"{added.share:.3f}", f"{added.share_alone:.2f}"]


def check_threads(targets, one, two, work):
    """Two threads share the work of one. The cost that is added to each allocation must not grow."""
    each = [added.exact / work * 1e9 for added in (one, two)]
    targets.add("exact: ns added to a malloc/free pair, 2 threads", f"{each[1]:.0f}",
                f"as 1 thread: {each[0]:.0f}, plus a tenth for noise", each[1] <= 1.1 * each[0])


def say_added(added, options):
    """The figures that people quote, in words."""
    pairs = max(1, ONE_THREAD.exact // options.shrink)
    each = [f"{added[program.name].exact / pairs * 1e9:.0f} ns with {threads}" for program, threads in
            ((ONE_THREAD, "one thread"), (TWO_THREADS, "two")) if program.name in added]
    shares = [one.share for one in added.values() if one.share is not None]
    said = f" A malloc/free pair of depth 20 takes longer by {' and by '.join(each)}." if each else ""
    if shares:
        mean = statistics.geometric_mean(max(share, 1e-3) for share in shares)
        said += (f" In all, exact mode adds {min(shares):.1%} to {max(shares):.1%} of what heaptrack adds; in the "
                 f"geometric mean {mean:.1%}.")
    return said


def check_added(targets, added, real_ratios):
    shares = {name: one.share for name, one in added.items() if one.share is not None}
    for name, share in shares.items():
        targets.add(f"exact: added CPU, of heaptrack's, {name}", f"{share:.3f}", f"at most {ADDED_MAX:.2f}",
                    share <= ADDED_MAX)
    if shares:
        mean = statistics.geometric_mean(max(share, 1e-3) for share in shares.values())
        targets.add("exact: added CPU, of heaptrack's, geometric mean", f"{mean:.3f}", f"at most {ADDED_MEAN_MAX:.2f}",
                    mean <= ADDED_MEAN_MAX)
    if real_ratios:
        middle = statistics.median(real_ratios)
        targets.add("exact: CPU time, median of the real programs", f"{middle:.3f}", f"at most {REAL_RATIO_MAX}",
                    middle <= REAL_RATIO_MAX)


def measure_exact(place, programs, options, targets):
    columns = [Way("bare", "bare"), Way("again", "bare again"),
               plimsoll_way(place, "sampled", "sampled", INTERVAL_BYTES),
               plimsoll_way(place, "exact", "**exact**", "exact"),
               run_way(place, "run", "`plimsoll run --exact`", "--exact"),
               plimsoll_way(place, "auto", "auto", "auto"), heaptrack_piped(place)]
    rounds, few = (2, 1) if options.quick else (options.exact_rounds, min(options.few, 3))
    rows, added, real_ratios = [], {}, []
    chosen = [program for program in programs if program.exact]
    for seed, program in enumerate(chosen):
        command = program.command(place, max(1, program.exact // options.shrink))
        runs = take_turns(place, columns, command, rounds, few, seed)
        added[program.name] = Added(runs)
        rows.append(exact_row(program, runs, columns, added[program.name]))
        check_file(targets, "exact", program, runs["exact"] + runs["auto"])
        if program.real:
            real_ratios.append(ratio(runs["exact"], runs["bare"]).value)
        print(f"measured {program.name}", file=sys.stderr)
    check_added(targets, added, real_ratios)
    said = say_added(added, options)
    both = [added.get(program.name) for program in (ONE_THREAD, TWO_THREADS)]
    if all(both):
        check_threads(targets, *both, max(1, ONE_THREAD.exact // options.shrink))
    missing = f" Heaptrack: not available, {columns[-1].missing}." if columns[-1].missing else ""
    table("Exact mode: CPU time", f"User and system time as a ratio to the bare program's: the median of {rounds} "
          f"rounds, and its 95% interval; heaptrack: the median of {few}. Its interpreter is another process, and its "
          "CPU time is stated apart, in the same unit. The last columns are shares of what heaptrack adds: what "
          "`plimsoll run --exact` adds in all, names included, and what exact mode adds in the program alone. "
          f"`sampled` is every {INTERVAL_BYTES >> 10} KiB. The runs are short, so start-up and the credit of "
          "auto mode are large parts of these figures." + said + missing,
          ["program", *(way.title for way in columns), "its interpreter", "**added, of heaptrack's**",
           "of the program's"],
          rows)


# ---- memory ----


def live_blocks(exported):
    return {"blocks": exported["totals"]["peak_objects"]["value"]}


def memory_row(program, runs, targets):
    bare, exact = (median_of(runs[name], "rss_kib") for name in ("bare", "exact"))
    blocks = runs["exact"][0].figures["blocks"]
    more = exact - bare
    of_blocks = HEAP_SHARE_MAX * bare if program is LIVE_MIXED else BLOCK_BYTES_MAX * blocks / 1024
    allowed = MEMORY_FREE_KIB + of_blocks
    targets.add(f"memory: exact mode, {program.name}", f"{more:,.0f} KiB", f"at most {allowed:,.0f} KiB",
                more <= allowed)
    per_block = max(0, more - MEMORY_FREE_KIB) * 1024 / blocks

    def more_than_bare(name, what=lambda run: run.rss_kib):
        return f"{statistics.median(map(what, runs[name])) - bare:,.0f} KiB" if runs[name] else "-"

    interpreter = f"{runs['heaptrack'][0].reader.rss_kib:,.0f} KiB" if runs["heaptrack"] else "-"
    return [program.name, f"{blocks:,.0f}", f"{bare:,.0f} KiB", f"{more:,.0f} KiB", f"{per_block:.1f} B",
            more_than_bare("heaptrack"), interpreter, more_than_bare("dhat"),
            check_file(targets, "memory", program, runs["exact"])]


def measure_memory(place, programs, options, targets):
    columns = [Way("bare", "bare"), plimsoll_way(place, "exact", "exact", "exact"), heaptrack_piped(place),
               dhat_way(place)]
    rows = []
    wanted = [LIVE, LIVE_MIXED, *(program for program in PROGRAMS if program.name in ("sqlite3", "cc1 -O2"))]
    for program in (program for program in wanted if program in programs):
        command = program.command(place, max(1, program.small // options.shrink))
        runs = take_turns(place, columns, command, 1, 1, 0, keep=live_blocks)
        rows.append(memory_row(program, runs, targets))
        print(f"measured {program.name}", file=sys.stderr)
    table("Exact mode: memory", "Largest resident set beyond the bare program's. Blocks are those that were live at "
          f"the peak; bytes per block are counted beyond the first {MEMORY_FREE_KIB >> 10} MiB. Heaptrack keeps its "
          "memory of blocks in its interpreter, whose whole resident set is shown.",
          ["program", "live blocks", "bare", "**exact: more**", "**per block**", "heaptrack: more", "its interpreter",
           "DHAT: more", "profile"], rows)


# ---- auto ----


@contextmanager
def hogs():
    """A process on every core that never waits."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def run_alone(place, columns, command, seed):
    return take_turns(place, columns, command, 1, 1, seed, keep=account)


def run_beside_hogs(place, columns, command, _seed):
    """At the same time: in turns each would take twice as long, and the machine would be a different one each time."""
    with hogs():
        return run_together(place, columns, command, keep=account)


COMPANY = {"alone": run_alone, "beside a hog on every core": run_beside_hogs}
SETTLED_S = 10


def interval_at(timeline, seconds):
    """T at the first moment of the timeline from here on that has one; 0 if exact mode lasted."""
    return next((moment["interval_bytes"] for moment in timeline
                 if moment["time_s"] >= seconds and moment["interval_bytes"]), 0)


def account(exported):
    sampling = exported["sampling"]
    return {**exported["cost"], "method": sampling["method"].split(";")[0], "samples": sampling["samples"],
            "early": interval_at(exported["timeline"], SETTLED_S), "late": exported["auto"]["interval_bytes"]}


def kib(count):
    return f"{count / 1024:.0f} KiB" if count else "-"


def auto_row(program, where, runs, targets):
    ours, control = (ratio(runs[name], runs["bare"]).value for name in ("auto", "again"))
    bare, figures = runs["bare"][0].cpu_s, runs["auto"][0].figures
    truth, spent, cpu = runs["auto"][0].cpu_s - bare, figures["profiler_cpu_s"], figures["process_cpu_s"]
    allowed = CREDIT_S + OVERHEAD * cpu
    name = f"{program.name}, {where}"
    targets.add(f"auto: the cold path's own account, {name}", f"{spent:.2f} s", f"at most {allowed:.2f} s",
                spent <= allowed)
    most = 1 + OVERHEAD + CREDIT_S / bare
    targets.add(f"auto: CPU time, {name}", f"{ours:.3f}",
                f"at most {most:.3f}, as far as bare again ({control:.3f}) can tell", ours <= most + abs(control - 1))
    early, late = figures["early"], figures["late"]
    if early and late:
        targets.add(f"auto: T after {SETTLED_S} s, {name}", kib(early),
                    f"within a factor of 2 of {kib(late)}, at the end", late / 2 <= early <= late * 2)
    return [program.name, where, f"{bare:.0f} s", f"{control:.3f}", f"**{ours:.3f}**", f"{truth:.2f} s",
            f"{spent:.2f} s", f"{allowed:.2f} s", f"{figures['samples']:,}", kib(early), kib(late)]


def measure_auto(place, programs, options, targets):
    columns = [Way("bare", "bare"), Way("again", "bare again"), plimsoll_way(place, "auto", "Plimsoll, auto", "auto")]
    rows = []
    for seed, program in enumerate(program for program in LONG if program in programs):
        command = program.command(place, max(1, program.work // options.shrink))
        for where, run in COMPANY.items():
            rows.append(auto_row(program, where, run(place, columns, command, seed), targets))
            print(f"measured {program.name}, {where}", file=sys.stderr)
    table("Auto mode over half a minute and a minute", "CPU time of single runs, as a ratio to the bare program's, "
          f"with a budget of {OVERHEAD:.0%} and a credit of {CREDIT_S} s. Alone, the three runs of a row took turns; "
          "beside a hog on every core they ran at the same time. `Really added` is measured from outside, against the "
          "bare program; `by its account` is what the cold path says it took, and `allowed` what it may take. T is the "
          "sampling interval.",
          ["program", "where", "bare", "bare again", "**Plimsoll, auto**", "really added", "by its account", "allowed",
           "samples", f"T after {SETTLED_S} s", "T at the end"], rows)
