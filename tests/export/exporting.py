# SPDX-License-Identifier: MIT
"""exporting - the profiles for tests of exports, and the totals that every export must have.

Each profile is made once, when it is first needed, in a directory that is removed at the end of the test:

    exact()             programs/shapes.cpp: tags, threads, inlined functions, recursion, templates
    sampled()           the same, sampled about every 2 KiB, with a fixed seed
    before(), after()   of the same program, exact; `after` has more of one thing, less of another, and something new
    hostile()           tests/lib/hostile.c: names with characters that are special in some format

totals() has the true totals for every format: the sites of the JSON export, each rounded like in flat.h, and summed.
"""

import atexit
import functools
import json
import math
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from built import BUILD, PLIMSOLL, environment  # noqa: E402
from claims import Skip  # noqa: E402
from patience import PATIENCE_S  # noqa: E402, F401

PROGRAMS = BUILD / "tests" / "export"
METRICS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space", "temp_objects")
WORDS = dict(zip(METRICS, ("calls", "allocated", "blocks", "live", "peak-blocks", "peak", "temporary")))


@functools.cache
def place():
    """The directory of this test."""
    path = Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def run(*command, status=0, **options):
    """Runs a command to its end. Its status must be `status`. Returns the result, with output as bytes."""
    options = {"env": environment(), "stdin": subprocess.DEVNULL, "cwd": place(), "timeout": PATIENCE_S, **options}
    done = subprocess.run([str(word) for word in command], capture_output=True, **options)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == status, f"{' '.join(map(str, command))}: status {done.returncode}: {said}"
    return done


def tool(name, *elsewhere):
    """The path of a program that reads our output. If it is missing, the claim is skipped."""
    found = shutil.which(name) or next((str(path) for path in elsewhere if Path(path).is_file()), None)
    if not found:
        raise Skip(f"{name} is not installed")
    return found


# ---- profiles ----


def record(name, *options, program=()):
    path = place() / f"{name}.plim"
    run(PLIMSOLL, "run", *options, "-o", path, "--", *program)
    return path


@functools.cache
def exact():
    return record("exact", "--exact", program=[PROGRAMS / "shapes"])


@functools.cache
def sampled():
    return record("sampled", "--sample", "2K", "--seed", "5", program=[PROGRAMS / "shapes"])


@functools.cache
def before():
    return record("before", "--exact", program=[PROGRAMS / "shapes", "before"])


@functools.cache
def after():
    return record("after", "--exact", program=[PROGRAMS / "shapes", "after"])


@functools.cache
def hostile():
    path = place() / "hostile.plim"
    run(BUILD / "tests/lib/hostile", "names", path)
    return path


PROFILES = {"an exact profile": exact, "a sampled profile": sampled, "hostile names": hostile}

# Name of a case -> (profile, options): for formats with stacks and several metrics.
CASES = {
    "exact": (exact, ()),
    "sampled": (sampled, ()),
    "hostile": (hostile, ()),
    "by tag": (exact, ("--by", "tag")),
    "by thread and tag": (exact, ("--by", "thread,tag")),
    "small ones together": (exact, ("--threshold", "5")),
    "one tag": (exact, ("--tag", "request")),
}

# ---- exports ----


def export(profile, form, *options):
    """The output of `plimsoll export --format FORM OPTIONS PROFILE`, as bytes."""
    return run(PLIMSOLL, "export", "--format", form, *options, profile).stdout


@functools.cache
def as_json(profile, *options):
    return json.loads(export(profile, "json", *options))


def rounded(value):
    """pl_flat_round(): to the nearest whole number, halves away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def figures(site):
    """A site's figures, rounded: metric -> whole number."""
    return {metric: rounded(site[metric]["value"]) for metric in METRICS}


def sites(whole):
    """(site, its figures) of a JSON export. Figures of the base of a difference are negative."""
    base = whole["extent"]["base_sites"]
    for number, site in enumerate(whole["sites"]):
        yield site, {metric: -value if number < base else value for metric, value in figures(site).items()}


@functools.cache
def totals(profile, *options):
    """metric -> the total that every format must have. `options` select a part of the profile, as for export()."""
    return add_up(row for _, row in sites(as_json(profile, *options)))


def add_up(rows):
    """The sum of many {metric: number}."""
    whole = dict.fromkeys(METRICS, 0)
    for row in rows:
        for metric, value in row.items():
            whole[metric] += value
    return whole


def difference(first, second):
    """metric -> how much more the second of two profiles has."""
    old, new = totals(first), totals(second)
    return {metric: new[metric] - old[metric] for metric in METRICS}


def same(found, wanted, what=""):
    """Both are {metric: number}. Metrics that `found` does not have are not compared."""
    wrong = [f"{metric}: {value}, not {wanted[metric]}" for metric, value in found.items() if value != wanted[metric]]
    assert not wrong, f"{what}: " + "; ".join(wrong)
