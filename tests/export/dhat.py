# SPDX-License-Identifier: MIT
"""dhat - valgrind's viewer reads our files like DHAT's own, in a browser, and shows the totals of the profile."""

import functools
import json
import re
import sys

# First, because it adds tests/lib to the path.
import exporting
import claims
import stacks
from browser import browse
from claims import Skip, claim, expect, main
from exporting import HERE
from pathlib import Path

VIEWER = Path("/usr/libexec/valgrind/dh_view.html")
CASES = exporting.CASES
KEYS = {"tb": "alloc_space", "tbk": "alloc_objects", "gb": "peak_space", "gbk": "peak_objects", "eb": "inuse_space",
        "ebk": "inuse_objects"}
SHOWN = {"Total": ("alloc_space", "alloc_objects"), "At t-gmax": ("peak_space", "peak_objects"),
         "At t-end": ("inuse_space", "inuse_objects")}


def totals(case):
    profile, options = CASES[case]
    return exporting.totals(profile(), *(options if "--tag" in options else ()))


def path(case):
    return exporting.place() / f"{case}.dhat.json"


@functools.cache
def written(case):
    profile, options = CASES[case]
    path(case).write_bytes(exporting.export(profile(), "dhat", *options))
    return json.loads(path(case).read_bytes())


@functools.cache
def opened():
    """{case: the text of the viewer}, from one run of the browser."""
    if not VIEWER.exists():
        raise Skip("valgrind's viewer is not installed")
    for case in CASES:
        written(case)
    return dict(zip(CASES, browse(HERE / "dhat.mjs", VIEWER, *map(path, CASES))))


def check_file(case):
    points = written(case)["pps"]
    exporting.same({metric: sum(point[key] for point in points) for key, metric in KEYS.items()}, totals(case), case)
    for point in points:
        assert max(point["gb"], point["eb"]) <= point["mb"] <= point["tb"]
        assert point["fs"] and all(0 < frame < len(written(case)["ftbl"]) for frame in point["fs"])
    assert 0 <= written(case)["tg"] <= written(case)["te"]


def check_viewer(case):
    """The first node is the root."""
    root = opened()[case].split("PP 1/1", 1)[1].split("Allocated at", 1)[0]
    for words, (space, objects) in SHOWN.items():
        found = re.search(rf"{words}: +([\d,]+) bytes \(.*?\) in ([\d,]+) blocks \(", root)
        assert found, f"no {words} in {root}"
        figures = [int(word.replace(",", "")) for word in found.groups()]
        exporting.same(dict(zip((space, objects), figures)), totals(case), f"{case}, {words}")


for case in CASES:
    claims.add(f"the sums of the file are the totals of the profile: {case}", functools.partial(check_file, case))
    claims.add(f"the viewer shows the totals of the profile: {case}", functools.partial(check_viewer, case))


def frame_text(frame, address):
    place = f"{frame['file']}:{frame['line']}" if frame["file"] else f"in {frame['module']}"
    return f"{address}: {frame['name']} ({place})"


@claim
def each_stack_has_its_own_figures_innermost_frame_first():
    for case in ("exact", "sampled"):
        for key, metric in KEYS.items():
            found, table = {}, written(case)["ftbl"]
            for point in written(case)["pps"]:
                if point[key]:
                    texts = (re.sub("^0x[0-9A-F]+", "", table[frame]) for frame in reversed(point["fs"]))
                    found[tuple(texts)] = point[key]
            wanted = stacks.weights(CASES[case][0](), metric, lambda frame: frame_text(frame, ""))
            expect(stacks.differ(found, wanted), f"{case}: {metric}")


@claim
def frames_are_written_as_importers_parse_them():
    """The Firefox Profiler parses them: address, function, file or object, line."""
    frame = re.compile(r"^0x([0-9a-f]+): (.+) \((?:in )?(.+?)(?::(\d+))?(?::(\d+))?\)$", re.IGNORECASE | re.DOTALL)
    for case in ("exact", "hostile"):
        root, *texts = written(case)["ftbl"]
        assert root == "[root]"
        others = [text for text in texts if not frame.match(text)]
        assert all(re.match(r"\(.*\)$", text) for text in others), others
    function = next(found for found in map(frame.match, written("exact")["ftbl"]) if found and found[2] == "main")
    assert function[3].endswith("shapes.cpp") and int(function[4])


@claim
def hostile_names_are_shown_unchanged():
    for name in ("<b>bold</b><script>alert(1)</script> ]]> -->", "\"double\" 'single' `back`", "two\nlines",
                 "日本語の関数 Käse 🧀", "x" * 3999 + "y"):
        assert name in opened()["hostile"], name


@claim
def lifetimes_are_about_right():
    """The first blocks live for two phases of 0.4 s. The last ones live until the end, 0.2 s on average."""
    profile = exporting.record("phases", "--exact", program=[exporting.PROGRAMS / "phases"])
    data = json.loads(exporting.export(profile, "dhat"))

    def mean_us(function):
        point, = (point for point in data["pps"] if any(f" {function} " in data["ftbl"][at] for at in point["fs"]))
        return point["tl"] / point["tbk"]

    assert 0.8e6 / 1.5 < mean_us("make_first") < 1.5 * data["te"]
    assert 0.2e6 / 1.5 < mean_us("make_last") < data["te"]
    assert mean_us("make_and_free") < 0.1 * mean_us("make_last")


if __name__ == "__main__":
    sys.exit(main())
