# SPDX-License-Identifier: MIT
"""glibc - the cost of the profiler inside glibc's malloc: the table `glibc`.

Two builds of the same source with the same flags are compared, one with the profiler and one without. Both run the same
programs, each by its own loader. A copy of the unpatched build is the A/A control. Instructions are counted per call
(callgrind.py) with the profiler off, and on with an interval so large that nothing is sampled: every call pays this.
CPU time is also measured with samples.
"""

import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from callgrind import COUNT, account_of_calls
from measure import INTERVAL_BYTES, Broken, Way, instructions, plimsoll_way, ratio, take_profile, take_turns
from programs import PROGRAMS, Program
from tables import table

MALLOC_MORE_MAX = 4
FREE_MORE_MAX = 2
PAIRS_RATIO_MAX = 1.05
RARE = 1 << 40
SHRINK_REAL = 16  # real programs are only for information: a sixteenth of the work of the table `instructions`
SCRIPT = Path(__file__).resolve().parent.parent / "src/glibc/build"
SOURCE_UNAVAILABLE = 77
SAME = ("release", "package", "sha256", "flags")


# ---- the two builds ----


class Missing(Exception):
    """There is no such build, and it cannot be made here."""


def loader_of(directory):
    """The words that start a program with the glibc in this directory."""
    found = sorted((directory / "lib").glob("ld-linux*.so.*"))
    if not found or not (directory / "lib/libc.so.6").exists():
        raise Broken(f"{directory} has no glibc: lib/ld-linux-*.so.* and lib/libc.so.6 are needed; "
                     f"src/glibc/build --into {directory} makes them")
    return [found[0], "--library-path", directory / "lib"]


def find_build(given, usual, *options):
    """The given directory, or the usual one, in which glibc is built if it is missing."""
    if given:
        return given.resolve()
    if not (usual / "SOURCE").exists():
        print(f"building glibc in {usual} (once, some minutes) ...", file=sys.stderr)
        done = subprocess.run([SCRIPT, *options, "--into", usual], stdout=subprocess.DEVNULL)
        if done.returncode == SOURCE_UNAVAILABLE:
            raise Missing("glibc's source is not available here")
        if done.returncode:
            raise Broken(f"{SCRIPT} failed")
    return usual


def facts_of(directory):
    """The description of a build in its file SOURCE."""
    path = directory / "SOURCE"
    if not path.exists():
        raise Broken(f"{directory} does not say what it was made of: it has no file SOURCE")
    return dict(line.split(None, 1) for line in path.read_text().splitlines() if " " in line)


def profiling(directory, interval_bytes):
    """The variables that switch the profiler on."""
    return {"GLIBC_MALLOC_PROFILE": "1", "GLIBC_MALLOC_PROFILE_BYTES": str(interval_bytes),
            "GLIBC_MALLOC_PROFILE_OUT": str(directory / "profile")}


def has_profiler(calls, directory, scratch):
    """Whether a program that runs with this glibc leaves a profile."""
    subprocess.run([*loader_of(directory), calls, "malloc", "24", "1"], check=True,
                   env={**os.environ, **profiling(scratch, RARE)})
    found = list(scratch.glob("profile.*.plim"))
    for path in found:
        path.unlink()
    return bool(found)


def check_builds(calls, patched, plain, scratch):
    """Checks that the two builds differ only in the profiler. Returns a description of their source."""
    for directory in (patched, plain):
        loader_of(directory)
    ours, theirs = facts_of(patched), facts_of(plain)
    for fact in SAME:
        if ours.get(fact) != theirs.get(fact):
            raise Broken(f"{patched} and {plain} cannot be compared: {fact} {ours.get(fact)}, {theirs.get(fact)}")
    if not has_profiler(calls, patched, scratch):
        raise Broken(f"{patched} has no profiler in it: it left no profile")
    if has_profiler(calls, plain, scratch):
        raise Broken(f"{plain} should be without the profiler: it left a profile")
    return f"glibc {ours['release']} ({ours['package']})"


