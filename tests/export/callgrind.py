# SPDX-License-Identifier: MIT
"""callgrind - callgrind_annotate reads our files: totals, exclusive and inclusive costs of functions, and names."""

import functools
import re
import sys
from collections import Counter, defaultdict

# First, because it adds tests/lib to the path.
import exporting
import claims
from claims import claim, main
from exporting import METRICS

CASES = {**exporting.CASES, "calls first": (exporting.exact, ("--metric", "calls"))}
EVERYTHING = "(everything)"
NUMBER = r"([\d,]+) *(?:\( *[\d.]+%\))?"
ROW = re.compile(r"\s*" + r"\s+".join([NUMBER] * len(METRICS)) + r"\s\s(.*)$")


def selected(case):
    """The options of a case that select a part of the profile."""
    profile, options = CASES[case]
    return exporting.totals(profile(), *(options if "--tag" in options else ()))


@functools.cache
def written(case):
    profile, options = CASES[case]
    path = exporting.place() / f"{case}.callgrind"
    path.write_bytes(exporting.export(profile(), "callgrind", *options))
    return path


def split(line):
    """A line of a table: its figures, and the text after them."""
    found = ROW.match(line)
    return found and ([int(word.replace(",", "")) for word in found.groups()[:-1]], found.groups()[-1])


@functools.cache
def annotate(case, *options):
    """(totals, {function: {metric: figure}}) as callgrind_annotate prints them. Functions are "file:name [object]"."""
    tool = exporting.tool("callgrind_annotate")
    done = exporting.run(tool, "--auto=no", "--threshold=100", *options, written(case))
    assert not done.stderr, done.stderr.decode(errors="replace")
    said = done.stdout.decode()
    order = re.search(r"^Events recorded:\s+(.*)$", said, re.MULTILINE)[1].split()
    rows = [row for row in map(split, said.splitlines()) if row]
    assert rows[0][1] == "PROGRAM TOTALS", rows[0]
    return dict(zip(order, rows[0][0])), {name.strip(): dict(zip(order, values)) for values, name in rows[1:]}


def named(functions, name):
    """The figures of the only function with that name."""
    found = [values for words, values in functions.items() if re.search(rf":{re.escape(name)}(?: \[|$)", words)]
    assert len(found) == 1, f"{len(found)} functions {name}"
    return found[0]


def check_totals(case):
    totals, functions = annotate(case)
    exporting.same(totals, selected(case), case)
    exporting.same(exporting.add_up(functions.values()), selected(case), f"{case}, functions")


def check_inclusive(case):
    _, functions = annotate(case, "--inclusive=yes")
    exporting.same(named(functions, EVERYTHING), selected(case), case)
    wrong = [name for name, values in functions.items() for metric, value in values.items()
             if value > selected(case)[metric]]
    assert not wrong, f"{case}: more than the total: {wrong}"


for case in CASES:
    claims.add(f"totals are right, and the sum of all functions: {case}", functools.partial(check_totals, case))
    claims.add(f"no function has more than the total: {case}", functools.partial(check_inclusive, case))


@claim
def a_function_that_calls_itself_is_counted_once():
    _, functions = annotate("exact", "--inclusive=yes")
    found = named(functions, "shapes::descend(int)")
    exporting.same({"alloc_objects": found["alloc_objects"], "alloc_space": found["alloc_space"]},
                {"alloc_objects": 19, "alloc_space": 19 * 4096})


@claim
def functions_have_exclusive_and_inclusive_costs():
    _, own = annotate("exact")
    _, all_in_all = annotate("exact", "--inclusive=yes")
    assert not any(":shapes::load_cache()" in name for name in own)
    assert named(all_in_all, "shapes::load_cache()")["inuse_space"] == 200 * 1024
    assert named(own, "shapes::innermost") == named(all_in_all, "shapes::innermost")


@claim
def the_selected_metric_comes_first():
    for case, metric in (("exact", "inuse_space"), ("calls first", "alloc_objects")):
        totals, functions = annotate(case)
        figures = [values[metric] for values in functions.values()]
        assert next(iter(totals)) == metric and figures == sorted(figures, reverse=True), case


@claim
def tags_and_threads_are_outermost_frames():
    _, functions = annotate("by thread and tag", "--inclusive=yes")
    assert named(functions, "worker-1")["alloc_objects"] == named(functions, "worker-2")["alloc_objects"] > 0
    assert named(functions, "cache")["inuse_space"] == 200 * 1024


def source_line(text):
    source = (exporting.HERE / "programs" / "shapes.cpp").read_text().splitlines()
    return next(number for number, line in enumerate(source, 1) if text in line)


@claim
def source_lines_are_annotated():
    done = exporting.run(exporting.tool("callgrind_annotate"), "--auto=yes", written("exact"))
    assert not done.stderr, done.stderr.decode()
    said = done.stdout.decode()
    row = next(line for line in said.splitlines() if "return memset(malloc(bytes), 1, bytes);" in line)
    assert split(row.replace(" .", " 0"))[0][1] == 200 + 19 + 4100
    text = written("exact").read_text()
    assert re.search(rf"^{source_line('return memset(malloc')} \d", text, re.MULTILINE)


@claim
def each_name_is_defined_once_and_every_reference_is_defined():
    for case in CASES:
        known = defaultdict(dict)
        for line in written(case).read_text().splitlines():
            found = re.match(r"c?(ob|fl|fi|fn)=\((\d+)\)(?: (.*))?$", line)
            if not found:
                continue
            kind, number, name = {"fi": "fl"}.get(found[1], found[1]), found[2], found[3]
            assert (name is None) == (number in known[kind]), f"{case}: {line}"
            known[kind].setdefault(number, name)
        functions = Counter(known["fl"].values())
        assert functions.most_common(1)[0][1] == 1, f"{case}: a file has two numbers"


@claim
def control_characters_in_names_are_made_visible():
    _, functions = annotate("hostile", "--inclusive=yes")
    for name in ("two␊lines␍␊␉and a tab", "␊# comment␊fn=(1) x␊summary: 1␊", "(1) looks like a reference",
                 "␠blanks around ", "<b>bold</b><script>alert(1)</script> ]]> -->"):
        assert any(f"{name}:{name}" in words for words in functions), name


if __name__ == "__main__":
    sys.exit(main())
