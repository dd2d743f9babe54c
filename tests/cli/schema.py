# SPDX-License-Identifier: MIT
"""schema - checks an export against the schema in docs/json.md. usage: schema.py docs/json.md EXPORT.json

The schema is the block of the document that is marked `json schema`: an example in which every value is replaced by its
type. `"text"`, `"whole"`, `"real"`, `"bool"`, `"hex"` are types; `"metric"` is {value, error, low, high}; a type followed
by `?` may be null; a key followed by `?` may be missing; an array has one element, the type of all. Keys that are not in
the schema are errors. Then the indexes of the document are followed.
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
        assert isinstance(value, list), f"{where} is no array"
        for i, element in enumerate(value):
            check(element, kind[0], f"{where}[{i}]")
    else:
        check_object(value, kind, where)


def check_object(value, kind, where):
    assert isinstance(value, dict), f"{where} is no object"
    known = {key.rstrip("?"): (key, kind[key]) for key in kind}
    for key in value:
        assert key in known, f"{where}.{key} is not documented"
    for name, (key, inner) in known.items():
        if name in value:
            check(value[name], inner, f"{where}.{name}")
        else:
            assert key.endswith("?"), f"{where}.{name} is missing"


def follow(export):
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


def main():
    document = open(sys.argv[1], encoding="utf-8").read()
    schema = json.loads(re.search(r"^```json schema\n(.*?)^```", document, re.MULTILINE | re.DOTALL).group(1))
    export = json.load(open(sys.argv[2], encoding="utf-8"))
    check(export, schema, "")
    follow(export)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        sys.exit(f"{sys.argv[2]}: {error}")