@dataclass
class Builds:
    patched: Path
    plain: Path
    copy: Path  # of plain
    source: str


def find_builds(place, options):
    patched = find_build(options.glibc, place.build / "glibc")
    plain = find_build(options.glibc_plain, place.build / "glibc-plain", "--plain")
    copy = place.scratch / "glibc-plain"
    source = check_builds(place.build / "bench/calls", patched, plain, place.scratch)
    shutil.copytree(plain / "lib", copy / "lib", symlinks=True, ignore=shutil.ignore_patterns("*.a"))
    return Builds(patched, plain, copy, source)


def ways(place, builds, interval_bytes):
    """The columns. The preload runs with the unpatched build."""
    profiled = profiling(place.scratch, interval_bytes)
    plain, patched = loader_of(builds.plain), loader_of(builds.patched)
    return [
        Way("plain", "unpatched", prefix=plain),
        Way("again", "unpatched again", "plain", prefix=loader_of(builds.copy)),
        Way("off", "patched, off", "plain", prefix=patched),
        Way("on", "**patched, on**", "plain", profiled, prefix=patched, profile=True),
        plimsoll_way(place, "preload", "preload", interval_bytes, against="plain", prefix=plain),
    ]


# ---- instructions of a call ----


@dataclass
class Call:
    """A row: the function that bench/calls calls, the number of bytes, the number of threads."""

    kind: str
    size: int
    title: str
    threads: int = 1
    caller: str = "take_malloc"  # the function of bench/calls from which it is called

    @property
    def promised(self):
        return self.kind == "malloc"


CALLS = [
    Call("malloc", 24, "24 B, from the thread's cache"),
    Call("malloc", 200, "200 B, from the thread's cache"),
    Call("malloc", 1000, "1,000 B, from the thread's cache"),
    Call("malloc", 24, "24 B, from the thread's cache, 2 threads", threads=2),
    Call("malloc", 2000, "2,000 B, from an arena"),
    Call("malloc", 2000, "2,000 B, from an arena, 2 threads", threads=2),
    Call("malloc", 20_000, "20,000 B, from an arena"),
    Call("calloc", 24, "calloc of 24 B", caller="take_calloc"),
    Call("aligned", 128, "aligned_alloc of 128 B", caller="take_aligned"),
    Call("realloc", 200, "realloc of 16 B to 200 B, moved", caller="take_realloc"),
    Call("resize", 24, "realloc to the same size", caller="take_realloc"),
]


def count_call(place, call, way):
    """Instructions of the allocation, and of the free after it."""
    account = account_of_calls(place.build / "bench/calls", way.prefix, call.kind, call.size, call.threads,
                               way.variables, place.scratch, after=lambda: take_profile(place, way))
    return account.cost_of_calls(call.caller) / COUNT, account.cost_of_calls("give") / COUNT


def figure(count):
    return f"{count:,.0f}" if count == int(count) else f"{count:,.2f}"


def more(count):
    return f"+{figure(count)}" if count >= 0 else figure(count)


def check_calls(counts, name, targets):
    """The worst of all rows that have a limit."""
    for part, (function, limit) in enumerate((("malloc", MALLOC_MORE_MAX), ("free", FREE_MORE_MAX))):
        worst = max(of[name][part] - of["plain"][part] for call, of in zip(CALLS, counts) if call.promised)
        targets.add(f"glibc: instructions more in {function}, {name}", more(worst), f"at most +{limit}", worst <= limit)


def call_row(call, of):
    def cells(part):
        plain = of["plain"][part]
        return [figure(plain), *(more(of[name][part] - plain) for name in ("off", "on"))]

    return [call.title, *cells(0), *cells(1)]


