# SPDX-License-Identifier: MIT
"""tools - what other heap profilers cost on the same programs: the tables of docs/comparison.md.

Every tool runs the same command in the same rounds. A tool that brings its own allocator is compared with that
allocator without profiling, so that a faster malloc does not hide what the profiler costs. heaptrack's wrapper starts a
second process, whose CPU time is counted too. memray profiles Python only; it is measured if the command `memray` is
there, and installed for the Python that runs the job.
"""

import shutil
import statistics
import sys

from measure import (INTERVAL_BYTES, Way, dhat_way, find_library, heaptrack_ways, jemalloc_ways, plimsoll_way, ratio,
                     take_turns)
from programs import LIVE, PROGRAMS
from tables import table

ROUNDS = 3
LIVE_BLOCKS = 5_000_000


def tcmalloc_ways(place):
    library = find_library("libtcmalloc.so.4")
    missing = "" if library else "gperftools (google-perftools) is not installed"
    preload = {"LD_PRELOAD": library}
    return [
        Way("tcmalloc", "tcmalloc", variables=preload, missing=missing),
        Way("tcmalloc_sampled", "gperftools, samples, to tcmalloc", "tcmalloc",
            {**preload, "TCMALLOC_SAMPLE_PARAMETER": str(INTERVAL_BYTES)}, missing=missing),
        Way("tcmalloc_profile", "gperftools, `HEAPPROFILE`, to tcmalloc", "tcmalloc",
            {**preload, "HEAPPROFILE": str(place.scratch / "tcmalloc")}, missing=missing, leaves="tcmalloc.*"),
    ]


def jemalloc_dump_way(place):
    """jemalloc writes a profile only when it is told to: here once, at exit."""
    plain, sampled = jemalloc_ways()
    conf = f"{sampled.variables['MALLOC_CONF']},prof_final:true,prof_prefix:{place.scratch / 'jeprof'}"
    return Way("jemalloc_dump", "jemalloc's sampling, with a dump at exit, to jemalloc", plain.name,
               {**sampled.variables, "MALLOC_CONF": conf}, missing=sampled.missing, leaves="jeprof.*")


def massif_way(place):
    missing = "" if shutil.which("valgrind") else "valgrind is not installed"
    prefix = ["valgrind", "--tool=massif", f"--massif-out-file={place.scratch / 'massif.out'}"]
    return Way("massif", "massif", prefix=prefix, missing=missing, leaves="massif.out")


def memray_ways(place, command):
    """memray runs a Python script itself: its command stands for the first two words, the interpreter and -S."""
    memray = shutil.which("memray")
    missing = "" if memray else "memray is not installed"
    if str(command[0]).rsplit("/", 1)[-1] != "python3":
        return []
    out = ["run", "--quiet", "--output", str(place.scratch / "memray.bin"), "--force"]
    return [
        Way("memray", "memray", prefix=[memray, *out], missing=missing, leaves="memray.bin", replaces=2),
        Way("memray_native", "memray `--native`", prefix=[memray, *out, "--native"], missing=missing,
            leaves="memray.bin", replaces=2),
    ]


def tools_for(place, command):
    return [
        Way("bare", "nothing"),
        Way("again", "nothing (control)"),
        plimsoll_way(place, "plimsoll", "Plimsoll, samples", INTERVAL_BYTES),
        plimsoll_way(place, "exact", "Plimsoll, exact", "exact"),
        *heaptrack_ways(place),
        *jemalloc_ways(),
        jemalloc_dump_way(place),
        *tcmalloc_ways(place),
        dhat_way(place),
        massif_way(place),
        *memray_ways(place, command),
    ]


def cells(runs, columns):
    """title -> the CPU time's ratio, memory beyond what it is compared with, and the size of what it wrote."""
    found = {}
    for way in columns[1:]:
        if not runs[way.name]:
            continue
        base = statistics.median(run.rss_kib for run in runs[way.against])
        more = statistics.median(run.rss_kib for run in runs[way.name]) - base
        file_kib = statistics.median(run.file_bytes for run in runs[way.name]) / 1024
        found[way.title] = {
            "time": f"{ratio(runs[way.name], runs[way.against]).value:.3g}",
            "memory": f"{more / 1024:,.1f} MiB",
            "file": f"{file_kib:,.0f} KiB" if file_kib else "-",
        }
    return found


def measure_tools(place, programs, options, _targets):
    rounds = 1 if options.quick else ROUNDS
    chosen = [(program, program.exact) for program in PROGRAMS if program.exact and program in programs]
    if LIVE in programs:
        chosen.append((LIVE, LIVE_BLOCKS))
    measured, titles, missing = {}, {}, {}
    for seed, (program, work) in enumerate(chosen):
        command = program.command(place, max(1, work // options.shrink))
        columns = tools_for(place, command)
        runs = take_turns(place, columns, command, rounds, rounds, seed)
        measured[program.name] = cells(runs, columns)
        titles.update({way.title: True for way in columns[1:]})
        missing.update({way.title: way.missing for way in columns if way.missing})
        print(f"measured {program.name}", file=sys.stderr)
    absent = "".join(f" {title}: not available, {why}." for title, why in missing.items())
    for what, title, note in (
            ("time", "Other tools: CPU time", "User and system time as a ratio to the bare program's, children included."),
            ("memory", "Other tools: memory", "Largest resident set of a process beyond the bare program's."),
            ("file", "Other tools: files", "The size of what is written.")):
        rows = [[tool, *(found.get(tool, {}).get(what, "-") for found in measured.values())] for tool in titles]
        table(title, f"{note} The median of {rounds} interleaved rounds." + absent, ["tool", *measured], rows)
