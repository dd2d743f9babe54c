# SPDX-License-Identifier: MIT
"""allocators - stacks end with the function that wanted memory, not with wrappers; two builds are one program."""

import csv
import functools
import io
import json
import re
import shutil
import sys
from collections import Counter

# First, because it adds tests/lib to the path.
import exporting
from claims import claim, main
from pprofs import saved, top

NAMES = {"by_new": 10_000, "by_wrapper": 2_000, "by_container": 300}
HANDS = ("operator new", "xmalloc", "std::__new_allocator", "std::allocator_traits")


def place_of(directory, built):
    """A program as if it had been built in a given directory."""
    path = exporting.place() / directory / "wrapped"
    path.parent.mkdir(exist_ok=True)
    shutil.copy(exporting.PROGRAMS / built, path)
    return path


@functools.cache
def wrapped():
    return exporting.record("wrapped", "--exact", program=[place_of("here", "wrapped")])


@functools.cache
def elsewhere():
    return exporting.record("elsewhere", "--exact", program=[place_of("there", "wrapped-elsewhere")])


@functools.cache
def innermost(*options):
    """{innermost function of a stack: bytes allocated there}"""
    found = Counter()
    for line in exporting.export(wrapped(), "collapsed", "--metric", "allocated", *options).decode().splitlines():
        stack, _, allocated = line.rpartition(" ")
        found[stack.split(";")[-1]] += int(allocated)
    return found


@functools.cache
def table(profile, *options):
    return [*csv.DictReader(io.StringIO(exporting.export(profile, "csv", *options).decode()))]


def is_handed_on(name):
    return name.startswith(HANDS)


@claim
def no_stack_ends_with_an_allocator_wrapper():
    assert not any(map(is_handed_on, innermost())), innermost()
    assert innermost()["by_new()"] == 10_000 and innermost()["by_wrapper()"] == 2_000, innermost()
    assert any(name.startswith("std::_Vector_base") for name in innermost()), innermost()


@claim
def names_none_keeps_allocator_wrappers():
    kept = innermost("--names", "none")
    assert all(any(name.startswith(hand) for name in kept) for hand in HANDS[:2]), kept
    assert sum(kept.values()) == sum(innermost().values())


@claim
def pprof_has_flat_figures_at_the_functions_that_wanted_memory():
    rows, total = top("alloc_space", saved(wrapped()))
    assert not any(map(is_handed_on, rows)), rows
    assert rows["by_new()"] == (10_000, 10_000) and rows["by_wrapper()"] == (2_000, 2_000), rows
    assert total == exporting.totals(wrapped())["alloc_space"]


@claim
def a_site_is_named_after_the_function_that_an_allocator_was_inlined_into():
    found = {row["function"].split("(")[0]: row for row in table(wrapped())}
    for name, allocated in NAMES.items():
        assert int(found[name]["allocated"]) == allocated, found[name]
        assert f"{found[name]['function']}:{found[name]['line']}" in found[name]["stack"], found[name]


@claim
def a_difference_of_builds_in_two_directories_ignores_the_directories():
    files = {row["file"] for profile in (wrapped(), elsewhere()) for row in table(profile) if "wrapped" in row["file"]}
    assert len(files) == 2, f"both builds have the same directory: {files}"
    rows = table(elsewhere(), "--diff-base", wrapped())
    assert rows and all(int(row["calls"]) == int(row["allocated"]) == 0 for row in rows), rows
    assert sum(int(row["calls before"]) for row in rows) == exporting.totals(wrapped())["alloc_objects"]


@claim
def paths_contain_no_dot_dot():
    assert not any("/../" in row["file"] for row in table(exporting.exact())), table(exporting.exact())


@claim
def small_stacks_are_counted_below_their_thread():
    def stacks(*options):
        """The threads of all stacks, and how many small stacks are counted below each."""
        words = ("--metric", "calls", "--by", "thread", *options)
        shared = json.loads(exporting.export(exporting.exact(), "speedscope", *words))
        names = [frame["name"] for frame in shared["shared"]["frames"]]
        profile = next(one for one in shared["profiles"] if one["name"].startswith("calls"))
        found = [(names[stack[0]], names[stack[-1]]) for stack in profile["samples"]]
        small = {thread: int(re.match(r"\((\d+) more", last)[1]) for thread, last in found if " more below " in last}
        return [thread for thread, last in found if " more below " not in last], small

    everything, (large, small) = stacks()[0], stacks("--threshold", "20")
    assert len(small) == 3, small
    for thread, count in small.items():
        assert count == everything.count(thread) - large.count(thread), (thread, count, everything, large)


if __name__ == "__main__":
    sys.exit(main())
