# SPDX-License-Identifier: MIT
"""moments - what a profile says about a time is right, also for many threads that each do little, and also if several
snapshots have the same name."""

import csv
import functools
import io
import sys

import exporting
from claims import claim, main

THREADS = 600  # more entries than a heap composition has room for
EARLY, LATE = 100 * THREADS, 2 * THREADS


@functools.cache
def swarm():
    return exporting.record("swarm", "--exact", program=[exporting.PROGRAMS / "swarm", THREADS])


def calls(profile, *options):
    """function -> calls, summed over its stacks."""
    sums = {}
    for row in csv.DictReader(io.StringIO(exporting.export(profile, "csv", *options).decode())):
        sums[row["function"]] = sums.get(row["function"], 0) + int(row["calls"])
    return sums


def quiet():
    """A time at which all threads have finished their first part and wait, found by the number of calls."""
    whole = exporting.as_json(swarm())
    end = whole["totals"]["alloc_objects"]["value"]
    times = [each["time_s"] for each in whole["snapshots"] if EARLY + THREADS <= each["calls"] <= end - LATE]
    assert times, "the profile has no heap composition of this time"
    return f"{int(times[len(times) // 2] * 1000)}ms"


@claim
def calls_of_many_threads_before_a_time_are_not_in_since():
    assert calls(swarm())["early"] == EARLY
    since = calls(swarm(), "--since", quiet())
    assert since.get("early", 0) == 0, since
    assert LATE <= since["late"] <= LATE + 50, since


@claim
def calls_of_many_threads_before_a_time_are_in_until():
    until = calls(swarm(), "--until", quiet())
    assert until["early"] == EARLY and until.get("late", 0) <= 50, until


@claim
def since_and_focus_together_are_right_for_many_threads():
    assert sum(calls(swarm(), "--focus", "early", "--since", quiet()).values()) == 0


@claim
def diff_since_is_right_for_many_threads():
    done = exporting.run(exporting.PLIMSOLL, "diff", "--metric", "calls", "--since", quiet(), swarm())
    said = done.stdout.decode()
    assert "early" not in said and f"+{LATE:,}" in said and "late" in said, said


@claim
def of_several_snapshots_with_one_name_the_latest_is_chosen():
    path = exporting.place() / "thrice.plim"
    exporting.run(exporting.PLIMSOLL, "run", "--exact", "-o", path, "--", exporting.PROGRAMS / "thrice")
    assert len(list(exporting.place().glob("thrice.warm*.plim"))) == 3
    assert calls(path, "--snapshot", "warm")["main"] == 6
    assert calls(path, "--snapshot", "2")["main"] == 3


if __name__ == "__main__":
    sys.exit(main())
