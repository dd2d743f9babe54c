# SPDX-License-Identifier: MIT
"""reading - the memory that commands need to read the profile of a program with many stacks: the table `reading`.

bench/stacks.c makes the profiles: two runs of the same program with 240,000 stacks, in exact mode. Commands that read
two profiles read both. What counts is the memory for each stack of a profile that is read: the files of stacks that are
called rarely are so small that a ratio to them says little.
"""

import statistics
import sys

from measure import Way, run_once
from tables import table

STACKS = 240_000
STACK_BYTES_MAX = 1000
COMMANDS = {
    "report": ["report"],
    "report --leaks": ["report", "--leaks"],
    "report --tree": ["report", "--tree"],
    "report --since 1ms": ["report", "--since", "1ms"],
    "report --focus l5": ["report", "--focus", "l5"],
    "check": ["check", "--max-peak", "1T"],
    "export, json": ["export", "--format", "json"],
    "export, pprof": ["export", "--format", "pprof"],
    "html": ["html", "-o", "-"],
    "diff": ["diff"],
    "html of two": ["html", "-o", "-"],
    "merge": ["merge", "--force", "-q", "-o", "merged.plim"],
}
OF_TWO = ("diff", "html of two", "merge")


def make_profiles(place, stacks):
    files = [place.scratch / f"stacks{number}.plim" for number in range(2)]
    for file in files:
        run_once(place, Way("bare", "bare"), [place.build / "plimsoll", "run", "-q", "--exact", "--max-file", "256M", "-o",
                                              file, "--", place.build / "bench/stacks", stacks])
    return files


def measure_reading(place, programs, options, targets):
    del programs
    stacks, rounds = STACKS // options.shrink, 1 if options.quick else min(options.rounds, 3)
    files = make_profiles(place, stacks)
    rows = []
    for name, words in COMMANDS.items():
        read = files if name in OF_TWO else files[:1]
        runs = [run_once(place, Way("bare", "bare"), [place.build / "plimsoll", *words, *read]) for _ in range(rounds)]
        memory, size = max(run.rss_kib for run in runs) / 1024, sum(file.stat().st_size for file in read) / 2**20
        cpu = statistics.median(run.cpu_s for run in runs)
        each = memory * 2**20 / stacks / len(read)
        rows.append([name, f"{size:,.0f} MiB", f"{memory:,.0f} MiB", f"{each:,.0f} B", f"{cpu:.1f} s"])
        targets.add(f"memory of {name} with {stacks:,} stacks, for each stack of a profile", f"{each:,.0f} B",
                    f"at most {STACK_BYTES_MAX:,} B", each <= STACK_BYTES_MAX)
        print(f"read: {name}", file=sys.stderr)
    table("Reading", f"Profiles of {stacks:,} stacks, most of them called one to three times. Largest resident set, the "
          "same for each stack of a profile that is read, and CPU time in the median.",
          ["command", "files", "memory", "for each stack", "CPU time"], rows)
