# SPDX-License-Identifier: MIT
"""massif - ms_print reads our files, which have the heap over time: snapshots in order, trees with correct sums."""

import functools
import re
import sys

# First, because it adds tests/lib to the path.
import exporting
import claims
from claims import claim, main

HEAD = ("snapshot", "time", "mem_heap_B", "mem_heap_extra_B", "mem_stacks_B", "heap_tree")
SMALL = re.compile(r"in (1 place, below|\d+ places, all below) massif's threshold \((\d+\.\d\d)%\)$")
SNAPSHOTS_MAX = 125
DEPTH_MAX = 30


@functools.cache
def phases():
    return exporting.record("phases", "--exact", program=[exporting.PROGRAMS / "phases"])


@functools.cache
def told():
    path = exporting.place() / "told.plim"
    exporting.run(exporting.PROGRAMS / "told", path)
    return path


@functools.cache
def merged():
    path = exporting.place() / "merged.plim"
    exporting.run(exporting.PLIMSOLL, "merge", exporting.before(), exporting.after(), "-o", path)
    return path


CASES = {
    "exact": (exporting.exact, ()),
    "sampled": (exporting.sampled, ()),
    "hostile": (exporting.hostile, ()),
    "over time": (phases, ()),
    "told late": (told, ()),
    "a sum": (merged, ()),
    "allocated over time": (phases, ("--metric", "allocated")),
    "calls over time": (phases, ("--metric", "calls")),
    "blocks": (phases, ("--metric", "blocks")),
    "temporary": (exporting.exact, ("--metric", "temporary")),
    "by tag": (exporting.exact, ("--by", "tag")),
    "everything however small": (exporting.exact, ("--threshold", "0")),
    "only what is large": (exporting.exact, ("--threshold", "10")),
    "one tag": (exporting.exact, ("--tag", "request", "--metric", "live")),
}
END = {"allocated over time": "alloc_space", "calls over time": "alloc_objects", "blocks": "inuse_objects",
       "temporary": "temp_objects"}
PEAK = {"allocated over time": None, "calls over time": None, "blocks": "peak_objects", "temporary": None,
        "a sum": None}  # of peaks at different times


def totals(case):
    profile, options = CASES[case]
    return exporting.totals(profile(), *(options[:2] if "--tag" in options else ()))


@functools.cache
def written(case):
    profile, options = CASES[case]
    path = exporting.place() / f"{case}.massif"
    path.write_bytes(exporting.export(profile(), "massif", *options))
    return path


def read_node(lines, depth=0):
    """A node with everything below it, from an iterator over lines. The number of its children says where it ends."""
    line = next(lines)
    found = re.match(r"( *)n(\d+): (\d+) (.*)$", line)
    assert found and len(found[1]) == depth, line
    below = [read_node(lines, depth + 1) for _ in range(int(found[2]))]
    return {"bytes": int(found[3]), "text": found[4], "below": below}


@functools.cache
def parse(case):
    """(head, snapshots) of a file. Anything that does not follow the grammar is an error."""
    lines = iter(line for line in written(case).read_text().splitlines() if not line.startswith("#"))
    head = dict(next(lines).split(": ", 1) for _ in range(3))
    assert list(head) == ["desc", "cmd", "time_unit"]
    snapshots = []
    for line in lines:
        one = dict([line.split("=", 1), *(next(lines).split("=", 1) for _ in HEAD[1:])])
        assert tuple(one) == HEAD, one
        one["tree"] = None if one["heap_tree"] == "empty" else read_node(lines)
        snapshots.append(one)
    return head, snapshots


def nodes(tree, depth=0):
    yield tree, depth
    for node in tree["below"]:
        yield from nodes(node, depth + 1)


def check_tree(snapshot, threshold):
    """The children of a node have no more than the node, the heaviest come first, and small ones are merged."""
    whole = snapshot["tree"]["bytes"]
    assert whole == int(snapshot["mem_heap_B"])
    assert sum(node["bytes"] for node in snapshot["tree"]["below"]) == whole
    for node, depth in nodes(snapshot["tree"]):
        large = [below["bytes"] for below in node["below"] if not SMALL.match(below["text"])]
        assert sum(below["bytes"] for below in node["below"]) <= node["bytes"] and depth <= DEPTH_MAX
        if "(too small to be listed" not in "".join(below["text"] for below in node["below"]):
            assert large == sorted(large, reverse=True) and all(one >= threshold * whole for one in large)


