# SPDX-License-Identifier: MIT
"""schema - checks an export against its schema in docs/json.md. usage: schema.py docs/json.md EXPORT.json

The schemas are the blocks of the document that are marked `json schema` and `json tags-schema`: examples in which every
value is replaced by its type. `"text"`, `"whole"`, `"real"`, `"bool"`, `"hex"` are types; `"metric"` is {value, error,
low, high}; a type followed by `?` may be null; a key followed by `?` may be missing; an array has one element, the type
of all. Keys that are not in the schema are errors. After that, this follows the indexes of the export and checks its
sums.
"""

import json
import re
import sys

METRIC = {"value": "real", "error": "real", "low": "real", "high": "real"}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


SCALARS = {
    "text": lambda v: isinstance(v, str),
    "whole": lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
    "real": is_number,
    "bool": lambda v: isinstance(v, bool),
    "hex": lambda v: isinstance(v, str) and re.fullmatch(r"0x[0-9a-f]+", v),
}


def check(value, kind, where):
    if kind == "metric":
        check(value, METRIC, where)
        assert value["low"] <= value["value"] <= value["high"], f"{where}: {value}"
    elif isinstance(kind, str):
        if kind.endswith("?"):
            if value is None:
                return
            kind = kind[:-1]
        assert SCALARS[kind](value), f"{where} is {value!r}, not {kind}"
    elif isinstance(kind, list):
        assert isinstance(value, list), f"{where} is not an array"
        for i, element in enumerate(value):
            check(element, kind[0], f"{where}[{i}]")
    else:
        check_object(value, kind, where)


def check_object(value, kind, where):
    assert isinstance(value, dict), f"{where} is not an object"
    known = {key.rstrip("?"): (key, kind[key]) for key in kind}
    for key in value:
        assert key in known, f"{where}.{key} is not documented"
    for name, (key, inner) in known.items():
        if name in value:
            check(value[name], inner, f"{where}.{name}")
        else:
            assert key.endswith("?"), f"{where}.{name} is missing"


FUNCTIONS = ("malloc", "calloc", "realloc", "aligned", "new")
KINDS = ("named", "off", "paused")


def counts(of):
    """The figures of scopes, threads and nodes that are counted exactly, so that they can be added."""
    return [of["calls"], of["bytes"], *(of["functions"][name] for name in FUNCTIONS)]


def added(lists):
    return [sum(column) for column in zip(*lists)]


def follow_tags(export):
    assert [tag["kind"] for tag in export["tags"][:1]] == ["root"], "the first tag is not the root"
    for i, tag in enumerate(export["tags"]):
        if i:
            assert tag["parent"] < i and tag["kind"] in KINDS, f"tag {i} is out of order: {tag['parent']}, {tag['kind']}"
            assert tag["depth"] == export["tags"][tag["parent"]]["depth"] + 1, f"tag {i} is not below its parent"
    of_thread = [[[0] * (2 + len(FUNCTIONS))] for _ in export["threads"]]
    for scope in export["scopes"]:
        assert scope["thread"] < len(export["threads"]), f"scope {scope} names no thread"
        assert scope["tag"] < len(export["tags"]), f"scope {scope} names no tag"
        of_thread[scope["thread"]].append(counts(scope))
    for thread, scopes in zip(export["threads"], of_thread):
        assert added(scopes) == counts(thread), f"scopes of {thread['name']} are {added(scopes)}, it is {counts(thread)}"
    for site in export["sites"]:
        assert site["tag"] < len(export["tags"]), f"site {site} names no tag"
        assert site["stack"] is None or not site["other_sizes"], f"site {site} has other sizes and a stack"


ADVICE = ("leak", "growth", "reserve", "reuse", "pool", "slack", "fragmentation", "outside")


def follow_advice(export):
    weights = [advice["weight"] for advice in export["advice"]]
    assert weights == sorted(weights, reverse=True) and all(0 < weight <= 1 for weight in weights), f"{weights}"
    for advice in export["advice"]:
        assert advice["kind"] in ADVICE, f"advice of kind {advice['kind']}"
        assert advice["stack"] is None or advice["stack"] < len(export["stacks"]), f"advice {advice} names no stack"
        whole = advice["kind"] in ("fragmentation", "outside")
        assert (advice["function"] is None) == whole, f"advice {advice} needs a function"
        gains = advice["gain_bytes"] > 0 or advice["gain_calls"] > 0
        assert gains or advice["kind"] == "outside", f"advice {advice} gains nothing"
        assert all(stack < len(export["stacks"]) for stack in advice["other_stacks"]), f"advice {advice} names no stack"
        assert advice["headline"] and advice["evidence"].endswith(".") and advice["action"], f"advice {advice} is empty"
    assert not export["advice"] or not export["extent"]["difference"], "advice for a difference"


