# SPDX-License-Identifier: MIT
"""runs - profiles of the programs of this directory, and the output of `plimsoll diff` for two of them."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from built import BUILD, PLIMSOLL, environment

HERE = BUILD / "tests" / "diff"
VARIANTS = ["sites", "sites-leak", "sites-edited", "sites-edited-leak", "sites-renamed", "sites-burst"]
PROGRAMS = {name: HERE / name for name in VARIANTS}
PROGRAMS["elsewhere"] = HERE / "elsewhere" / "sites-elsewhere"
PROGRAMS |= {name: HERE / name for name in ["lambda", "lambda-apart"]}
INTERVAL = "64K"
scratch = tempfile.TemporaryDirectory(prefix="plimsoll-diff-")


def command(*words):
    return subprocess.run([PLIMSOLL, *map(str, words)], capture_output=True, text=True, env=environment())


def build_of(program):
    """Builds of a program have the same name, each in its own directory."""
    copy = Path(scratch.name) / program / ("lambda" if program.startswith("lambda") else "sites")
    if not copy.exists():
        copy.parent.mkdir()
        shutil.copy(PROGRAMS[program], copy)
    return copy


def profile(program, *how):
    """The profile of a run. `how` are options of `plimsoll run`."""
    path = Path(scratch.name) / ("-".join([program, *how]) + ".plim")
    if not path.exists():
        done = command("run", "-q", *how, "-o", path, "--", build_of(program))
        assert done.returncode == 0 and path.exists(), done.stderr
    return path


def sampled(program, seed):
    return profile(program, "--sample", INTERVAL, "--seed", str(seed))


def diff(*words):
    done = command("diff", *words)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr}"
    return done.stdout


def changes(text):
    """The lines of changes, in order."""
    return [line for line in text.splitlines() if re.match(r"  +[+-]\d", line)]
