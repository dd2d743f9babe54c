# SPDX-License-Identifier: MIT
"""python - what profiling Python costs, beside memray and tracemalloc: the table `python`.

The interpreter is the one that memray is installed for, if the command `memray` is there; else Debian's. All ways run
the same script with it, interleaved. Ours preload the runtime and leave a profile without names, as memray leaves a file
that it has not looked into yet.
"""

import shutil
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from measure import INTERVAL_BYTES, Way, plimsoll_way, ratio, take_turns
from programs import JOBS
from tables import table

DEBIAN = "/usr/bin/python3"
JOBS_OF_PYTHON = {  # script -> (title, work, what it imports)
    "json_job.py": ("json", 60, "json"),
    "web_job.py": ("requests to a web server", 800, "http.server"),
    "arrays_job.py": ("numpy", 25, "numpy"),
    "xml_job.py": ("XML", 12, "xml.etree"),
    "trees_job.py": ("trees of objects", 60, "sys"),
}
MEMRAY_SHARE_MAX = 1 / 3  # of what memray adds
OBJECTS_MAX = 1.10


def find_interpreter():
    memray = shutil.which("memray")
    beside = Path(memray).parent / "python3" if memray else None
    return str(beside) if beside and beside.exists() else DEBIAN


def imports(interpreter, module):
    return subprocess.run([interpreter, "-c", f"import {module}"], capture_output=True).returncode == 0


def memray_ways(place, interpreter):
    missing = "" if imports(interpreter, "memray") else "memray is not installed"
    titles = {"plain": "memray", "native_traces": "memray, `--native`",
              "trace_python_allocators": "memray, `--trace-python-allocators`"}
    return [Way(option, title, prefix=[interpreter, JOBS / "under_memray.py", place.scratch / "memray.bin", option],
                missing=missing, leaves="memray.bin", replaces=1) for option, title in titles.items()]


def ways(place, interpreter):
    sampled = plimsoll_way(place, "objects", "Plimsoll, 512 KiB, `--python-objects`", INTERVAL_BYTES)
    return [
        Way("bare", "bare"),
        Way("again", "bare again"),
        plimsoll_way(place, "plimsoll", "**Plimsoll, 512 KiB**", INTERVAL_BYTES),
        replace(sampled, variables={**sampled.variables, "PLIMSOLL_PYTHON_OBJECTS": "1"}),
        plimsoll_way(place, "exact", "**Plimsoll, exact**", "exact"),
        *memray_ways(place, interpreter),
        Way("tracemalloc", "tracemalloc", prefix=[interpreter, "-X", "tracemalloc"], replaces=1),
    ]


def median_s(runs):
    return statistics.median(run.cpu_s for run in runs)


def without_start(runs, starts):
    """The same runs, less what each way takes for a program that does nothing."""
    return {name: [replace(run, cpu_s=run.cpu_s - starts[name]) for run in several] for name, several in runs.items()}


def check(title, ratios, targets):
    ours, memray = ratios["exact"], ratios.get("plain")
    if memray:
        most = 1 + (memray.value - 1) * MEMRAY_SHARE_MAX
        targets.add(f"python: {title}, exact", ours, f"at most a third of what memray adds: {most:.3f}",
                    ours.value <= most)
    objects = ratios["objects"]
    targets.add(f"python: {title}, objects sampled", objects, f"at most {OBJECTS_MAX:.2f}",
                objects.value <= OBJECTS_MAX)


def measure_python(place, _programs, options, targets):
    interpreter = find_interpreter()
    columns = ways(place, interpreter)
    rounds = options.few
    runs = take_turns(place, columns, [interpreter, JOBS / "nothing_job.py", 0], rounds, rounds, 0)
    starts = {way.name: median_s(runs[way.name]) for way in columns if runs[way.name]}
    rows = [["start and end", *(f"{1000 * starts[way.name]:.0f} ms" if way.name in starts else "-" for way in columns)]]
    absent = sorted({f"memray: not available, {way.missing}." for way in columns if way.missing})
    for seed, (script, (title, work, module)) in enumerate(JOBS_OF_PYTHON.items(), 1):
        if options.only not in title:
            continue
        if not imports(interpreter, module):
            absent.append(f"{title}: {module} is not installed.")
            continue
        command = [interpreter, JOBS / script, max(1, work // options.shrink)]
        runs = without_start(take_turns(place, columns, command, rounds, rounds, seed), starts)
        ratios = {way.name: ratio(runs[way.name], runs["bare"]) for way in columns if runs[way.name]}
        check(title, ratios, targets)
        rows.append([title, f"{median_s(runs['bare']):.2f} s", *(ratios.get(way.name, "-") for way in columns[1:])])
        print(f"measured {title}", file=sys.stderr)
    version = subprocess.run([interpreter, "--version"], capture_output=True, text=True).stdout.strip()
    table("Python", f"{version}: user and system time as a ratio to the bare program's, the median of {rounds} "
          "interleaved rounds and its 95% interval, without the time that a program that does nothing takes in the same "
          "way, which is the first row. " + " ".join(absent), ["program", *(way.title for way in columns)], rows)
