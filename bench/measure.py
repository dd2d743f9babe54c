# SPDX-License-Identifier: MIT
"""measure - runs programs with each profiler, and reduces the measurements.

The machine is noisy and drifts, so the profilers take turns: one round runs each of them once, in random order, and
only figures of the same round are divided by each other. A figure is the median of these ratios. Its interval is the
95% bootstrap interval of that median. The bare program runs twice per round: its second column shows what "no
difference" looks like on this machine at this time.
"""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

RESAMPLES = 2000

# Makes programs do the same work each time.
STEADY = {**os.environ, "PYTHONHASHSEED": "0", "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}
INTERVAL_BYTES = 512 << 10
PIPE = "heaptrack.pipe"


class Broken(Exception):
    """A measurement that did not measure what it claims."""


@dataclass
class Place:
    build: Path
    scratch: Path


@dataclass
class Way:
    """One column: how the program is started, and the column that it is compared with."""

    name: str
    title: str
    against: str = "bare"
    variables: dict = field(default_factory=dict)
    prefix: list = field(default_factory=list)
    few: bool = False  # slow, so only in the first rounds
    missing: str = ""  # why it cannot be measured here
    profile: bool = False  # leaves a profile of ours
    reader: str = ""  # a shell command that reads the program's output from the pipe
    leaves: str = ""  # the files that it writes, as a pattern in the scratch directory
    replaces: int = 0  # how many words of the program's command the prefix stands for


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
    files = "heaptrack*"
    return [
        Way("heaptrack_alone", "heaptrack, the program", variables=raw, few=True, missing=missing, leaves=files),
        Way("heaptrack", "heaptrack, in all", prefix=[wrapper, "-o", str(place.scratch / "heaptrack")], few=True,
            missing=missing, leaves=files),
    ]


def heaptrack_piped(place):
    """Like its wrapper, but with separate measurements of the program and of the interpreter that it pipes into."""
    alone, _ = heaptrack_ways(place)
    pipe = place.scratch / PIPE
    interpreter = Path(alone.variables["LD_PRELOAD"]).parent / "libexec/heaptrack_interpret"
    return Way("heaptrack", "heaptrack", variables={**alone.variables, "DUMP_HEAPTRACK_OUTPUT": str(pipe)}, few=True,
               missing=alone.missing, leaves=alone.leaves, reader=f"{interpreter} < {pipe} | gzip -c > {place.scratch}/heaptrack.gz")


def plimsoll_way(place, name, title, sample, **options):
    variables = {
        "LD_PRELOAD": str(place.build / "libplimsoll.so"),
        "PLIMSOLL_SAMPLE": str(sample),
        "PLIMSOLL_OUT": str(place.scratch / "profile.%p.plim"),
    }
    return Way(name, title, variables=variables, profile=True, leaves="profile.*.plim", **options)


def run_way(place, name, title, *options):
    """With everything that `plimsoll run` does: it waits for the program, then adds names to the profile."""
    prefix = [place.build / "plimsoll", "run", "-q", *options, "-o", place.scratch / "profile.run.plim", "--"]
    return Way(name, title, prefix=prefix, profile=True, leaves="profile.*.plim")


def dhat_way(place):
    missing = "" if shutil.which("valgrind") else "valgrind is not installed"
    prefix = ["valgrind", "--tool=dhat", f"--dhat-out-file={place.scratch / 'dhat.json'}"]
    return Way("dhat", "DHAT", prefix=prefix, few=True, missing=missing, leaves="dhat.json")


def ways(place):
    return [
        Way("bare", "bare"),
        Way("again", "bare again"),
        Way("forward", "forwarding only", variables={"LD_PRELOAD": str(place.build / "bench/forward.so")}),
        plimsoll_way(place, "plimsoll", "**Plimsoll, 512 KiB**", INTERVAL_BYTES),
        heaptrack_ways(place)[0],
        *jemalloc_ways(),
    ]


@dataclass
class Used:
    """What a process and its children used."""

    cpu_s: float
    rss_kib: int


@dataclass
class Run:
    cpu_s: float
    rss_kib: int
    file_bytes: int = 0
    figures: dict = field(default_factory=dict)  # figures taken from the profile
    reader: Used = None


def keep_figures(place, path, keep):
    """The result of `keep` for the exported profile."""
    if not keep:
        return {}
    done = subprocess.run([place.build / "plimsoll", "export", "--format", "json", path], capture_output=True)
    if done.returncode:
        raise Broken(f"plimsoll export: {done.stderr.decode()}")
    return keep(json.loads(done.stdout))


def take_profile(place, way, keep=None):
    """Size and figures of what a run wrote, which is then removed. A run without a profile measured nothing."""
    profiles = list(place.scratch.glob("profile.*.plim"))
    if len(profiles) != way.profile:
        raise Broken(f"{len(profiles)} profiles under {way.title}, should be {way.profile:d}")
    figures = keep_figures(place, profiles[0], keep) if profiles else {}
    written = list(place.scratch.glob(way.leaves)) if way.leaves else []
    size = sum(path.stat().st_size for path in written)
    for path in written:
        path.unlink()
    return size, figures


def start_measured(place, name, variables, command):
    """Starts measure, which writes to the file of this name."""
    settings = [f"{variable}={value}" for variable, value in variables.items()]
    words = [place.build / "bench/measure", place.scratch / name, *settings, "--", *command]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            cwd=place.scratch, env=STEADY)


