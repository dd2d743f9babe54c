# SPDX-License-Identifier: MIT
"""pictures - pictures of calls, read by Graphviz and an XML parser: the call graph (dot) and the call tree (svg).

Tooltips have exact figures: "bytes: total 1,234, self 56". So the figures of a picture are compared with the sums of
the stacks in the JSON export.
"""

import functools
import json
import re
import xml.etree.ElementTree
from collections import Counter

import exporting
import stacks
from claims import add, claim, expect, main
from exporting import PROFILES, WORDS

SVG = "{http://www.w3.org/2000/svg}"
FIGURES = re.compile(r"^(?:bytes|blocks|calls): total ([+−±]?[\d,]+), self ([+−±]?[\d,]+)$", re.MULTILINE)
LIMIT = 100  # functions in a graph
GAP = 2  # between boxes


def number(text):
    return int(text.replace(",", "").replace("±", "").replace("−", "-"))


# ---- reading pictures ----


@functools.cache
def graph(profile, *options):
    """The graph as Graphviz understands it: heading, nodes, edges."""
    text = exporting.export(profile, "dot", *options)
    done = exporting.run(exporting.tool("dot"), "-Tdot_json", input=text, stdin=None)
    assert not done.stderr, done.stderr.decode()
    drawn = json.loads(done.stdout)
    nodes = []
    for node in drawn.get("objects", []):
        tooltip = lines_of(node["tooltip"])
        total, own = map(number, FIGURES.search(tooltip).groups())
        nodes.append({**node, "total": total, "self": own, "name": tooltip.split("\n")[0]})
    return drawn["label"], nodes, drawn.get("edges", [])


def lines_of(tooltip):
    """The lines of a tooltip, whose escapes Graphviz keeps as they were written."""
    return tooltip.replace("\\\\\\\\", "\0").replace("\\n", "\n").replace("\0", "\\").replace("&amp;", "&")


@functools.cache
def boxes(profile, *options):
    """The boxes of the call tree: [{"x", "y", "width", "name", "total", "self", "class"}]."""
    tree = xml.etree.ElementTree.fromstring(exporting.export(profile, "svg", *options))
    found = []
    for group in tree.iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        if title is None:
            continue
        total, own = map(number, FIGURES.search(title.text).groups())
        found.append({"name": title.text.split("\n")[0], "total": total, "self": own, "class": group.get("class"),
                      **{key: float(rect.get(key)) for key in ("x", "y", "width", "height")}})
    return found


# ---- expected figures ----


def paths(profile, metric):
    return stacks.weights(profile, metric, lambda frame: (stacks.visible(frame["name"]), frame["file"],
                                                           frame["module"].rsplit("/", 1)[-1]))


def by_name(counter):
    """{(name, file, module): figure} as {name: [figures]}, because pictures show only the name."""
    found = {}
    for (name, *_), value in counter.items():
        found.setdefault(name, []).append(value)
    return {name: sorted(values) for name, values in found.items()}


def check_graph(profile):
    for metric in ("alloc_space", "inuse_objects"):
        whole, own, total = paths(profile(), metric), Counter(), Counter()
        for path, value in whole.items():
            own[path[-1]] += value
            for function in set(path):
                total[function] += value
        _, nodes, _ = graph(profile(), "--metric", WORDS[metric], "--threshold", "0")
        assert len(nodes) == len(total) <= LIMIT, f"{len(nodes)} functions, not {len(total)}"
        for what, wanted in (("total", total), ("self", Counter({key: own[key] for key in total}))):
            found = {}
            for node in nodes:
                found.setdefault(node["name"], []).append(node[what])
            found = {name: sorted(values) for name, values in found.items()}
            expect(stacks.differ(found, by_name(wanted)), f"{what} {metric}")


def check_tree(profile):
    for metric in ("alloc_space", "inuse_objects"):
        options = ("--metric", WORDS[metric], "--threshold", "0")
        all_of_it, *others = found = boxes(profile(), *options)
        assert all_of_it["total"] == exporting.totals(profile())[metric], all_of_it
        wanted = Counter()
        for path, value in paths(profile(), metric).items():
            for depth in range(len(path)):
                wanted[path[:depth + 1]] += value
        # boxes of less than half a pixel are not drawn
        least = all_of_it["total"] * .51 / all_of_it["width"]
        wide = sorted(value for value in wanted.values() if value >= least)
        drawn = sorted(box["total"] for box in others if box["total"] >= least)
        assert drawn == wide, f"{len(drawn)} boxes, not {len(wide)}"
        expect(nesting(found), metric)


