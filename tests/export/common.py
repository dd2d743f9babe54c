# SPDX-License-Identifier: MIT
"""common - the profiles that tests of exports use, and what an export must add up to.

Each profile is made once, when it is first asked for, in a directory that goes away with the test:

    exact()             programs/shapes.cpp: tags, threads, inlined functions, recursion, templates
    sampled()           the same, sampled about every 2 KiB, with a fixed seed
    before(), after()   of the same program, exact; `after` has more of one thing, less of another, and something new
    hostile()           hostile.c: names that somebody might stumble over

totals() is the truth for every format: sites of the JSON export, rounded one by one as flat.h does, and added up.
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
    """Runs a command to its end; its status must be `status`. Returns what it did, output as bytes."""
    options = {"env": environment(), "stdin": subprocess.DEVNULL, "cwd": place(), "timeout": PATIENCE_S, **options}
    done = subprocess.run([str(word) for word in command], capture_output=True, **options)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == status, f"{' '.join(map(str, command))}: status {done.returncode}: {said}"
    return done


def tool(name, *elsewhere):
    """The path of a program that reads our output, or else the claim is skipped."""
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
    run(PROGRAMS / "hostile", path)
    return path


PROFILES = {"an exact profile": exact, "a sampled profile": sampled, "hostile names": hostile}

# ---- exports ----


def export(profile, form, *options):
    """What `plimsoll export --format FORM OPTIONS PROFILE` writes, as bytes."""
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
    """(site, its figures) of a JSON export; those of what a difference is compared with are negative."""
    base = whole["extent"]["base_sites"]
    for number, site in enumerate(whole["sites"]):
        yield site, {metric: -value if number < base else value for metric, value in figures(site).items()}


@functools.cache
def totals(profile, *options):
    """metric -> what every format must add up to; `options` select a part of the profile, as for export()."""
    return add_up(row for _, row in sites(as_json(profile, *options)))


def add_up(rows):
    """The sum of many {metric: number}."""
    whole = dict.fromkeys(METRICS, 0)
    for row in rows:
        for metric, value in row.items():
            whole[metric] += value
    return whole


def difference(first, second):
    """metric -> what is more in the second of two profiles."""
    old, new = totals(first), totals(second)
    return {metric: new[metric] - old[metric] for metric in METRICS}


def same(found, wanted, what=""):
    """Both are {metric: number}; metrics that `found` does not have are not asked for."""
    wrong = [f"{metric}: {value}, not {wanted[metric]}" for metric, value in found.items() if value != wanted[metric]]
    assert not wrong, f"{what}: " + "; ".join(wrong)
