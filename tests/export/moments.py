# SPDX-License-Identifier: MIT
"""moments - what a profile knows of a moment is what was so then: also of many threads that each do little, and also
where several snapshots have the same name."""

import csv
import functools
import io

import common
from claims import claim, main

THREADS = 600  # more shares of functions than a snapshot has room for
EARLY, LATE = 100 * THREADS, 2 * THREADS


@functools.cache
def swarm():
    return common.record("swarm", "--exact", program=[common.PROGRAMS / "swarm", THREADS])


def calls(profile, *options):
    """function -> calls, of all its stacks."""
    sums = {}
    for row in csv.DictReader(io.StringIO(common.export(profile, "csv", *options).decode())):
        sums[row["function"]] = sums.get(row["function"], 0) + int(row["calls"])
    return sums


def quiet():
    """When all threads have done their first part and rest, by how much all of them had done."""
    whole = common.as_json(swarm())
    end = whole["totals"]["alloc_objects"]["value"]
    times = [each["time_s"] for each in whole["snapshots"] if EARLY + THREADS <= each["calls"] <= end - LATE]
    assert times, "the profile looked at no moment of the rest"
    return f"{int(times[len(times) // 2] * 1000)}ms"


@claim
def what_many_threads_did_before_a_moment_was_not_done_since():
    assert calls(swarm())["early"] == EARLY
    since = calls(swarm(), "--since", quiet())
    assert since.get("early", 0) == 0, since
    assert LATE <= since["late"] <= LATE + 50, since


@claim
def but_was_until_then():
    until = calls(swarm(), "--until", quiet())
    assert until["early"] == EARLY and until.get("late", 0) <= 50, until


@claim
def nor_does_a_selection_of_it_say_otherwise():
    assert sum(calls(swarm(), "--focus", "early", "--since", quiet()).values()) == 0


@claim
def diff_says_the_same_of_that_moment():
    done = common.run(common.PLIMSOLL, "diff", "--metric", "calls", "--since", quiet(), swarm())
    said = done.stdout.decode()
    assert "early" not in said and f"+{LATE:,}" in said and "late" in said, said


@claim
def of_several_snapshots_of_one_name_the_latest_is_meant():
    path = common.place() / "thrice.plim"
    common.run(common.PLIMSOLL, "run", "--exact", "-o", path, "--", common.PROGRAMS / "thrice")
    assert len(list(common.place().glob("thrice.warm*.plim"))) == 3
    assert calls(path, "--snapshot", "warm")["main"] == 6
    assert calls(path, "--snapshot", "2")["main"] == 3


if __name__ == "__main__":
    main()
