# SPDX-License-Identifier: MIT
"""spreadsheet - CSV by RFC 4180 for spreadsheets, read by Python's csv, strictly, and compared with the JSON export."""

import csv
import functools
import io
import re
import sys
from collections import Counter

import exporting
import stacks
from claims import add, claim, expect, main
from exporting import METRICS, PROFILES, WORDS

PLACE = ["function", "file", "line", "module", "tag", "thread"]
FIGURES = [WORDS[metric] for metric in METRICS]
SIGNS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
NUMBER = re.compile(r"0|-?[1-9]\d*")


@functools.cache
def table(profile, *options):
    """[{column: cell}]. Every record is one line and has as many cells as the first."""
    text = exporting.export(profile, "csv", *options).decode()
    assert text.endswith("\r\n") and text.count("\n") == text.count("\r") == text.count("\r\n")
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(rows) + 1 == text.count("\n"), "a record of several lines"
    assert all(len(row) == len(header) for row in rows), "rows of different lengths"
    return [dict(zip(header, row, strict=True)) for row in rows]


def columns(profile, *options):
    return list(table(profile, *options)[0])


def figures(row, suffix=""):
    return {metric: int(row[WORDS[metric] + suffix]) for metric in METRICS}


def text_of(text):
    """What a text becomes, as the documentation describes it."""
    text = stacks.visible(text)
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


def call(frame):
    name = text_of(frame["name"])
    return f"{name}:{frame['line']}" if frame["line"] else name


def stack_of(whole, site):
    inward = [call(frame) for frame in stacks.lines(whole, site)]
    plain = [name.removeprefix("'") for name in inward[:-1]]  # only the beginning of a cell can make it a formula
    return " < ".join([inward[-1], *reversed(plain)])


def wanted(profile):
    """{(stack, tag, thread): {metric: figure}}"""
    whole, found = exporting.as_json(profile), {}
    for site in whole["sites"]:
        tag, thread = whole["tags"][site["tag"]]["path"], whole["threads"][site["thread"]]["name"]
        key = stack_of(whole, site), text_of(tag or ""), text_of(thread)
        found[key] = exporting.add_up([found.get(key, {}), exporting.figures(site)])
    return {key: values for key, values in found.items() if any(values.values())}


def check(profile):
    found = {(row["stack"], row["tag"], row["thread"]): figures(row) for row in table(profile())}
    assert len(found) == len(table(profile())), "two rows are the same"
    expect(stacks.differ(found, wanted(profile())))
    exporting.same(exporting.add_up(found.values()), exporting.totals(profile()))


for what, one in PROFILES.items():
    add(f"the rows of {what} are its stacks, tags and threads, with all figures", functools.partial(check, one))


@claim
def an_exact_profile_has_a_column_for_each_figure_and_no_more():
    assert columns(exporting.exact()) == [*PLACE, *FIGURES, "stack"], columns(exporting.exact())


@claim
def sites_are_named_like_in_reports():
    """The function is the innermost one that is the program's own, with its file and line."""
    for row in table(exporting.exact()):
        if row["function"].startswith("libstdc++"):
            continue  # before main
        assert row["function"] == "main" or row["function"].startswith("shapes::"), row["function"]
        assert row["file"].endswith("shapes.cpp") and row["module"].endswith("/shapes"), row["file"]
        assert f"{row['function']}:{row['line']}" in row["stack"].split(" < "), row["stack"]
    shown = exporting.run(exporting.PLIMSOLL, "report", "--full-names", exporting.exact()).stdout.decode()
    heaviest = max(table(exporting.exact()), key=lambda row: int(row["live"]))
    assert heaviest["function"] in shown and f":{heaviest['line']}" in shown, heaviest


@claim
def no_cell_is_a_formula():
    for profile in PROFILES.values():
        for row in table(profile()):
            for column, cell in row.items():
                numeric = column == "line" or column.split(" ")[0] in FIGURES
                assert not numeric or NUMBER.fullmatch(cell) or (column == "line" and not cell), (column, cell)
                assert numeric or cell[:1] not in SIGNS, (column, cell)


@claim
def estimates_have_a_confidence_interval():
    rows = table(exporting.sampled())
    assert columns(exporting.sampled()) == [
        *PLACE,
        *FIGURES,
        *(f"{word} low" for word in FIGURES),
        *(f"{word} high" for word in FIGURES),
        "stack",
    ], columns(exporting.sampled())
    wide = 0
    for row in rows:
        value, low, high = figures(row), figures(row, " low"), figures(row, " high")
        assert all(0 <= low[metric] <= value[metric] <= high[metric] for metric in METRICS), row
        wide += low["alloc_space"] < value["alloc_space"] < high["alloc_space"]
    assert wide > len(rows) / 2, f"{wide} of {len(rows)} have an interval"


@claim
def the_confidence_interval_of_a_row_is_that_of_its_site():
    """If a row is one site, the JSON export has the interval, too."""
    whole = exporting.as_json(exporting.sampled())
    keys = [(stack_of(whole, site), site["tag"], whole["threads"][site["thread"]]["name"]) for site in whole["sites"]]
    by_key, compared = dict(zip(keys, whole["sites"])), 0
    alone = {key for key, times in Counter(keys).items() if times == 1}
    for row in table(exporting.sampled()):
        tag = next(i for i, one in enumerate(whole["tags"]) if one["path"] == row["tag"])
        key = row["stack"], tag, row["thread"]
        if key in alone:
            site = by_key[key]["alloc_space"]
            assert abs(int(row["allocated low"]) - site["low"]) <= 1, (row, site)
            assert abs(int(row["allocated high"]) - site["high"]) <= 1, (row, site)
            compared += 1
    assert compared > 5, compared


@claim
def small_stacks_become_one_row_per_tag_and_thread_and_the_totals_stay_the_same():
    less = table(exporting.exact(), "--threshold", "5")
    assert len(less) < len(table(exporting.exact()))
    assert any("more below 5%" in row["function"] and not row["file"] for row in less)
    exporting.same(exporting.add_up(map(figures, less)), exporting.totals(exporting.exact()))


@claim
def tags_and_threads_have_columns_and_are_not_in_the_stack():
    for by in ("tag", "thread,tag"):
        split, whole = table(exporting.exact(), "--by", by), table(exporting.exact())
        assert sorted(map(repr, split)) == sorted(map(repr, whole)), by


@claim
def a_difference_has_signed_figures_and_those_before():
    rows = table(exporting.after(), "--diff-base", exporting.before())
    assert list(rows[0]) == [*PLACE, *FIGURES, *(f"{word} before" for word in FIGURES), "stack"], list(rows[0])
    exporting.same(exporting.add_up(map(figures, rows)), exporting.difference(exporting.before(), exporting.after()))
    exporting.same(exporting.add_up(figures(row, " before") for row in rows), exporting.totals(exporting.before()))
    grown = {row["tag"] for row in rows if int(row["live"]) > 0}
    shrunk = {row["tag"] for row in rows if int(row["calls"]) < 0}
    assert {"cache", "audit"} <= grown and "request/render" in shrunk, (grown, shrunk)


if __name__ == "__main__":
    sys.exit(main())
