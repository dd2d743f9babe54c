# SPDX-License-Identifier: MIT
"""speedscope - speedscope's own importer reads our files, in a browser, and gets the figures of the profile.

Its Export shows how it has read a file: when each frame begins and ends, in units of weight.
"""

import functools
import json
import sys
from collections import Counter

import exporting
import stacks
from browser import browse
from claims import claim, expect, main
from exporting import HERE, METRICS, WORDS

CASES = {
    "exact": (exporting.exact, ()),
    "sampled": (exporting.sampled, ()),
    "hostile": (exporting.hostile, ()),
    "calls first": (exporting.exact, ("--metric", "calls")),
    "by thread and tag": (exporting.exact, ("--by", "thread,tag")),
    "small ones together": (exporting.exact, ("--threshold", "5")),
    "one tag": (exporting.exact, ("--tag", "request")),
    "nothing live": (exporting.exact, ("--tag", "parse", "--metric", "live")),
}


def path(case):
    return exporting.place() / f"{case}.speedscope.json"


@functools.cache
def written(case):
    """The file that we write."""
    profile, options = CASES[case]
    path(case).write_bytes(exporting.export(profile(), "speedscope", *options))
    return json.loads(path(case).read_bytes())


@functools.cache
def opened():
    """{case: the file as speedscope reads it}, from one run of the browser."""
    for case in CASES:
        written(case)
    return dict(zip(CASES, browse(HERE / "speedscope.mjs", *map(path, CASES))))


def word(profile):
    return profile["name"].split(":")[0]


def shown_first(case):
    return word(opened()[case]["profiles"][opened()[case]["activeProfileIndex"]])


def of_metric(case, metric):
    return next(profile for profile in opened()[case]["profiles"] if word(profile) == WORDS[metric])


def key(frame):
    return frame["name"], frame.get("file", ""), frame.get("line", 0)


def weights(case, metric):
    """{stack: weight}, from the beginnings and ends of frames."""
    frames, profile = opened()[case]["shared"]["frames"], of_metric(case, metric)
    found, stack, at = Counter(), (), 0
    for event in profile["events"]:
        found[stack] += event["at"] - at
        at = event["at"]
        stack = (*stack, key(frames[event["frame"]])) if event["type"] == "O" else stack[:-1]
    return {stack: weight for stack, weight in found.items() if weight}


def wanted(case, metric, **more):
    profile, options = CASES[case]

    def of(frame):
        return frame["name"], frame["file"] or frame["module"], frame["line"]

    return stacks.weights(profile(), metric, of, *options, **more)


def check_totals(case):
    """Weights of all metrics that are not zero, and of the one that is shown first."""
    profile, options = CASES[case]
    selection = options[:2] if options[:1] == ("--tag",) else ()
    totals, shown = exporting.totals(profile(), *selection), shown_first(case)
    there = [metric for metric in METRICS if totals[metric] or WORDS[metric] == shown]
    found = {metric: of_metric(case, metric)["endValue"] for metric in there}
    exporting.same(found, totals, case)
    assert len(found) == len(opened()[case]["profiles"]), [word(one) for one in opened()[case]["profiles"]]


@claim
def speedscope_gets_the_exact_totals_of_the_profile():
    for case in CASES:
        check_totals(case)


@claim
def speedscope_gets_every_stack_with_names_files_and_lines():
    for case in ("exact", "sampled", "one tag"):
        for metric in METRICS:
            if exporting.totals(CASES[case][0](), *CASES[case][1])[metric]:
                expect(stacks.differ(weights(case, metric), wanted(case, metric)), f"in {case}, {metric}")


@claim
def hostile_names_are_kept():
    for metric in METRICS:
        expect(stacks.differ(weights("hostile", metric), wanted("hostile", metric)), metric)


@claim
def metrics_of_bytes_have_the_unit_bytes_and_others_have_none():
    for profile in opened()["exact"]["profiles"]:
        of_bytes = word(profile) in ("allocated", "live", "peak")
        assert profile["unit"] == ("bytes" if of_bytes else "none"), profile["name"]


@claim
def the_selected_metric_is_shown_first():
    for case, first in (("exact", "live"), ("calls first", "calls"), ("nothing live", "live")):
        assert shown_first(case) == first, f"{case}: {shown_first(case)}"


@claim
def threads_and_tags_are_outermost_frames_on_request():
    for metric in ("alloc_objects", "inuse_space"):
        found, right = Counter(), Counter()
        for stack, weight in weights("by thread and tag", metric).items():
            found[tuple(name for name, file, line in stack if not file)] += weight
        profile = exporting.as_json(exporting.exact())
        for site in profile["sites"]:
            right[tuple(stacks.thread_and_tags(profile, site))] += exporting.figures(site)[metric]
        expect(stacks.differ(found, {key: value for key, value in right.items() if value}), metric)


@claim
def small_stacks_become_one_frame():
    names = [frame["name"] for frame in written("small ones together")["shared"]["frames"]]
    assert sum("more below 5%" in name for name in names) == 1, names
    assert len(names) < len(written("exact")["shared"]["frames"])


@claim
def the_file_has_only_frames_that_stacks_use():
    for case in CASES:
        file = written(case)
        used = {frame for profile in file["profiles"] for sample in profile["samples"] for frame in sample}
        assert used == set(range(len(file["shared"]["frames"]))), case


@claim
def the_selected_metric_is_present_even_if_it_is_zero():
    profile = of_metric("nothing live", "inuse_space")
    assert profile["endValue"] == 0 and not profile["events"], profile


@claim
def the_file_names_its_writer_and_the_program():
    assert written("exact")["exporter"].startswith("plimsoll "), written("exact")["exporter"]
    assert written("exact")["name"] == "shapes", written("exact")["name"]
    assert "request" in written("one tag")["name"], written("one tag")["name"]


if __name__ == "__main__":
    sys.exit(main())