def finish_measured(place, name, process, said):
    if process.wait():
        raise Broken(f"{said} could not be measured")
    user_us, system_us, rss_kib, status = map(int, (place.scratch / name).read_text().split())
    if status:
        raise Broken(f"{said} ended with wait status {status}")
    return Used((user_us + system_us) / 1e6, rss_kib)


def run_once(place, way, command, keep=None):
    """Starts the program and waits for it."""
    reading = None
    if way.reader:
        os.mkfifo(place.scratch / PIPE)
        reading = start_measured(place, "measured.reader", {}, ["sh", "-c", way.reader])
    said = f"{' '.join(map(str, command))} under {way.name}"
    writing = start_measured(place, "measured", way.variables, [*way.prefix, *command[way.replaces:]])
    used = finish_measured(place, "measured", writing, said)
    reader = finish_measured(place, "measured.reader", reading, way.reader) if reading else None
    return Run(used.cpu_s, used.rss_kib, *take_profile(place, way, keep), reader)


def take_turns(place, columns, command, rounds, few_rounds, seed, keep=None):
    """name of way -> list of runs. Run i of every list belongs to round i."""
    chance = random.Random(seed)
    runs = {way.name: [] for way in columns}
    for number in range(rounds):
        turn = [way for way in columns if not way.missing and (number < few_rounds or not way.few)]
        chance.shuffle(turn)
        for way in turn:
            runs[way.name].append(run_once(place, way, command, keep))
    return runs


def run_together(place, columns, command, keep=None):
    """name of way -> a list of one run, as take_turns() gives. All run at the same time, each in a directory of its
    own, so they share whatever makes the machine slow. For ways that preload and nothing else."""
    places = {way.name: Place(place.build, place.scratch / way.name) for way in columns}
    started = []
    for way in columns:
        there = places[way.name]
        there.scratch.mkdir()
        variables = {name: value.replace(str(place.scratch), str(there.scratch))
                     for name, value in way.variables.items()}
        started.append((way, there, start_measured(there, "measured", variables, command)))
    runs = {}
    for way, there, process in started:
        used = finish_measured(there, "measured", process, f"{way.title}, beside others")
        runs[way.name] = [Run(used.cpu_s, used.rss_kib, *take_profile(there, way, keep))]
        shutil.rmtree(there.scratch)
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
    """The median ratio of paired runs, with its bootstrap interval."""
    pairs = [run.cpu_s / bare.cpu_s for run, bare in zip(runs, base)]
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(pairs, k=len(pairs))) for _ in range(RESAMPLES))
    return Ratio(statistics.median(pairs), medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)])


def instructions(place, way, command):
    """Instructions of the whole process, including loader and start-up, counted by callgrind."""
    log = place.scratch / "callgrind.log"
    log.unlink(missing_ok=True)
    variables = [f"{name}={value}" for name, value in way.variables.items()]
    words = ["valgrind", "--tool=callgrind", "--trace-children=yes", f"--log-file={log}",
             "--callgrind-out-file=/dev/null", "env", *variables, *way.prefix, *command]
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, cwd=place.scratch,
                   env=STEADY)
    take_profile(place, way)
    counts = re.findall(r"Collected : (\d+)", log.read_text())
    if not counts:
        raise Broken("callgrind gave no count")
    return int(counts[-1])
