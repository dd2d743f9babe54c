# SPDX-License-Identifier: MIT
"""coverage - how often the intervals of real programs contain the truth: table `coverage`.

A program that does the same every time is run once exactly, which gives the truth, and then with many seeds. Sites are
compared by their stacks. Two exact runs must agree on a site; one on which they do not is left out.

A figure is counted where a user would see one: in each run for each site that is in the profile and has or should have
had the figure. z is the mean error in standard deviations, of sites and totals with one expected sample and more: few
samples are seen rarely, but then stand for a lot, so it is taken over all runs, with 0 where a site was not seen. What
was counted exactly expects no sample: a site of which one call in a thousand was left to sampling has hardly ever a
sample of it, and is lower by that call in nearly every run.

In auto mode the interval depends on the machine and its load: the more is counted exactly, the more is covered.
"""

import json
import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from programs import JOBS
from tables import table

MODES = {"16K": 16 << 10, "64K": 64 << 10, "512K": 512 << 10, "auto": 0}
METRICS = {"alloc_objects": "calls", "alloc_space": "bytes", "inuse_objects": "live blocks", "inuse_space": "live",
           "peak_objects": "peak blocks", "peak_space": "peak"}
TOTALS = ("inuse_space", "peak_space")  # of which the totals are estimates
CALL_CHARGE = 64
AUTO_GAP = 256 << 10  # roughly what auto mode chooses for these programs
LEAST, MOST = 93.0, 99.0
SURE = {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc", "PERL_HASH_SEED": "0", "LC_ALL": "C.UTF-8"}


@dataclass
class Job:
    command: Callable  # (scratch, work) -> argv
    work: int  # 50 to 300 ms
    long: int  # so many allocations that auto mode stops counting them


def filled(scratch, job, word, work):
    path = scratch / f"{job}.{work}"
    path.write_text((JOBS / job).read_text().replace(word, str(work)))
    return path


PROGRAMS = {
    "lua": Job(lambda _, work: ["lua5.4", JOBS / "tables.lua", work], 20000, 600000),
    "bc": Job(lambda scratch, work: ["bc", filled(scratch, "sums.bc", "ROUNDS", work)], 20, 80),
    "gawk": Job(lambda _, work: ["gawk", "-v", f"n={work}", "-f", JOBS / "words.awk"], 20000, 180000),
    "jq": Job(lambda scratch, work: ["jq", "-n", "-f", filled(scratch, "group.jq", "N", work)], 3000, 75000),
    "cmake": Job(lambda _, work: ["cmake", f"-DN={work}", "-P", JOBS / "lists.cmake"], 500, 3000),
    "perl": Job(lambda _, work: ["perl", JOBS / "words.pl", work], 1, 7),
    "sqlite3": Job(lambda scratch, work: ["sqlite3", ":memory:",
                                          f".read {filled(scratch, 'orders.sql', 'ROWS', work)}"], 4000, 120000),
    "python3": Job(lambda _, work: ["/usr/bin/python3", "-S", JOBS / "json_job.py", work], 2, 24),
}


def read_sites(profile):
    """Figures by stack, and the totals. Addresses are within modules, so that they are the same in every run."""
    frames = [(profile["modules"][frame["module"]]["path"] if frame["module"] is not None else "", frame["address"])
              for frame in profile["frames"]]
    sites = {}
    for site in profile["sites"]:
        if site["stack"] is not None:
            sites[tuple(frames[i] for i in profile["stacks"][site["stack"]])] = \
                {name: site[name] for name in (*METRICS, "exact_calls")}
    return sites, {name: profile["totals"][name] for name in METRICS}


def run(build, scratch, argv, sample, seed):
    """Without address randomization: hash tables of addresses are then the same every time. The environment has the
    same length every time, because programs copy it; and no variable has fewer than two characters, because Python
    allocates nothing for those."""
    path = scratch / f"{Path(argv[0]).name}.{sample:-<5}.{seed:05}.plim"
    environment = dict(os.environ, **SURE, PLIMSOLL_SAMPLE=sample, PLIMSOLL_SEED=f"{seed:05}", PLIMSOLL_OUT=str(path),
                       PADDING="-" * (7 - len(sample)))
    preload = f"LD_PRELOAD={build / 'libplimsoll.so'}"
    subprocess.run(["setarch", "-R", "env", preload, *map(str, argv)], env=environment, check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    export = [build / "plimsoll", "export", "--format", "json", "--names", "none", path]
    text = subprocess.run(export, check=True, capture_output=True).stdout
    path.unlink()
    return read_sites(json.loads(text))


def expected_samples(truth, metric, gap, counted):
    """`counted` is the share of the site's calls that was counted exactly."""
    objects = truth[metric.replace("space", "objects")]["value"]
    space = truth[metric.replace("objects", "space")]["value"]
    return (1 - counted) * objects * -math.expm1(-(space / objects + CALL_CHARGE) / gap) if objects else 0


def deviation(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1))


@dataclass
class Covered:
    shown: int = 0
    held: int = 0
    total_held: int = 0
    total_z: float | None = None  # None: less than one sample was expected
    runs: int = 0
    falsely_exact: int = 0
    z_sum: float = 0
    z_count: int = 0

    def see(self, figure, truth):
        held = figure["low"] - 1e-6 <= truth <= figure["high"] + 1e-6
        self.falsely_exact += figure["error"] == 0 and figure["value"] != truth
        return held

    def add(self, more):
        for name in vars(more):
            if name != "total_z":
                setattr(self, name, getattr(self, name) + getattr(more, name))

    @property
    def sites_percent(self):
        return 100 * self.held / self.shown if self.shown else None

    @property
    def total_percent(self):
        return 100 * self.total_held / self.runs if self.runs else None

    @property
    def z(self):
        return self.z_sum / self.z_count if self.z_count else 0


def compare(metric, gap, truths, runs):
    """`truths` are two exact runs."""
    (sites, total), (again, total_again) = truths
    result = Covered()
    expected_in_all = 0
    for stack, truth in sites.items():
        if again.get(stack) != truth:
            continue
        true, values, counted = truth[metric]["value"], [], 0
        for seen, _ in runs:
            figure = seen[stack][metric] if stack in seen else None
            values.append(figure["value"] if figure else 0)
            counted += seen[stack]["exact_calls"] / truth["exact_calls"] / len(runs) if figure else 0
            if figure and (figure["value"] > 0 or true > 0):
                result.shown += 1
                result.held += result.see(figure, true)
        spread = deviation(values)
        expected = expected_samples(truth, metric, gap, counted)
        expected_in_all += expected
        if expected >= 1 and spread > 1e-3 * true:
            result.z_sum += (sum(values) / len(values) - true) / spread
            result.z_count += 1
    if total == total_again:
        result.runs = len(runs)
        result.total_held = sum(result.see(figures[metric], total[metric]["value"]) for _, figures in runs)
        values = [figures[metric]["value"] - total[metric]["value"] for _, figures in runs]
        if expected_in_all >= 1 and deviation(values) > 0:
            result.total_z = sum(values) / len(values) / deviation(values)
    return result


def measure(build, scratch, name, mode, seeds):
    """How often each metric of this program is covered."""
    job = PROGRAMS[name]
    argv = job.command(scratch, job.long if mode == "auto" else job.work)
    truths = [run(build, scratch, argv, "exact", seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda seed: run(build, scratch, argv, mode, seed), range(1, seeds + 1)))
    return {metric: compare(metric, MODES[mode] or AUTO_GAP, truths, runs) for metric in METRICS}


def available():
    return [name for name, job in PROGRAMS.items() if shutil.which(str(job.command(Path("/tmp"), 1)[0]))]


def percent(value):
    return "-" if value is None else f"{value:.1f}"


def mean_error(value):
    return "-" if value is None else f"{value:+.2f}"


def measure_coverage(place, _programs, options, targets):
    seeds = 3 if options.quick else options.seeds
    rows, sums = [], {}
    for name in available():
        if options.only not in name:
            continue
        for mode in MODES:
            covered = measure(place.build, place.scratch, name, mode, seeds)
            rows.append([name, mode, *(f"{percent(each.sites_percent)} / {percent(each.total_percent)}"
                                       for each in covered.values()),
                         *(mean_error(covered[metric].total_z) for metric in TOTALS)])
            for metric, each in covered.items():
                sums.setdefault((mode, metric), Covered()).add(each)
            print(f"measured {name}, {mode}", file=sys.stderr)
    table("Coverage", f"Percent of figures whose interval contains the truth, by site / in total, over {seeds} seeds; z of "
          "totals is the mean error in standard deviations.",
          ["program", "mode", *METRICS.values(), *(f"{METRICS[metric]}, z" for metric in TOTALS)], rows)
    table("Coverage and bias of all", "By site; z is the mean error in standard deviations.",
          ["mode", "figure", "figures", "covered", "z", "± 0 and wrong"],
          [[mode, METRICS[metric], f"{each.shown:,}", percent(each.sites_percent), f"{each.z:+.2f}",
            each.falsely_exact] for (mode, metric), each in sums.items()])
    for (mode, metric), each in sums.items():
        if each.shown:
            targets.add(f"coverage, {METRICS[metric]}, {mode}", f"{percent(each.sites_percent)}%",
                        f"{LEAST:.0f}% and more", each.sites_percent >= LEAST)
            targets.add(f"exact and wrong, {METRICS[metric]}, {mode}", each.falsely_exact, "none",
                        each.falsely_exact == 0)
