# SPDX-License-Identifier: MIT
"""exports - the cost of reading and exporting the profile of a large program: the table `exports`.

The profile has 200,000 stacks of 24 frames, and 60,000 different addresses in 15 modules, which are 1 GB with their
debug information: copies of the C++ program of bench/symbolize, whose names are very long. tests/export/large writes
the synthetic profile. Each export symbolizes the modules again, which is most of the work. `report` on the same profile
does the same, and is the reference.
"""

import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from measure import Way, run_once
from tables import table

MODULES = 15
STACKS = 200_000
PLACES = 60_000
FORMATS = ("json", "pprof", "otlp", "speedscope", "collapsed", "callgrind", "dhat", "massif", "csv", "dot", "svg", "page")
CPU_RATIO_MAX = 4
MEMORY_RATIO_MAX = 2.5
SYMBOLIZE = Path(__file__).resolve().parent / "symbolize"


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def build_module(place):
    """Builds the program that is copied. This takes a minute and a half, once."""
    made = place.build / "bench/symbolize/big"
    if not (made / "big").exists():
        print("building a large C++ program (once) ...", file=sys.stderr)
    subprocess.run([SYMBOLIZE / "build.sh", made], check=True, stdout=subprocess.DEVNULL)
    return made / "big"


def describe(module):
    """Build-id, start and size of its code."""
    build_id = re.search(r"Build ID: ([0-9a-f]+)", output_of("readelf", "-nW", module))[1]
    text = re.search(r"\.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", output_of("readelf", "-SW", module))
    return build_id, f"0x{text[1]}", f"0x{text[2]}"


def make_profile(place, options):
    module = build_module(place)
    known = describe(module)
    words = []
    for number in range(max(1, MODULES // options.shrink)):
        copy = place.scratch / f"module{number}.so"
        shutil.copyfile(module, copy)
        words += [copy, *known]
    profile = place.scratch / "large.plim"
    output_of("ninja", "-C", place.build, "tests/export/large")
    output_of(place.build / "tests/export/large", profile, STACKS // options.shrink, PLACES // options.shrink, *words)
    return profile


def measure(place, command, rounds):
    runs = [run_once(place, Way("bare", "bare"), command) for _ in range(rounds)]
    return statistics.median(run.cpu_s for run in runs), max(run.rss_kib for run in runs) / 1024


def measure_exports(place, programs, options, targets):
    del programs
    profile, rounds = make_profile(place, options), 1 if options.quick else min(options.rounds, 3)
    plimsoll = place.build / "plimsoll"
    report = measure(place, [plimsoll, "report", profile], rounds)
    rows = [["report", f"{report[0]:.1f} s", "", f"{report[1]:,.0f} MiB", "", "-"]]
    for form in FORMATS:
        out = place.scratch / "out"
        cpu, memory = measure(place, [plimsoll, "export", "--format", form, profile, "-o", out], rounds)
        rows.append([form, f"{cpu:.1f} s", f"{cpu / report[0]:.2f}", f"{memory:,.0f} MiB", f"{memory / report[1]:.2f}",
                     f"{out.stat().st_size / 1e6:,.0f} MB"])
        out.unlink()
        targets.add(f"CPU time of export {form} of a large profile, to that of report", f"{cpu / report[0]:.2f}",
                    f"at most {CPU_RATIO_MAX}", cpu <= CPU_RATIO_MAX * report[0])
        targets.add(f"memory of export {form} of a large profile, to that of report", f"{memory / report[1]:.2f}",
                    f"at most {MEMORY_RATIO_MAX}", memory <= MEMORY_RATIO_MAX * report[1])
        print(f"exported {form}", file=sys.stderr)
    table("Exports", f"Of a profile of {profile.stat().st_size / 1e6:,.0f} MB with {STACKS // options.shrink:,} stacks and "
          f"{PLACES // options.shrink:,} places in {max(1, MODULES // options.shrink)} modules of 68 MB each; names are "
          "read from the modules. CPU time in the median, memory at most, ratios to `report`.",
          ["what", "CPU time", "ratio", "memory", "ratio", "written"], rows)