def follow(export):
    follow_tags(export)
    follow_advice(export)
    allocator = export["process"]["allocator"]
    assert allocator is None or allocator < len(export["modules"]), f"the allocator is module {allocator}"
    for frame in export["frames"]:
        assert frame["module"] < len(export["modules"]), f"frame {frame} names no module"
    for stack in export["stacks"]:
        assert stack and all(i < len(export["frames"]) for i in stack), f"stack {stack} names no frame"
    for site in export["sites"]:
        assert site["stack"] is None or site["stack"] < len(export["stacks"]), f"site {site} names no stack"
        assert site["thread"] < len(export["threads"]), f"site {site} names no thread"
        for name, scale in (("sizes", "sizes_from"), ("ages", "ages_until_s")):
            assert len(site[name]) <= len(export["scales"][scale]), f"site {site} has too many {name}"
    for snapshot in export["snapshots"]:
        for share in snapshot["sites"]:
            assert share["site"] < len(export["sites"]), f"snapshot {snapshot} names no site"
    for name in ("timeline", "snapshots"):
        times = [moment["time_s"] for moment in export[name]]
        assert all(a < b for a, b in zip(times, times[1:])), f"{name} is not in order: {times}"


def close(one, other):
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1)


def most(figures, metric):
    """A limit that is known exactly: nothing can be live, freed or anything else without having been allocated."""
    return figures["bytes" if metric.endswith("_space") else "calls"]


def follow_tree(nodes):
    """A node's total is its self and the totals of its children; a child comes after its parent, the heaviest first."""
    assert nodes and nodes[0]["parent"] is None and nodes[0]["depth"] == 0, "the first node is not the root"
    metrics = [key for key in nodes[0]["self"] if isinstance(nodes[0]["self"][key], dict) and key != "functions"]
    children = [[] for _ in nodes]
    for i, node in enumerate(nodes[1:], 1):
        assert node["parent"] is not None and node["parent"] < i, f"node {i} comes before its parent"
        assert node["depth"] == nodes[node["parent"]]["depth"] + 1, f"node {i} is not below its parent"
        assert (node["kind"] == "more") == (node["tag"] is None), f"node {i}: {node['kind']}"
        assert node["tag"] is None or node["depth"] > 1 or node["path"] is not None, f"node {i} has no path"
        children[node["parent"]].append(node)
    for i, (node, below) in enumerate(zip(nodes, children)):
        parts = [node["self"], *(child["total"] for child in below)]
        assert added(map(counts, parts)) == counts(node["total"]), f"counts of node {i} do not add up"
        for metric in metrics:
            whole, sum_of_parts = node["total"][metric]["value"], sum(part[metric]["value"] for part in parts)
            bounded = any(most(part, metric) == part[metric]["value"] > 0 for part in parts)
            assert close(whole, sum_of_parts) or (bounded and whole > sum_of_parts), \
                f"{metric} of node {i} is {whole}, not {sum_of_parts}"
        for figures in (node["self"], node["total"]):
            for metric in metrics:
                assert figures[metric]["high"] <= most(figures, metric), f"{metric} of node {i} exceeds the allocations"
    return children


def follow_forest(export):
    metric = export["metric"]
    heavy = [tree["nodes"][0]["total"][metric]["value"] for tree in export["trees"]]
    assert heavy == sorted(heavy, reverse=True), f"trees are not in order: {heavy}"
    for tree in export["trees"]:
        for below in follow_tree(tree["nodes"]):
            weights = [child["total"][metric]["value"] for child in below if child["kind"] != "more"]
            assert weights == sorted(weights, reverse=True), f"children are not in order: {weights}"
            assert all(child["kind"] != "more" for child in below[:-1]), "the merged rest is not the last child"
            assert all(weight >= export["threshold"] * sum(heavy) for weight in weights), f"too small: {weights}"


def main():
    document = open(sys.argv[1], encoding="utf-8").read()
    export = json.load(open(sys.argv[2], encoding="utf-8"))
    kind, follower = ("tags-schema", follow_forest) if "plimsoll_tags" in export else ("schema", follow)
    schema = json.loads(re.search(rf"^```json {kind}\n(.*?)^```", document, re.MULTILINE | re.DOTALL).group(1))
    check(export, schema, "")
    follower(export)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"{sys.argv[2]}: {error}")
