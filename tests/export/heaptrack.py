# SPDX-License-Identifier: MIT
"""heaptrack - heaptrack_print reads our files, and its figures are those of the profile.

Its summary is rounded. Its output for flame graphs has exact figures for each stack, for each of its four costs.
"""

import functools
import re
import sys
from collections import Counter

# First, because it adds tests/lib to the path.
import exporting
import claims
import stacks
from claims import claim, expect, main
from exporting import PROGRAMS

COSTS = {"allocations": "alloc_objects", "temporary": "temp_objects", "leaked": "inuse_space", "peak": "peak_space"}
MANY = 1_000_000
EVENTS_MAX = 1 << 23


def crowd(times):
    path = exporting.place() / f"crowd{times}.plim"
    if not path.exists():
        exporting.run(PROGRAMS / "crowd", path, times)
    return path


CASES = {
    "exact": (exporting.exact, ()),
    "sampled": (exporting.sampled, ()),
    "hostile": (exporting.hostile, ()),
    "every way": (lambda: crowd(1), ()),
    "every way, thousands": (lambda: crowd(1000), ()),
    "nothing but frees after the peak": (lambda: crowd(1), ("--focus", "gone_after_peak")),
    "by tag": (exporting.exact, ("--by", "tag")),
    "by thread": (exporting.exact, ("--by", "thread")),
    "small ones together": (exporting.exact, ("--threshold", "5")),
}


@functools.cache
def written(case):
    profile, options = CASES[case]
    path = exporting.place() / f"{case}.heaptrack"
    path.write_bytes(exporting.export(profile(), "heaptrack", *options))
    return path


def read(path, *options):
    """The output of heaptrack_print, which must not complain."""
    done = exporting.run(exporting.tool("heaptrack_print"), "--disable-builtin-suppressions", *options, path)
    assert not done.stderr, done.stderr.decode(errors="replace")
    return done.stdout.decode()


def figure(said, words):
    """A whole number from the summary."""
    return int(re.search(rf"^{words}: (\d+)", said, re.MULTILINE)[1])


@functools.cache
def flames(path, cost):
    """{stack: figure}, outermost first. heaptrack puts semicolons between functions."""
    out = exporting.place() / "flames"
    read(path, "--shorten-templates=0", "--flamegraph-cost-type", cost, "-F", out)
    found = Counter()
    for line in out.read_text().splitlines():
        stack, figure = line.rsplit(" ", 1)
        found[stack.rstrip(";")] += int(figure)
    return found


def check_totals(case):
    profile, options = CASES[case]
    totals, path = exporting.totals(profile(), *(options if "--focus" in options else ())), written(case)
    exporting.same({metric: sum(flames(path, cost).values()) for cost, metric in COSTS.items()}, totals, case)
    said = read(path)
    assert figure(said, "calls to allocation functions") == totals["alloc_objects"]
    assert figure(said, "temporary memory allocations") == totals["temp_objects"]


for case in CASES:
    claims.add(f"calls, temporaries, peak and leaks are right: {case}", functools.partial(check_totals, case))


def shown(stack):
    """A stack as heaptrack shows it: from main on, without operator new, and with base names of files."""
    names = [name for name, _ in stack]
    stack = stack[names.index("main") if "main" in names else 0:]
    while stack[-1][0].startswith("operator new"):
        stack = stack[:-1]
    return ";".join(f"{name} ({file.rsplit('/', 1)[-1]})" if file else name for name, file in stack)


def check_stacks(case):
    profile, _ = CASES[case]
    for cost, metric in COSTS.items():
        wanted = Counter()
        for stack, value in stacks.weights(profile(), metric, lambda frame: (frame["name"], frame["file"])).items():
            wanted[shown(stack)] += value
        found = {stack: value for stack, value in flames(written(case), cost).items() if value}
        expect(stacks.differ(found, wanted), f"of {cost}")


for case in ("exact", "sampled", "every way"):
    claims.add(f"each stack has the right figures: {case}", functools.partial(check_stacks, case))


def events(path):
    """(sign, size) of each event in the file."""
    sizes, found = [], []
    for line in path.read_text().splitlines():
        word, *rest = line.split(" ")
        if word == "a":
            sizes.append(int(rest[0], 16))
        elif word in ("+", "-"):
            found.append((word, sizes[int(rest[0], 16)]))
    return found


@claim
def allocated_bytes_are_exactly_those_of_the_profile():
    for case in ("exact", "hostile", "every way"):
        found = sum(size for sign, size in events(written(case)) if sign == "+")
        assert found == exporting.totals(CASES[case][0]())["alloc_space"], case


@claim
def no_block_is_freed_that_was_not_allocated():
    for case in CASES:
        heap = Counter()
        for sign, size in events(written(case)):
            heap[size] += 1 if sign == "+" else -1
            assert heap[size] >= 0, case
        assert heap, f"{case}: there is no event"


@claim
def control_characters_in_names_are_made_visible():
    said = read(written("hostile"))
    assert "two␊lines␍␊␉and a tab" in " ".join(flames(written("hostile"), "allocations"))
    assert "Debuggee command was: ./example \"two␊lines\" �<script>" in said


@claim
def too_many_calls_are_scaled_down_and_the_command_line_says_so():
    path = exporting.place() / "many.heaptrack"
    path.write_bytes(exporting.export(crowd(MANY), "heaptrack"))
    totals, said = exporting.totals(crowd(MANY)), read(path, "-p0", "-a0", "-T0")
    scale = int(re.search(r"Debuggee command was: .*one stands for (\d+)\)", said)[1])
    calls = figure(said, "calls to allocation functions")
    assert scale > 1 and calls < EVENTS_MAX
    assert abs(calls * scale / totals["alloc_objects"] - 1) < 0.01
    assert abs(figure(said, "temporary memory allocations") * scale / totals["temp_objects"] - 1) < 0.01
    for cost in ("peak", "leaked"):
        assert sum(flames(path, cost).values()) == totals[COSTS[cost]], cost
    path.unlink()


if __name__ == "__main__":
    sys.exit(main())