def measure_calls(place, builds, targets):
    columns = [way for way in ways(place, builds, RARE) if way.name in ("plain", "off", "on")]
    counts = [{way.name: count_call(place, call, way) for way in columns} for call in CALLS]
    for name in ("off", "on"):
        check_calls(counts, name, targets)
    print("counted the instructions of calls", file=sys.stderr)
    table("Inside glibc: instructions of a call", f"Counted by callgrind, in {builds.source}, built with the profiler "
          "and without. `more`: what the build with it takes in addition, with the profiler off, and on but not "
          "sampling. The limits are for malloc, whatever its size, and for the frees that follow it.",
          ["what is allocated", "allocating", "more, off", "**more, on**", "freeing", "more, off", "**more, on**"],
          [call_row(call, of) for call, of in zip(CALLS, counts)])


# ---- CPU time ----


def calls_of_malloc(threads):
    return lambda place, work: [place.build / "bench/calls", "malloc", 48, work // threads, threads]


# The speed of a loop of nothing but malloc and free varies by a tenth from one moment to the next, with other users of
# the machine and the placement of its pages. Many short rounds measure it better than a few long ones.
MORE_ROUNDS = 4

BARE_PAIRS = [
    Program("malloc/free, nothing else, 1 thread", calls_of_malloc(1), work=16_000_000, small=0, real=False),
    Program("malloc/free, nothing else, 2 threads", calls_of_malloc(2), work=16_000_000, small=0, real=False),
]
PAIRS = [*((program, MORE_ROUNDS) for program in BARE_PAIRS), *((program, 1) for program in PROGRAMS[:2])]


def measure_pairs(place, builds, options, targets):
    columns = ways(place, builds, INTERVAL_BYTES)
    rows = []
    for seed, (program, more_rounds) in enumerate(PAIRS):
        command = program.command(place, program.work // options.shrink)
        rounds = options.rounds * more_rounds
        runs = take_turns(place, columns, command, rounds, rounds, seed)
        ratios = {way.name: ratio(runs[way.name], runs["plain"]) for way in columns[1:]}
        for name in ("off", "on"):
            targets.add(f"glibc: CPU time, {program.name}, {name}", ratios[name], f"at most {PAIRS_RATIO_MAX}",
                        ratios[name].value <= PAIRS_RATIO_MAX)
        seconds = statistics.median(run.cpu_s for run in runs["plain"])
        rows.append([program.name, f"{seconds:.2f} s", *ratios.values()])
        print(f"measured {program.name}", file=sys.stderr)
    table("Inside glibc: CPU time", f"User and system time as a ratio to the unpatched build's: the median of "
          f"{options.rounds} interleaved rounds ({options.rounds * MORE_ROUNDS} shorter ones where there is nothing "
          f"else), and its 95% interval. `unpatched again` is a copy of the unpatched build; on and preload sample "
          f"every {INTERVAL_BYTES >> 10} KiB.",
          ["program", *(way.title for way in columns)], rows)


# ---- real programs ----


def measure_real(place, builds, options):
    columns = [way for way in ways(place, builds, INTERVAL_BYTES) if way.name in ("plain", "off", "on")]
    rows = []
    for program in (program for program in PROGRAMS if program.real):
        command = program.command(place, max(1, program.small // SHRINK_REAL // options.shrink))
        plain, *others = (instructions(place, way, command) for way in columns)
        rows.append([program.name, f"{plain / 1e6:,.0f} M", *(f"{count / plain:.4f}" for count in others)])
        print(f"counted {program.name}", file=sys.stderr)
    table("Inside glibc: instructions of programs", "Counted by callgrind over the whole process, as a ratio to the "
          f"unpatched build's; on samples every {INTERVAL_BYTES >> 10} KiB. These are short runs: starting the "
          "profiler is a part of the difference.",
          ["program", *(way.title for way in columns)], rows)


def measure_glibc(place, programs, options, targets):
    del programs
    try:
        builds = find_builds(place, options)
    except Missing as reason:
        print(f"\nInside glibc: not measured, {reason}.")
        return
    measure_calls(place, builds, targets)
    measure_pairs(place, builds, options, targets)
    measure_real(place, builds, options)
