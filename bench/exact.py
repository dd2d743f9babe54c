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

from measure import Way, dhat_way, heaptrack_piped, plimsoll_way, ratio, run_way, take_turns
from programs import LIVE, LIVE_MIXED, LONG, PROGRAMS
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
               plimsoll_way(place, "exact", "**Plimsoll, exact**", "exact"),
               run_way(place, "run", "`plimsoll run --exact`", "--exact"),
               plimsoll_way(place, "auto", "Plimsoll, auto", "auto"), heaptrack_piped(place)]
    rounds, few = (2, 1) if options.quick else (options.exact_rounds, 3)
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
    micro = [added.get(program.name) for program in chosen if program.name in ("micro, 1 thread", "micro, 2 threads")]
    if len(micro) == 2:
        check_threads(targets, *micro, max(1, chosen[0].exact // options.shrink))
    missing = f" Heaptrack: not available, {columns[-1].missing}." if columns[-1].missing else ""
    table("Exact mode: CPU time", f"User and system time as a ratio to the bare program's: the median of {rounds} "
          f"rounds, and its 95% interval; heaptrack: the median of {few}. Its interpreter is another process, and its "
          "CPU time is stated apart, in the same unit. The last columns are shares of what heaptrack adds: what "
          "`plimsoll run --exact` adds in all, names included, and what exact mode adds in the program alone."
          + missing,
          ["program", *(way.title for way in columns), "its interpreter", "**added, of heaptrack's**", "of the program's"],
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
def no_company():
    yield


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


COMPANY = {"alone": no_company, "beside a hog on every core": hogs}


def account(exported):
    sampling = exported["sampling"]
    return {**exported["cost"], "method": sampling["method"], "samples": sampling["samples"]}


def auto_row(program, where, runs, targets):
    ours, control = ratio(runs["auto"], runs["bare"]), ratio(runs["again"], runs["bare"])
    run = max(runs["auto"], key=lambda one: one.figures["profiler_cpu_s"] / one.figures["process_cpu_s"])
    bare = median_of(runs["bare"])
    truth = median_of(runs["auto"]) - bare
    spent, cpu = run.figures["profiler_cpu_s"], run.figures["process_cpu_s"]
    allowed = CREDIT_S + OVERHEAD * cpu
    name = f"{program.name}, {where}"
    targets.add(f"auto: the cold path's own account, {name}", f"{spent:.2f} s", f"at most {allowed:.2f} s",
                spent <= allowed)
    targets.add(f"auto: CPU time, {name}", ours,
                f"at most {1 + OVERHEAD + CREDIT_S / cpu:.3f}, as far as bare again ({control}) can tell",
                ours.value <= 1 + OVERHEAD + CREDIT_S / cpu + abs(control.value - 1))
    return [program.name, where, f"{bare:.0f} s", control, ours, f"{truth:.2f} s", f"{spent:.2f} s",
            f"{run.figures['samples']:,}", run.figures["method"]]


def measure_auto(place, programs, options, targets):
    columns = [Way("bare", "bare"), Way("again", "bare again"), plimsoll_way(place, "auto", "Plimsoll, auto", "auto")]
    rounds, rows = (1 if options.quick else 2), []
    for program in (program for program in LONG if program in programs):
        command = program.command(place, max(1, program.work // options.shrink))
        for where, company in COMPANY.items():
            with company():
                runs = take_turns(place, columns, command, rounds, rounds, 0, keep=account)
            rows.append(auto_row(program, where, runs, targets))
            print(f"measured {program.name}, {where}", file=sys.stderr)
    table("Auto mode over half a minute and a minute", "CPU time as a ratio to the bare program's, the median of "
          f"{rounds} rounds, with a budget of {OVERHEAD:.0%} and {CREDIT_S} s. `Really added` is measured from "
          "outside, against the bare program; `by its account` is what the cold path says it took.",
          ["program", "where", "bare", "bare again", "**Plimsoll, auto**", "really added", "by its account", "samples",
           "what it recorded"], rows)