def check(case):
    _, snapshots = parse(case)
    threshold = {"everything however small": 0, "only what is large": 0.1}.get(case, 0.01)
    times = [float(one["time"]) for one in snapshots]
    assert times == sorted(times) and len(times) <= SNAPSHOTS_MAX
    assert [one["snapshot"] for one in snapshots] == [str(i) for i in range(len(snapshots))]
    for one in snapshots:
        if one["tree"]:
            check_tree(one, threshold)
    assert int(snapshots[-1]["mem_heap_B"]) == totals(case)[END.get(case, "inuse_space")]
    peaks = [int(one["mem_heap_B"]) for one in snapshots if one["heap_tree"] == "peak"]
    metric = PEAK.get(case, "peak_space")
    assert peaks == ([totals(case)[metric]] if metric and totals(case)[metric] else [])


def check_reader(case):
    done = exporting.run(exporting.tool("ms_print"), "--threshold=0", written(case))
    assert not done.stderr, done.stderr.decode(errors="replace")
    said, (head, snapshots) = done.stdout.decode(), parse(case)
    assert f"Number of snapshots: {len(snapshots)}\n" in said
    assert f"Command:            {head['cmd']}\n" in said
    for one in snapshots:
        assert re.search(rf"^ *{one['snapshot']} .* {int(one['mem_heap_B']):,} ", said, re.MULTILINE), one
        for node, _ in nodes(one["tree"]) if one["tree"] else ():
            assert f"({node['bytes']:,}B) {node['text']}\n" in said


for case in CASES:
    claims.add(f"snapshots are in order, and sums, peak and end are right: {case}",
               functools.partial(check, case))
    claims.add(f"ms_print shows every snapshot and every node: {case}", functools.partial(check_reader, case))


@claim
def trees_have_the_allocating_line_at_the_top_and_its_callers_below():
    _, snapshots = parse("exact")
    peak = next(one["tree"] for one in snapshots if one["heap_tree"] == "peak")
    texts = [node["text"] for node, _ in nodes(peak)]
    assert re.match(r"0x[0-9A-F]+: shapes::innermost \(shapes.cpp:\d+\)$", peak["below"][0]["text"])
    at = texts.index(peak["below"][0]["text"])
    assert [text.split(" ")[1] for text in texts[at:at + 3]] == ["shapes::innermost", "shapes::between",
                                                                 "shapes::shape_block"]


@claim
def the_heap_grows_and_shrinks_like_the_program():
    _, snapshots = parse("over time")
    heap = [int(one["mem_heap_B"]) for one in snapshots]
    assert len(heap) > 30 and max(heap) >= 1_000_000 > heap[0] and heap[-1] < 600_000
    trees = [one["tree"] for one in snapshots if one["heap_tree"] == "detailed"]
    assert len(trees) > 2
    first, last = (" ".join(node["text"] for node, _ in nodes(tree)) for tree in (trees[0], trees[-1]))
    assert "make_first" in first and "make_last" not in first and "make_last" in last


@claim
def moments_above_the_peak_are_lowered_if_late_batches_explain_them():
    """A moment that they do not explain stays as it is. The head says how exactly the peak is known."""
    head, snapshots = parse("told late")
    heap = [int(one["mem_heap_B"]) for one in snapshots if one["heap_tree"] == "empty"]
    peak = [int(one["mem_heap_B"]) for one in snapshots if one["heap_tree"] == "peak"]
    assert heap == [8_000, 10_000, 30_000] and peak == [10_000], (heap, peak)
    assert head["desc"].endswith("peak 9.8 KiB, to within 8.0 KiB"), head
    assert "to within" not in parse("allocated over time")[0]["desc"], parse("allocated over time")[0]


@claim
def allocated_bytes_and_calls_only_grow():
    for case in ("allocated over time", "calls over time"):
        figures = [int(one["mem_heap_B"]) for one in parse(case)[1]]
        assert figures == sorted(figures) and len(set(figures)) > 10, case


@claim
def a_selected_part_has_no_totals_of_the_process():
    snapshots = parse("one tag")[1]
    assert snapshots and all(one["tree"] for one in snapshots), snapshots


@claim
def small_places_are_merged():
    texts = [node["text"] for one in parse("only what is large")[1] for node, _ in nodes(one["tree"] or read_nothing())]
    assert any(SMALL.match(text) and SMALL.match(text)[2] == "10.00" for text in texts)
    none = [node["text"] for one in parse("everything however small")[1]
            for node, _ in nodes(one["tree"] or read_nothing())]
    assert not any(SMALL.match(text) for text in none)


def read_nothing():
    return {"bytes": 0, "text": "", "below": []}


@claim
def control_characters_and_comment_signs_in_names_are_made_visible():
    said = exporting.run(exporting.tool("ms_print"), "--threshold=0", written("hostile")).stdout.decode()
    for name in ("two␊lines␍␊␉and a tab (two␊lines␍␊␉and a tab:", "␊＃ comment␊fn=(1) x␊summary: 1␊", "n0: 12 (heap"):
        assert name in said, name


if __name__ == "__main__":
    sys.exit(main())
