# SPDX-License-Identifier: MIT
"""resets - after plimsoll_reset() moments of the run, too, are about what was allocated since (programs/anew.c)."""

import functools
import subprocess
import sys

# First, because it knows the way to tests/lib.
from tagged import PROGRAMS, Place
import claims
from built import PLIMSOLL, environment, export
from claims import claim

CALLS, BYTES = 400, 100


@functools.cache
def profile():
    """Where it is, and where it stays until the test ends."""
    place = Place()
    path = place.path / "anew.plim"
    subprocess.run([PLIMSOLL, "run", "-q", "--exact", "-o", path, "--", PROGRAMS / "anew"], check=True,
                   capture_output=True, env=environment())
    return place, path


def whole():
    return export(profile()[1])


def sums(metric, *options):
    """function -> (before, after) of a stretch of time."""
    words = [PLIMSOLL, "export", "--format", "collapsed", "--metric", metric, *options, profile()[1]]
    done = subprocess.run(words, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        stack, before, after = line.rsplit(" ", 2)
        found[stack.rpartition(";")[2]] = int(before), int(after)
    return found


def half():
    return f"{int(whole()['process']['duration_s'] * 500)}ms"


@claim
def what_was_before_a_reset_is_in_no_moment_after_it():
    for snapshot in whole()["snapshots"]:
        assert snapshot["live_bytes"] <= BYTES, snapshot
        assert snapshot["allocated_bytes"] <= CALLS * BYTES, snapshot


@claim
def whoever_has_all_there_is_since_a_reset_is_named():
    until = sums("calls", "--until", half())
    assert list(until) == ["after"] and until["after"][0] == 0 and 10 < until["after"][1] < CALLS - 10, until
    since = sums("calls", "--since", half())
    assert list(since) == ["after"] and since["after"] == (until["after"][1], CALLS), (until, since)


@claim
def and_nothing_is_live_that_was_freed():
    until = sums("live", "--until", half())
    assert sum(after for _, after in until.values()) <= BYTES, until


if __name__ == "__main__":
    try:
        sys.exit(claims.main())
    finally:
        profile()[0].__exit__()
