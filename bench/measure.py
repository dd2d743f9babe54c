# SPDX-License-Identifier: MIT
"""measure - runs programs under each way of profiling, and reduces what was measured.

The machine is noisy and drifts, so the ways take turns: one round runs each of them once, in random order, and only
figures of the same round are divided by each other. A figure is the median of these ratios; its interval is the 95%
bootstrap interval of that median. The bare program takes part twice: its second column shows what "no difference" looks
like on this machine, on this day.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

RESAMPLES = 2000

# The same work each time.
STEADY = {**os.environ, "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
INTERVAL_BYTES = 512 << 10


class Broken(Exception):
    """A measurement that did not measure what it says."""


@dataclass
class Place:
    build: Path
    scratch: Path


@dataclass
class Way:
    """One column: how the program is started, and which column it is compared with."""

    name: str
    title: str
    against: str = "bare"
    variables: dict = field(default_factory=dict)
    prefix: list = field(default_factory=list)
    few: bool = False  # slow: only in the first rounds
    missing: str = ""  # why it cannot be measured here


def find_library(name):
    for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines():
        if line.strip().startswith(name + " "):
            return line.split("=>")[1].strip()
    return None


def jemalloc_ways():
    library = find_library("libjemalloc.so.2")
    missing = "" if library else "libjemalloc is not installed"
    profiled = {"LD_PRELOAD": library, "MALLOC_CONF": "prof:true,lg_prof_sample:19"}
    if library:
        said = subprocess.run(["true"], env={**os.environ, **profiled}, capture_output=True, text=True).stderr
        missing = "this jemalloc was built without profiling" if "prof" in said else ""
    return [
        Way("jemalloc", "jemalloc", variables={"LD_PRELOAD": library}, few=True, missing=missing),
        Way("jemalloc_prof", "jemalloc's sampling, to jemalloc", "jemalloc", profiled, few=True, missing=missing),
    ]


def heaptrack_ways(place):
    wrapper = shutil.which("heaptrack")
    missing = "" if wrapper else "heaptrack is not installed"
    library = Path(wrapper or "/").parent.parent / "lib/heaptrack/libheaptrack_preload.so"
    raw = {"LD_PRELOAD": str(library), "DUMP_HEAPTRACK_OUTPUT": str(place.scratch / "heaptrack.raw")}
    return [
        Way("heaptrack_alone", "heaptrack, the program", variables=raw, few=True, missing=missing),
        Way("heaptrack", "heaptrack, in all", prefix=[wrapper, "-o", str(place.scratch / "heaptrack")], few=True,
            missing=missing),
    ]


def ways(place):
    plimsoll = {
        "LD_PRELOAD": str(place.build / "libplimsoll.so"),
        "PLIMSOLL_SAMPLE": str(INTERVAL_BYTES),
        "PLIMSOLL_OUT": str(place.scratch / "profile.%p.plim"),
    }
    return [
        Way("bare", "bare"),
        Way("again", "bare again"),
        Way("forward", "forwarding only", variables={"LD_PRELOAD": str(place.build / "bench/forward.so")}),
        Way("plimsoll", "Plimsoll, 512 KiB", variables=plimsoll),
        *heaptrack_ways(place),
        *jemalloc_ways(),
    ]


@dataclass
class Run:
    cpu_s: float
    rss_kib: int
    file_bytes: int = 0


def take_profile(place, way):
    """The size of the profile that a run left behind, which is removed. A run without one measured nothing."""
    found = list(place.scratch.glob("profile.*.plim"))
    if way.name == "plimsoll" and len(found) != 1:
        raise Broken(f"{len(found)} profiles where there should be one")
    size = sum(path.stat().st_size for path in found)
    for path in [*found, *place.scratch.glob("heaptrack*")]:
        path.unlink()
    return size


def run_once(place, way, command):
    result = place.scratch / "measured"
    variables = [f"{name}={value}" for name, value in way.variables.items()]
    words = [place.build / "bench/measure", result, *variables, "--", *way.prefix, *command]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   cwd=place.scratch, env=STEADY)
    user_us, system_us, rss_kib, status = map(int, result.read_text().split())
    if status:
        raise Broken(f"{' '.join(map(str, command))} under {way.name} ended with wait status {status}")
    return Run((user_us + system_us) / 1e6, rss_kib, take_profile(place, way))


def take_turns(place, columns, command, rounds, few_rounds, seed):
    """name of way -> list of runs; run i of every list belongs to round i."""
    chance = random.Random(seed)
    runs = {way.name: [] for way in columns}
    for number in range(rounds):
        turn = [way for way in columns if not way.missing and (number < few_rounds or not way.few)]
        chance.shuffle(turn)
        for way in turn:
            runs[way.name].append(run_once(place, way, command))
    return runs


@dataclass
class Ratio:
    value: float
    low: float
    high: float

    def __str__(self):
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]" if self.value < 2 else f"{self.value:.1f}"

    def overlaps(self, other):
        return self.low <= other.high and other.low <= self.high


def ratio(runs, base):
    """Median ratio of paired runs, with its bootstrap interval."""
    pairs = [run.cpu_s / bare.cpu_s for run, bare in zip(runs, base)]
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return Ratio(statistics.median(pairs), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)])


def instructions(place, way, command):
    """Instructions of the whole process, loader and start-up included, as callgrind counts them."""
    log = place.scratch / "callgrind.log"
    log.unlink(missing_ok=True)
    variables = [f"{name}={value}" for name, value in way.variables.items()]
    words = ["valgrind", "--tool=callgrind", "--trace-children=yes", f"--log-file={log}",
             "--callgrind-out-file=/dev/null", "env", *variables, *command]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, cwd=place.scratch,
                   env=STEADY)
    take_profile(place, way)
    counts = re.findall(r"Collected : (\d+)", log.read_text())
    if not counts:
        raise Broken("callgrind gave no count")
    return int(counts[-1])
