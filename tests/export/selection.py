# SPDX-License-Identifier: MIT
"""selection - every export selects the same part of a profile: --tag, --thread, --focus, --ignore, --since, --until,
--snapshot. The sum of two complementary parts is the whole."""

import csv
import functools
import io
import json
import re
import sys

import exporting
from claims import claim, main

COLUMNS = ("calls", "allocated", "blocks", "live")
NEW_AFTER = "audit"
STACKS = ("pprof", "speedscope", "collapsed", "callgrind", "dhat", "massif", "heaptrack", "csv", "dot", "svg")


def table(profile, *options):
    """(function, tag, thread) -> figures of the CSV."""
    rows = {}
    for row in csv.DictReader(io.StringIO(exporting.export(profile, "csv", *options).decode())):
        key = row["function"], row["tag"], row["thread"]
        sums = rows.setdefault(key, dict.fromkeys(COLUMNS, 0))
        for column in COLUMNS:
            sums[column] += int(row[column])
    return rows


def functions(profile, *options):
    """function -> figures."""
    sums = {}
    for (function, _, _), row in table(profile, *options).items():
        into = sums.setdefault(function, dict.fromkeys(COLUMNS, 0))
        for column in COLUMNS:
            into[column] += row[column]
    return sums


@functools.cache
def phases():
    return exporting.record("phases", "--exact", program=[exporting.PROGRAMS / "phases"])


@functools.cache
def phases_sampled():
    return exporting.record("phases_sampled", "--sample", "1K", program=[exporting.PROGRAMS / "phases"])


def half_time(profile):
    return f"{int(exporting.as_json(profile)['process']['duration_s'] * 500)}ms"


def added(one, other):
    names = set(one) | set(other)
    nothing = dict.fromkeys(COLUMNS, 0)
    sums = {name: {column: one.get(name, nothing)[column] + other.get(name, nothing)[column] for column in COLUMNS}
            for name in names}
    return {name: row for name, row in sums.items() if any(row.values())}


@claim
def until_and_since_add_up_to_the_whole():
    for profile, slack in ((phases(), 0), (phases_sampled(), 2)):
        whole, time = functions(profile), half_time(profile)
        both = added(functions(profile, "--until", time), functions(profile, "--since", time))
        for name, row in whole.items():
            for column in COLUMNS:
                assert abs(both[name][column] - row[column]) <= slack, (name, column, both[name], row)


@claim
def a_period_has_its_allocations_and_the_change_of_live_memory():
    whole, time = functions(phases()), half_time(phases())
    first, last = functions(phases(), "--until", time), functions(phases(), "--since", time)
    assert whole["make_first"]["calls"] == first["make_first"]["calls"] == 1000
    assert "make_last" not in first and last["make_last"]["calls"] == 1000
    assert last["make_first"]["calls"] == 0 and last["make_first"]["live"] == -1000 * 1000
    assert last["make_last"]["live"] == 500 * 1000
    assert 0 < first["make_and_free"]["calls"] < whole["make_and_free"]["calls"]
    assert abs(last["make_and_free"]["live"]) <= 64  # one may have been live at that time


@claim
def impossible_times_are_refused_with_a_reason():
    for options, status, words in (
        (("--since", "2s", "--until", "1s"), 2, "--since must be before --until"),
        (("--since", "1h", "--until", "2h"), 1, "choose times"),
        (("--since", "soon"), 2, "not a time"),
        (("--since", "1.s"), 2, "not a time"),
        (("--since", "100.5s"), 2, "the profile ends before that"),
    ):
        done = exporting.run(exporting.PLIMSOLL, "export", "--format", "csv", *options, phases(), status=status)
        assert words in done.stderr.decode(), (options, done.stderr)


@claim
def focus_and_ignore_add_up_to_the_whole():
    for profile in (exporting.exact(), exporting.sampled()):
        whole = table(profile)
        some = next(name for name, _, _ in whole if "+0x" not in name)
        expression = f"^{re.sub('[^A-Za-z0-9_]', '.', some)}$"
        through, around = table(profile, "--focus", expression), table(profile, "--ignore", expression)
        assert through and around
        assert added(through, around) == {key: row for key, row in whole.items() if any(row.values())}


@claim
def focus_matches_functions_source_files_and_modules():
    everything = functions(phases())
    assert set(functions(phases(), "--focus", "make_f.*t$")) == {"make_first"}
    assert functions(phases(), "--focus", r"phases\.c$") == everything
    assert functions(phases(), "--focus", "tests/export/phases$") == everything
    done = exporting.run(exporting.PLIMSOLL, "export", "--focus", "no such function", phases(), status=2)
    assert "no stack is left" in done.stderr.decode()
    done = exporting.run(exporting.PLIMSOLL, "export", "--ignore", "(", phases(), status=2)
    assert "regular expression" in done.stderr.decode()


@claim
def tags_and_threads_select_rows_of_the_table():
    whole = table(exporting.exact())
    tag = next(tag for _, tag, _ in whole if tag)
    thread = next(thread for _, _, thread in whole if thread != next(iter(whole))[2])
    below = {key: row for key, row in whole.items() if key[1] == tag or key[1].startswith(tag + "/")}
    assert table(exporting.exact(), "--tag", "/" + tag) == below
    alone = {key: row for key, row in whole.items() if key[2] == thread}
    assert table(exporting.exact(), "--thread", f"^{thread}$") == alone


