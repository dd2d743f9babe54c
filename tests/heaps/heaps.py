# SPDX-License-Identifier: MIT
"""heaps - runs a program under the profiler, and reads the figures of a heap beside malloc's."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import claims  # noqa: E402
from built import BUILD, EMULATOR, PLIMSOLL, environment  # noqa: E402, F401

PROGRAMS = BUILD / "tests" / "heaps"
places = []
front = []  # options of `plimsoll run`: which front end records


def new_place():
    places.append(Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm")))
    return places[-1]


def run(command, place=None, **settings):
    """Runs a program under the profiler. Returns its output and its profiles."""
    place = place or new_place()
    done = subprocess.run(
        [PLIMSOLL, "run", *front, "--output", place / "%p.plim", "--", *command], cwd=place, text=True, timeout=120,
        env=environment(**settings), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, sorted(place.glob("**/*.plim"))


def ask(*words, profile):
    done = subprocess.run([PLIMSOLL, *words, profile], text=True, check=False, env=environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def export(profile, *options):
    return json.loads(ask("export", "--format", "json", *options, profile=profile))


def figures_of(profile, heap="mappings"):
    """site -> (calls, bytes, blocks, live): the innermost functions, whoever called them. And the totals."""
    table = defaultdict(lambda: [0, 0, 0, 0])
    for i, metric in enumerate(("calls", "allocated", "blocks", "live")):
        out = ask("export", "--format", "collapsed", "--heap", heap, "--metric", metric, profile=profile)
        for stack, figure in (line.rsplit(" ", 1) for line in out.splitlines()):
            table[stack.rsplit(";", 1)[-1]][i] += int(figure)
    return {name: tuple(row) for name, row in table.items()}, export(profile, "--heap", heap)["totals"]


def filled(account):
    """The same without sites that have nothing."""
    return {name: figures for name, figures in account.items() if any(figures)}


def accounts(output):
    """The accounts that a program has printed: a table of figures, and the peak."""
    table = {}
    for line in output.splitlines():
        name, *figures = line.split()
        if name == "peak":
            yield table, int(figures[0])
            table = {}
        else:
            table[name] = tuple(map(int, figures))


def main():
    try:
        return claims.main()
    finally:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)