def nesting(found):
    """Each box lies below another and inside of its range, and no boxes overlap."""
    rows = {}
    for box in found:
        rows.setdefault(box["y"], []).append(box)
    levels = sorted(rows)
    for above, level in zip(levels, levels[1:]):
        row = sorted(rows[level], key=lambda box: box["x"])
        for box in row:
            if not any(up["x"] - .02 <= box["x"] and
                       box["x"] + box["width"] <= up["x"] + up["width"] + GAP + .02
                       for up in rows[above] if up["total"] >= box["total"]):
                yield f"{box['name']} is not below its caller"
        for left, right in zip(row, row[1:]):
            if left["x"] + left["width"] > right["x"] + .02:
                yield f"{left['name']} overlaps {right['name']}"


for what, profile in PROFILES.items():
    if profile is not exporting.hostile:
        add(f"the call graph of {what} has the figures of its stacks, recursion counted once",
            functools.partial(check_graph, profile))
    add(f"the call tree of {what} has the figures of its stacks", functools.partial(check_tree, profile))


@claim
def an_arrow_has_the_calls_of_all_stacks_that_contain_it_each_counted_once():
    wanted, found = Counter(), {}
    for path, value in paths(exporting.exact(), "alloc_objects").items():
        for pair in set(zip(path, path[1:])):
            wanted[pair] += value
    wanted_by_name = {}
    for (caller, callee), value in wanted.items():
        wanted_by_name.setdefault((caller[0], callee[0]), []).append(f"{value:,}")
    _, nodes, edges = graph(exporting.exact(), "--metric", "calls", "--threshold", "0")
    name_of = {node["_gvid"]: node["name"] for node in nodes}
    for edge in edges:
        found.setdefault((name_of[edge["tail"]], name_of[edge["head"]]), []).append(edge["label"])
    expect(stacks.differ({pair: sorted(labels) for pair, labels in found.items()},
                         {pair: sorted(labels) for pair, labels in wanted_by_name.items()}))


@claim
def estimates_have_an_error_and_exact_figures_have_none():
    report = exporting.run(exporting.PLIMSOLL, "report", exporting.sampled()).stdout.decode()
    never_freed = re.search(r"never freed +(\S+ \S+ ± \S+ \S+) in", report)[1]
    for form in ("svg", "dot"):
        sampled = exporting.export(exporting.sampled(), form, "--metric", "live", "--threshold", "5").decode()
        assert "± = 95% confidence" in sampled and len(re.findall(r"live: total \S+ \S+ ± ", sampled)) > 5, sampled
        assert "±" not in exporting.export(exporting.exact(), form, "--metric", "live").decode()
        assert form == "dot" or f"live: total {never_freed} (100.0%)" in sampled, never_freed


# ---- small functions ----


@functools.cache
def chain():
    path = exporting.place() / "chain.plim"
    exporting.run(exporting.PROGRAMS / "chain", path)
    return path


def arrow(nodes, edges, caller, callee):
    """The edge between two functions, by name."""
    number_of = {node["name"]: node["_gvid"] for node in nodes}
    return next((edge for edge in edges
                 if (edge["tail"], edge["head"]) == (number_of[caller], number_of[callee])), None)


@claim
def small_functions_are_left_out_of_the_graph():
    whole = exporting.totals(exporting.exact())["alloc_space"]
    heading, nodes, edges = graph(exporting.exact(), "--metric", "allocated", "--threshold", "2")
    _, everything, _ = graph(exporting.exact(), "--metric", "allocated", "--threshold", "0")
    wanted = sorted(node["name"] for node in everything if node["total"] >= whole * .02)
    assert sorted(node["name"] for node in nodes) == wanted, [node["name"] for node in nodes]
    assert f"in {len(everything)} functions; {len(nodes)} are shown" in heading and "less than 2%" in heading, heading
    called = {edge["head"] for edge in edges}
    roots = {stack[0] for stack in stacks.weights(exporting.exact(), "alloc_space", lambda frame: frame["name"])}
    expect(f"no caller: {node['name']}" for node in nodes if node["name"] not in roots and node["_gvid"] not in called)


@claim
def calls_through_functions_that_are_left_out_are_dashed():
    _, nodes, edges = graph(chain(), "--metric", "calls", "--threshold", "1")
    assert not any(node["name"].startswith("small_") for node in nodes)
    indirect = arrow(nodes, edges, "main", "common")
    assert indirect["style"] == "dashed" and indirect["label"] == "100", indirect
    assert arrow(nodes, edges, "main", "pass_0").get("style") != "dashed"


