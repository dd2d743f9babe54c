# SPDX-License-Identifier: MIT
"""agreement - real programs behave the same inside our glibc as without it, and both front ends record the same.

Each job runs alone, with libplimsoll.so preloaded, and inside glibc. Its output and status must be the same. Two runs
of a job in the same environment make the same calls, so the profiles can be compared by site. A site is a whole stack,
each frame as module and address. The two runs have different libcs and loaders, so consecutive frames in these count as
one frame, "libc".

  counted    every site has the same calls, bytes and live blocks, except for STRAY calls in all. Most jobs have none.
             Threads that end earlier or later leave more or fewer stacks to reuse. python3 reads its child's output in
             pieces of 128 KiB, as they come. perl asks the kernel for its name, and gets the loader's. cc1's collector
             chooses pages of 32 KiB by their addresses.
  sampled    with different seeds. Totals are exact, as above. For the ten heaviest sites of each, by calls and by
             bytes, the estimates differ by at most SIGMAS standard deviations of their difference, plus STRAY calls.

Reports name callers in the program, not functions inside libc: they show the same sites, although our libc is not in a
system directory.
"""

import functools
import math
import re
import shutil
import subprocess
import sys
from collections import defaultdict

from front import *

SIGMAS, Z95 = 4.5, 1.96
STRAY = {"alloc_objects": 40, "alloc_space": 16384, "inuse_objects": 40}
MORE_STRAY = {"python3": {"alloc_space": 300000}, "cc1": {"alloc_space": 150000}}
ANOTHER_RELEASE = {"alloc_objects": 500, "inuse_objects": 100}  # its libc makes other calls
SAMPLED = ("alloc_objects", "alloc_space")
TOP = 10
SYSTEM_FILES = ("libc.so.6", SYSTEM_LOADER.name)
SMALL_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PERL_HASH_SEED": "0",
    "PERL_PERTURB_KEYS": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
}


# ---- jobs ----


def compiler():
    path = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=True).stdout.strip()
    if "/" not in path:
        raise Skip("there is no cc1")
    return [path, "-quiet", "-O2", "-w", "-imultiarch", f"{built.MACHINE}-linux-gnu", JOBS / "gcc.c", "-o", "-"]


GIT_JOB_STATUS = 6  # it ends with a command that fails, on purpose


def history(place):
    """A repository for git."""
    done = subprocess.run(["bash", JOBS / "git.sh"], cwd=place.work, env=SMALL_ENVIRONMENT, capture_output=True)
    assert done.returncode == GIT_JOB_STATUS, done.stderr.decode()
    return ["git", "-C", place.work / "repository", "log", "-p", "--stat"]


# A job: the program that it needs, its command, and the sampling interval.
JOB_TABLE = {
    "python3": ("/usr/bin/python3", lambda place: ["/usr/bin/python3", JOBS / "python.py"], "4K"),
    "python3 with threads": ("/usr/bin/python3", lambda place: ["/usr/bin/python3", JOBS / "threads.py"], "4K"),
    "perl": ("perl", lambda place: ["perl", JOBS / "perl.pl"], "2K"),
    "bash": ("bash", lambda place: ["bash", JOBS / "pipeline.sh"], "256"),
    "git": ("git", history, "2K"),
    "sqlite3": ("sqlite3", lambda place: ["sqlite3", "-bail", ":memory:", f".read {JOBS / 'sqlite.sql'}"], "4K"),
    "cc1": ("gcc", lambda place: compiler(), "4K"),
    "threads and forks": (program("crew"), lambda place: [program("crew"), 3, 3000], "1K"),
}


# How each is run, and the variable that makes the difference. Programs copy their environment, so all have one size.
FRONT_ENDS = {
    "preloaded": (lambda command: command, {"LD_PRELOAD": RUNTIME}),
    "inside glibc": (by_loader, {"NO_PRELOAD": RUNTIME}),
}


def settings(place, front, sample, seed):
    return {
        **SMALL_ENVIRONMENT,
        **{name: str(value) for name, value in FRONT_ENDS[front][1].items()},
        "TMPDIR": str(place.work),
        "GLIBC_MALLOC_PROFILE": "1",
        "PLIMSOLL_LIVE_DIR": str(place.live),
        "PLIMSOLL_SAMPLE": sample,
        "PLIMSOLL_SEED": str(seed),
        "PLIMSOLL_OUT": f"{place.work}/{front[0]}.%p.plim",
    }


def profile_of(process_id, place):
    found = [path for path in plim.find(place.work) if path.name.split(".")[1] == str(process_id)]
    assert len(found) == 1, f"profiles of {process_id}: {found}, of {plim.find(place.work, place.live)}"
    sound(found[0])
    return found[0]


# ---- comparison ----


class Estimate:
    def __init__(self):
        self.value, self.variance = 0.0, 0.0

    def add(self, figure):
        self.value += figure["value"]
        self.variance += (figure["error"] / Z95) ** 2

    def __str__(self):
        return f"{self.value:.0f} ± {Z95 * math.sqrt(self.variance):.0f}"


