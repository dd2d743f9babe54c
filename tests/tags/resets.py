# SPDX-License-Identifier: MIT
"""resets - after plimsoll_reset() the history, too, has only what was allocated since (programs/anew.c)."""

import functools
import subprocess
import sys

# First, because it adds tests/lib to the path.
from tagged import PROGRAMS, Place
import claims
from built import PLIMSOLL, environment, export
from claims import claim

CALLS, BYTES = 400, 100


@functools.cache
def profile():
    """The place and the path of the profile. The place is removed when the test ends."""
    place = Place()
    path = place.path / "anew.plim"
    subprocess.run([PLIMSOLL, "run", "-q", "--exact", "-o", path, "--", PROGRAMS / "anew"], check=True,
                   capture_output=True, env=environment())
    return place, path


def whole():
    return export(profile()[1])


def sums(metric, *options):
    """function -> (before, after) for a part of the run."""
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
def the_history_after_a_reset_has_nothing_from_before():
    snapshots = whole()["snapshots"]
    assert snapshots, "there is no history, so nothing was tested"
    for snapshot in snapshots:
        assert snapshot["live_bytes"] <= BYTES, snapshot
        assert snapshot["allocated_bytes"] <= CALLS * BYTES, snapshot


@claim
def the_site_of_all_allocations_since_a_reset_is_named():
    until = sums("calls", "--until", half())
    assert list(until) == ["after"] and until["after"][0] == 0 and 10 < until["after"][1] < CALLS - 10, until
    since = sums("calls", "--since", half())
    assert list(since) == ["after"] and since["after"] == (until["after"][1], CALLS), (until, since)


@claim
def freed_blocks_are_not_live_after_a_reset():
    until = sums("live", "--until", half())
    assert sum(after for _, after in until.values()) <= BYTES, until


if __name__ == "__main__":
    try:
        sys.exit(claims.main())
    finally:
        profile()[0].__exit__()