@claim
def a_graph_has_a_limited_size_and_functions_that_only_pass_calls_on_are_left_out_first():
    _, nodes, edges = graph(chain(), "--metric", "calls", "--threshold", "0")
    names = {node["name"] for node in nodes}
    assert len(names) == LIMIT and {"main", "left", "right", "common", "pass_149"} <= names, names
    assert sum(node["self"] for node in nodes) == 1000
    passed = [name for name in names if name.startswith("pass_")]
    assert any(edge.get("style") == "dashed" and edge["label"] == "900" for edge in edges), passed


@claim
def small_boxes_of_the_tree_are_merged_and_not_lost():
    found = boxes(exporting.exact(), "--metric", "allocated", "--threshold", "5")
    more = [box for box in found if re.fullmatch(r"\d+ more, each too small to show", box["name"])]
    assert more and all("more" in box["class"].split() for box in more)
    whole = exporting.totals(exporting.exact())["alloc_space"]
    assert sum(box["self"] for box in found) == whole
    assert all(box["total"] >= whole * .05 for box in found if box not in more)


@claim
def recursion_is_an_arrow_from_a_function_to_itself():
    _, nodes, edges = graph(exporting.exact(), "--metric", "allocated")
    descend = next(node for node in nodes if re.search(r"\bdescend\b", node["name"]))
    loops = [edge for edge in edges if edge["tail"] == edge["head"] == descend["_gvid"]]
    assert len(loops) == 1, loops


# ---- differences ----


@claim
def a_difference_has_blue_for_less_and_orange_for_more():
    options = ("--metric", "allocated", "--diff-base", exporting.before(), exporting.after())
    heading, nodes, edges = graph(options[-1], *options[:-1])
    change = exporting.difference(exporting.before(), exporting.after())["alloc_space"]
    assert "change of allocated" in heading, heading
    found = {re.sub(r"\(.*", "", node["name"]).split("::")[-1]: node for node in nodes}
    assert found["audit"]["total"] > 0 > found["render"]["total"]
    red, blue = (tuple(int(found[name]["fillcolor"][at:at + 2], 16) for at in (1, 5)) for name in ("audit", "render"))
    assert red[0] > red[1] and blue[0] < blue[1], (red, blue)
    tree = boxes(options[-1], *options[:-1])
    assert tree[0]["total"] == change, (tree[0], change)
    shade = {box["name"].split("(")[0].split("::")[-1]: int(re.search(r"s(\d)", box["class"])[1]) for box in tree}
    assert shade["audit"] > 4 > shade["render"], shade


@claim
def in_the_tree_of_a_difference_removed_functions_keep_their_place():
    metric = ("--metric", "allocated")
    tree = boxes(exporting.after(), *metric, "--diff-base", exporting.before())
    render = [box for box in tree if re.search(r"\brender\b", box["name"])]
    assert render and all(box["total"] < 0 and box["width"] > 10 for box in render), render
    expect(problem for problem in nesting([{**box, "total": 0} for box in tree]))


# ---- names ----


@claim
def graphviz_and_xml_parsers_accept_hostile_names():
    _, nodes, _ = graph(exporting.hostile(), "--threshold", "0")
    names = {stacks.visible(path[-1]) for path in
             stacks.weights(exporting.hostile(), "alloc_space", lambda frame: frame["name"])}
    text = exporting.export(exporting.hostile(), "svg", "--threshold", "0").decode()
    assert not re.search("<script|<b>|[\0-\x09\x0b-\x1f\x7f]", text)
    drawn = {box["name"] for box in boxes(exporting.hostile(), "--threshold", "0")}
    expect(f"{name!r} is not in the tree" for name in names - drawn)
    expect(f"{name!r} is not in the graph" for name in names - {node["name"] for node in nodes})


@claim
def pictures_need_no_other_files():
    text = exporting.export(exporting.exact(), "svg").decode()
    assert not re.search(r"<script|<image|<use|href|url\(|@import|@font-face", text)
    assert "prefers-color-scheme:dark" in text
    assert re.findall(r"https?://[^\"<]*", text) == ["http://www.w3.org/2000/svg"]


@claim
def an_empty_picture_says_so():
    for form in ("dot", "svg"):
        text = exporting.export(exporting.exact(), form, "--metric", "temporary", "--focus", "load_cache").decode()
        assert "This metric has nothing to show" in text, text


main()