@claim
def every_format_accepts_every_selection():
    time = half_time(phases())
    for form in STACKS:
        for options in (("--focus", "make_"), ("--ignore", "make_last"), ("--thread", "."), ("--since", time),
                        ("--until", time), ("--threshold", "5"), ("--by", "thread,tag"), ("--metric", "calls")):
            assert exporting.export(phases(), form, *options), (form, options)
    for form in ("tags-json", "tags-dot", "tags-svg", "json"):
        for options in (("--focus", "."), ("--thread", "."), ("--metric", "calls")):
            assert exporting.export(exporting.exact(), form, *options), (form, options)


@claim
def grouping_and_merging_of_small_stacks_lose_nothing():
    whole = exporting.totals(exporting.exact())["alloc_space"]
    for options in ((), ("--by", "tag"), ("--by", "thread"), ("--by", "thread,tag"), ("--threshold", "20")):
        words = ("--metric", "allocated", *options)
        lines = exporting.export(exporting.exact(), "collapsed", *words).decode().splitlines()
        assert sum(int(line.rpartition(" ")[2]) for line in lines) == whole, options
        assert bool("more below 20%" in "".join(lines)) == ("--threshold" in options)


@claim
def a_snapshot_is_found_by_its_name_or_number_beside_the_profile():
    path = exporting.place() / "series.plim"
    exporting.run(exporting.PLIMSOLL, "run", "--exact", "--snapshot-every", "300ms", "-o", path, "--",
               exporting.PROGRAMS / "phases")
    first = json.loads(exporting.export(path, "json", "--snapshot", "1"))
    assert first["extent"]["snapshot"] is not None
    assert first == json.loads(exporting.export(exporting.place() / "series.0001.plim", "json"))
    done = exporting.run(exporting.PLIMSOLL, "export", "--snapshot", "nope", path, status=2)
    assert "no snapshot with that name" in done.stderr.decode()


@claim
def a_difference_is_refused_by_formats_without_negative_figures():
    for form in ("dhat", "massif", "callgrind", "speedscope", "heaptrack", "tags-svg"):
        words = ("--format", form, "--diff-base", exporting.before(), exporting.after())
        done = exporting.run(exporting.PLIMSOLL, "export", *words, status=2)
        assert "no negative figures" in done.stderr.decode()


SCRIPT = """import json, time
for _ in range(6):
    json.loads(json.dumps([{'a': i, 'b': str(i) * 3} for i in range(3000)]))
    time.sleep(0.05)"""
COLUMN_OF = {"calls": "alloc_objects", "allocated": "alloc_space", "blocks": "inuse_objects", "live": "inuse_space"}


@functools.cache
def crowded():
    """More sites than a heap composition can hold."""
    return exporting.record("crowded", "--exact", program=["/usr/bin/python3", "-c", SCRIPT])


@claim
def with_too_many_sites_totals_of_periods_are_right_and_figures_are_whole_numbers():
    whole = exporting.as_json(crowded())
    assert len(whole["sites"]) > 510, len(whole["sites"])
    time = half_time(crowded())
    for options in (("--until", time), ("--since", time), ("--since", time, "--ignore", "list_resize")):
        part = exporting.as_json(crowded(), *options)
        rows = table(crowded(), *options).values()
        for column, metric in COLUMN_OF.items():
            assert sum(row[column] for row in rows) == part["totals"][metric]["value"], (options, column)
            assert all(float(site[metric]["value"]).is_integer() for site in part["sites"]), (options, metric)
        calls = sum(thread["calls"] for thread in part["threads"])
        assert part["threads"] and calls == part["totals"]["alloc_objects"]["value"], options


@claim
def massif_draws_the_heap_of_the_selected_period():
    time = half_time(phases())
    text = exporting.export(phases(), "massif", "--since", time).decode()
    times = [float(line[5:]) for line in text.splitlines() if line.startswith("time=")]
    assert len(times) > 3 and min(times) > 1000 * exporting.as_json(phases())["process"]["duration_s"] / 3, times
    assert max(int(line[11:]) for line in text.splitlines() if line.startswith("mem_heap_B=")) > 500 * 1000


def changed(profile, *options):
    """The output of `plimsoll diff` for a period, with single blanks."""
    return " ".join(exporting.run(exporting.PLIMSOLL, "diff", *options, profile).stdout.decode().split())


@claim
def diff_shows_what_changed_between_two_times_of_a_run():
    said = changed(phases(), "--since", half_time(phases()), "--metric", "blocks")
    assert "+1,000 new make_last" in said and "-1,000 gone make_first" in said, said
    done = exporting.run(exporting.PLIMSOLL, "diff", "--since", "1s", phases(), phases(), status=2)
    assert "need a single profile" in done.stderr.decode()


@claim
def one_side_of_a_difference_may_lack_the_selection_but_not_both():
    new = ("--focus", NEW_AFTER)
    rows = functions(exporting.after(), *new, "--diff-base", exporting.before())
    assert rows and all(row["calls"] > 0 for row in rows.values())
    gone = functions(exporting.before(), *new, "--diff-base", exporting.after())
    assert gone and all(row["calls"] < 0 for row in gone.values())
    done = exporting.run(exporting.PLIMSOLL, "export", "--focus", "no such function", "--diff-base", exporting.before(),
                      exporting.after(), status=2)
    assert "no stack is left" in done.stderr.decode()


if __name__ == "__main__":
    sys.exit(main())