class Told:
    """The figures of one profile, by site."""

    def __init__(self, path):
        self.json = export(path)
        self.sites = {metric: defaultdict(Estimate) for metric in STRAY}
        for site in self.json["sites"]:
            for metric, table in self.sites.items():
                table[self.key(site["stack"])].add(site[metric])
        losses = {loss: n for loss, n in self.json["losses"].items() if n}
        assert not losses and self.json["reading"]["damage"] == 0, (losses, self.json["reading"])

    def place_of(self, frame):
        """Frames of one line are one frame in the export, which has the address of any of them."""
        module = self.json["modules"][frame["module"]]["path"].rsplit("/", 1)[-1]
        line = (frame["function"], frame["line"]) if frame.get("file") else frame["address"]
        return "libc" if module in SYSTEM_FILES else (module, line)

    def key(self, stack):
        frames = []
        for frame in (self.json["frames"][i] for i in (self.json["stacks"][stack] if stack is not None else ())):
            where = self.place_of(frame)
            if not frame["inlined"] and frames[-1:] != [where]:
                frames.append(where)
        return tuple(frames)

    def top(self, metric):
        return sorted(self.sites[metric], key=lambda key: -self.sites[metric][key].value)[:TOP]

    def names(self, key):
        names = {self.place_of(frame): frame["function"] for frame in self.json["frames"] if not frame["inlined"]}
        return " < ".join(str(names.get(frame, frame)) if frame != "libc" else frame for frame in key[:12])

    def total(self, metric):
        return self.json["totals"][metric]["value"]


def stray_of(name):
    return {**STRAY, **MORE_STRAY.get(name, {}), **(ANOTHER_RELEASE if release() != SYSTEM_RELEASE else {})}


def differing_totals(one, other, stray):
    for metric in SAMPLED:
        a, b = one.total(metric), other.total(metric)
        say(f"{metric}: {a:.0f} preloaded, {b:.0f} inside glibc")
        if abs(a - b) > stray[metric]:
            yield f"{metric}: {a:.0f} preloaded, {b:.0f} inside glibc"


def differing_counts(one, other, stray):
    for metric in stray:
        differences = []
        for key in {*one.sites[metric], *other.sites[metric]}:
            a, b = one.sites[metric][key].value, other.sites[metric][key].value
            if a != b:
                names = one.names(key) if key in one.sites[metric] else other.names(key)
                differences.append((abs(a - b), f"{metric}: {a:.0f} preloaded, {b:.0f} inside glibc: {names}"))
        for _, text in sorted(differences)[-6:]:
            say(text)
        if sum(difference for difference, _ in differences) > stray[metric]:
            yield from (text for _, text in sorted(differences, reverse=True)[:4])


def differing_estimates(one, other, stray):
    for metric in SAMPLED:
        for key in {*one.top(metric), *other.top(metric)}:
            a, b = one.sites[metric][key], other.sites[metric][key]
            if abs(a.value - b.value) > SIGMAS * math.sqrt(a.variance + b.variance) + stray[metric]:
                yield f"{metric} of {one.names(key)}: {a} preloaded, {b} inside glibc"


def run_job(name, sample):
    """front end -> the figures of its profile"""
    needs, make_command, _ = JOB_TABLE[name]
    if not shutil.which(needs):
        raise Skip(f"{needs} is not installed")
    with Place() as place:
        work = place.work / "directory"
        work.mkdir()
        command = [str(word) for word in make_command(place)]
        bare = finish(start(command, place, SMALL_ENVIRONMENT, cwd=work))
        told = []
        for seed, (front, (words, _)) in enumerate(FRONT_ENDS.items(), 1):
            process = start(words(command), place, settings(place, front, sample, seed), cwd=work)
            done = finish(process)
            assert outcome(done) == outcome(bare), f"{front}: {outcome(done)}\n-- alone --\n{outcome(bare)}"
            told.append(Told(profile_of(process.pid, place)))
        return told


def sites_in_report(path):
    """function and module of each site, as a report names them"""
    done = subprocess.run([PLIMSOLL, "report", "--top", "20", path], capture_output=True, text=True,
                          env=built.environment(COLUMNS=200), check=True)
    return set(re.findall(r"(\w+)(?:  \S+)?  (\[[^]]+\])", done.stdout))


@claim
def reports_name_the_callers_of_libc_in_the_program():
    sites = []
    with Place() as place:
        for front, (words, _) in FRONT_ENDS.items():
            process = start(words([program("callers")]), place, settings(place, front, "exact", 1))
            assert finish(process).returncode == 0
            sites.append(sites_in_report(profile_of(process.pid, place)))
    own = {(name, "[callers]") for name in ("print_text", "read_lines", "copy_text", "compile_pattern")}
    assert own == sites[0] == sites[1], sites


def check_counts(name):
    one, other = run_job(name, "exact")
    stray = stray_of(name)
    expect([*differing_totals(one, other, stray), *differing_counts(one, other, stray)], f"of {name}")


def check_samples(name):
    one, other = run_job(name, JOB_TABLE[name][2])
    for told in (one, other):
        assert told.json["sampling"]["samples"] > 500, told.json["sampling"]
    stray = stray_of(name)
    expect([*differing_totals(one, other, stray), *differing_estimates(one, other, stray)], f"of {name}")


for a_job in JOB_TABLE:
    claims.add(f"{a_job} behaves the same, and has the same counts at every site as with the preload",
               functools.partial(check_counts, a_job))
    claims.add(f"{a_job}, sampled, has the same heaviest sites as with the preload",
               functools.partial(check_samples, a_job))


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
