# SPDX-License-Identifier: MIT
"""pprof - protoc and `go tool pprof` read `export --format pprof`, and it has the figures of the JSON export."""

import bisect
import functools
import os
import re
import subprocess
import sys

# First, because it adds tests/lib to the path.
from exporting import (METRICS, PLIMSOLL, PROFILES, PROGRAMS, WORDS, after, as_json, before, exact, export, hostile,
                    record, run, same, sampled, tool, totals)
import claims
from claims import claim
from pprofs import exported, one, rows_of_json, saved, show, top

UNITS = ("count", "bytes", "count", "bytes", "count", "bytes", "count")


@functools.cache
def pprof(profile, *options):
    return exported(profile, *options)


def only(found):
    (value,) = found
    return value


def difference_of(first, second, what):
    """The differences of two tables, as text."""
    for key in first.keys() | second.keys():
        if first.get(key) != second.get(key):
            yield f"{what} {str(key)[:300]}: {first.get(key)}, not {second.get(key)}"


# ---- read by protoc ----


def check_rows(make):
    """Every stack, with its tag and thread, has the figures of the JSON export, and so has the sum."""
    profile = make()
    claims.expect(difference_of(pprof(profile).rows(), rows_of_json(profile), "row"), "with figures of JSON")
    same(pprof(profile).totals(), totals(profile), "totals")


def check_references(make):
    """Every reference is defined, and every definition is referenced."""
    found = pprof(make())
    assert found.strings[0] == "" and len(set(found.strings)) == len(found.strings)
    assert all(len(sample["value"]) == len(METRICS) for sample in found.samples)
    used = {number for sample in found.samples for number in sample["location_id"]}
    assert used == set(found.locations), "locations without a sample"
    lines = [line for location in found.locations.values() for line in location["line"]]
    assert {one(line, "function_id") for line in lines} == set(found.functions), "functions without a line"
    mappings = {one(location, "mapping_id") for location in found.locations.values()}
    assert mappings <= {0, *found.mappings}, "locations without a mapping"
    for location in found.locations.values():
        mapping = found.mappings.get(one(location, "mapping_id"))
        address = one(location, "address")
        assert not mapping or make is hostile or \
            one(mapping, "memory_start") <= address < one(mapping, "memory_limit"), f"{location} is not in {mapping}"


for a_name, a_profile in PROFILES.items():
    claims.add(f"each stack has the right figures: {a_name}", functools.partial(check_rows, a_profile))
    claims.add(f"every reference is defined: {a_name}", functools.partial(check_references, a_profile))


@claim
def exports_of_real_programs_have_the_figures_of_json():
    statements = "create table t(a, b); insert into t values(1, 'x'), (2, 'y'); select * from t order by b desc;"
    profile = record("sqlite3", "--exact", program=[tool("sqlite3"), ":memory:", statements])
    check_rows(lambda: profile)
    assert len(pprof(profile).samples) > 50


@claim
def sample_types_are_the_metrics_and_the_default_is_the_selected_one():
    assert pprof(exact()).types == list(zip(METRICS, UNITS)), pprof(exact()).types
    assert pprof(exact()).default_type() == "inuse_space"
    for metric in METRICS:
        assert pprof(exact(), "--metric", WORDS[metric]).default_type() == metric


@claim
def the_period_is_the_sampling_interval():
    for profile, period in ((exact(), 1), (sampled(), 2048)):
        found = pprof(profile).all
        assert one(found, "period") == period
        type = only(found["period_type"])
        assert [pprof(profile).text(type, field) for field in ("type", "unit")] == ["space", "bytes"]


@claim
def times_are_those_of_the_process():
    found, process = pprof(exact()).all, as_json(exact())["process"]
    assert one(found, "time_nanos") == process["start_unix_ns"]
    assert abs(one(found, "duration_nanos") - process["duration_s"] * 1e9) < 1000


@claim
def comments_have_the_command_and_the_method():
    comments = "\n".join(pprof(exact(), "--tag", "request").comments)
    assert f"command: {PROGRAMS / 'shapes'}" in comments and "figures: exact" in comments, comments
    assert "selection: " in comments and "request" in comments, comments
    assert not any("selection" in comment for comment in pprof(exact()).comments)
    assert "figures: sampled every 2 KiB" in "\n".join(pprof(sampled()).comments)


@claim
def inlined_functions_are_lines_of_one_location_innermost_first():
    found = pprof(exact())
    lines = [[found.text(found.functions[one(line, "function_id")], "name").split("(")[0] for line in location["line"]]
             for location in found.locations.values()]
    assert ["shapes::innermost", "shapes::between", "shapes::shape_block"] in lines, lines


@claim
def functions_have_their_symbols_and_files():
    found = pprof(exact())
    by_name = {found.text(function, "name").split("(")[0]: function for function in found.functions.values()}
    descend = by_name["shapes::descend"]
    assert found.text(descend, "system_name") == "_ZN6shapes7descendEi"
    assert found.text(descend, "filename").endswith("programs/shapes.cpp") and not one(descend, "start_line")
    assert found.text(by_name["main"], "system_name") == "main"


@claim
def the_first_mapping_is_the_program_with_its_build_id():
    found = pprof(exact())
    first = found.all["mapping"][0]
    notes = subprocess.run([tool("readelf"), "-n", PROGRAMS / "shapes"], capture_output=True, text=True).stdout
    assert found.text(first, "filename") == os.path.realpath(PROGRAMS / "shapes")
    assert found.text(first, "build_id") == re.search("Build ID: (\\w+)", notes)[1]
    assert all(one(first, f"has_{what}") for what in ("functions", "filenames", "line_numbers", "inline_frames"))


def instructions():
    """Address of each instruction of the program -> its function and its text."""
    listed = subprocess.run([tool("objdump"), "-d", "--no-show-raw-insn", PROGRAMS / "shapes"], capture_output=True,
                            text=True, check=True).stdout
    function, found = None, {}
    for line in listed.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1][:-2]
        elif re.match(r" +[0-9a-f]+:\t", line):
            address, text = line.split(":\t")
            found[int(address, 16)] = (function, text)
    return found


@claim
def addresses_lie_in_call_instructions_of_their_functions():
    found = pprof(exact())
    code = instructions()
    begins = sorted(code)
    checked = 0
    for location in found.locations.values():
        if one(location, "mapping_id") == 1:
            offset = one(location, "address") - one(found.mappings[1], "memory_start")
            function, text = code[begins[bisect.bisect_right(begins, offset) - 1]]
            symbol = found.text(found.functions[one(location["line"][-1], "function_id")], "system_name")
            assert text.startswith("call"), f"{offset:#x} is in {text}"
            assert symbol in ("", function), f"{offset:#x} is in {function}, not in {symbol}"
            checked += 1
    assert checked > 8


@claim
def mappings_are_marked_as_having_functions_or_not():
    found = pprof(hostile())
    known = {found.text(mapping, "filename").startswith("/opt/example"): one(mapping, "has_functions")
             for mapping in found.mappings.values()}
    assert known == {True: 1, False: 0}, known
    assert any(name.endswith(".so+0x1234") for sample in found.samples for name in found.names(sample))


@claim
def labels_are_the_tag_the_thread_and_the_block_size():
    found = pprof(exact())
    parse = {(labels["thread"], labels["tag"], labels["bytes"]): values[0]
             for labels, values in ((found.labels(sample), sample["value"]) for sample in found.samples)
             if "parse" in labels.get("tag", "")}
    assert parse == {("shapes", "parse", 64): 100, ("worker-1", "request/parse", 64): 2000,
                     ("worker-2", "request/parse", 64): 2000}, parse


@claim
def the_same_profile_gives_the_same_bytes():
    for make in PROFILES.values():
        packed = export(make(), "pprof")
        assert packed == export(make(), "pprof")
        assert packed[:4] == b"\x1f\x8b\x08\x00" and packed[4:8] == bytes(4), "the gzip header has a name or a time"


@claim
def names_of_4000_characters_and_hostile_names_are_kept():
    names = {name for sample in pprof(hostile()).samples for name in pprof(hostile()).names(sample)}
    for name in ("x" * 3999 + "y", "<b>bold</b><script>alert(1)</script> ]]> -->", "two\nlines\r\n\tand a tab",
                 "\"double\" 'single' `back`", "日本語の関数 Käse \U0001f9c0", "escape \x1b[31m bell \x07 delete \x7f",
                 "not UTF-8: \ufffd \ufffd( \ufffd\ufffd\ufffd \ufffd\ufffd\ufffd"):
        assert name in names, name


@claim
def live_figures_and_allocated_ones_are_told_apart_by_the_duration():
    process = as_json(exact())["process"]
    whole, end_ns = totals(exact()), process["start_unix_ns"] + process["duration_s"] * 1e9
    for which, metrics, time_ns in (("live", METRICS[2:4], end_ns), ("allocated", METRICS[:2], process["start_unix_ns"])):
        found = pprof(exact(), "--figures", which)
        assert [name for name, _ in found.types] == list(metrics) and found.default_type() == metrics[1], found.types
        assert found.totals() == {metric: whole[metric] for metric in metrics}
        assert bool(one(found.all, "duration_nanos")) == (which == "allocated")
        assert abs(one(found.all, "time_nanos") - time_ns) < 1000, which
        assert all(any(sample["value"]) for sample in found.samples), "a sample without figures"
    said = run(PLIMSOLL, "export", "--format", "csv", "--figures", "live", exact(), status=2).stderr.decode()
    assert "--figures is for stores of profiles; add --format pprof or otlp" in said, said


# ---- shown by go tool pprof ----


def check_top(metric, make):
    """The sums of pprof are those of the JSON export, exactly, function by function."""
    rows, total = top(metric, "-symbolize=none", saved(make()))
    assert total == totals(make())[metric], f"{total}, not {totals(make())[metric]}"
    flat = {}
    for (names, *_), row in rows_of_json(make()).items():
        if row[metric]:
            flat[names[0]] = flat.get(names[0], 0) + row[metric]
    assert {name: row[0] for name, row in rows.items() if row[0]} == flat


for a_metric in METRICS:
    claims.add(f"pprof -top has the figures of JSON: {a_metric}", functools.partial(check_top, a_metric, exact))
    claims.add(f"pprof -top has the figures of JSON, sampled: {a_metric}",
               functools.partial(check_top, a_metric, sampled))


@claim
def pprof_shows_file_build_id_and_type_and_has_no_complaints():
    text = show("-top", saved(exact()))
    for line in ("File: shapes", "Build ID: ", "Type: inuse_space", "figures: exact", "Duration: "):
        assert line in text, f"{line} is not in {text}"
    assert "shapes::innermost (inline)" in text


@claim
def pprof_shows_names_without_symbols_unchanged():
    rows, _ = top("alloc_objects", saved(hostile()), quiet=False)  # there is no such program
    assert "<b>bold</b><script>alert(1)</script> ]]> -->" in rows and "(1) looks like a reference" in rows, rows.keys()


@claim
def pprof_groups_inlined_functions_under_their_callers():
    rows, _ = top("alloc_objects", "-noinlines", saved(exact()))
    assert rows["shapes::shape_block"][0] == 4100 + 200 + 19, rows


@claim
def pprof_counts_recursion_once():
    rows, _ = top("alloc_objects", saved(exact()))
    assert rows["shapes::descend(int)"] == (0, 19), rows


@claim
def pprof_lists_tags_and_threads():
    text = show("-tags", "-sample_index=alloc_objects", saved(exact()))
    for calls, name in ((4000, "request/parse"), (200, "cache"), (2107, "worker-2"), (4400, "64B")):
        assert re.search(rf" {calls}.0 \(.*%\): {name}$", text, re.MULTILINE), f"{name} is not in {text}"


@claim
def pprof_filters_by_tag_thread_size_and_function():
    for words, calls in ((["-tagfocus=tag=^request/parse$"], 4000), (["-tagignore=tag=."], 21),
                         (["-tagfocus=thread=worker-1", "-focus=parse"], 2000), (["-focus=load_cache"], 200),
                         (["-tagfocus=bytes=4kb:"], 20), (["-ignore=main$"], 1 + 2 * 2107)):
        rows, _ = top("alloc_objects", *words, saved(exact()))
        assert sum(row[0] for row in rows.values()) == calls, f"{words}: {rows}"


@claim
def pprof_shows_tags_and_threads_as_roots():
    rows, _ = top("alloc_objects", "-tagroot=thread,tag", saved(exact()))
    assert rows["worker-1"][1] > 2000 and rows["request/parse"] == (0, 4000), rows


@claim
def pprof_shows_callers_callees_and_trees():
    text = show("-peek=shapes::parse", "-sample_index=alloc_objects", saved(exact()))
    assert re.search(r"4000 97.56% \|   shapes::serve", text), text
    assert re.search(r"4100   100% \|   shapes::shape_block", text), text
    assert re.search(r"200kB.*\|   shapes::load_cache", show("-tree", saved(exact())))


@claim
def pprof_shows_sources():
    text = show("-list=load_cache", saved(exact()))
    assert re.search(r"200kB +\d+: +keep\(shape_block\(1023\)\);", text), text


# ---- selections and differences ----


@claim
def tags_and_threads_are_outermost_frames_and_add_nothing():
    found = pprof(exact(), "--by", "thread,tag")
    same(found.totals(), totals(exact()))
    for sample in found.samples:
        labels = found.labels(sample)
        front = [labels["thread"], *labels.get("tag", "(no tag)").split("/")]
        assert [*found.names(sample)][::-1][: len(front)] == front, found.names(sample)
    rows, total = top("alloc_objects", saved(exact(), "--by", "thread,tag"))
    assert rows["request"][1] == 4214 and total == totals(exact())["alloc_objects"], rows


@claim
def small_stacks_are_merged_and_stay_in_the_totals():
    found = pprof(exact(), "--threshold", "10")
    same(found.totals(), totals(exact()))
    names = {name for sample in found.samples for name in found.names(sample)}
    assert any(re.match(r"\(\d+ more below 10%\)", name) for name in names), names
    assert len(found.locations) < len(pprof(exact()).locations)


@claim
def a_part_of_a_profile_has_the_totals_of_that_part():
    for options in (["--tag", "request"], ["--thread", "worker-1"], ["--focus", "load_"], ["--ignore", "load_"]):
        same(pprof(exact(), *options).totals(), totals(exact(), *options), str(options))


def compare_differences(metric):
    """Our difference looks like pprof's difference of two exports: figures, and percentages of the base."""
    options = [f"-sample_index={metric}", "-unit=B", "-nodecount=1000000", "-nodefraction=0", "-symbolize=none"]
    theirs = show("-top", *options, f"-diff_base={saved(before())}", saved(after()))
    ours = show("-top", *options, saved(after(), "--diff-base", before()))
    texts = [sorted(text[text.index("Showing nodes"):].splitlines()) for text in (ours, theirs)]
    assert len(texts[0]) > 5 and texts[0] == texts[1], f"ours:\n{ours}\ntheirs:\n{theirs}"


for a_metric in ("alloc_space", "inuse_space", "alloc_objects", "temp_objects"):
    claims.add(f"a difference is the same as that of -diff_base: {a_metric}",
               functools.partial(compare_differences, a_metric))


@claim
def the_sum_of_a_difference_is_the_total_change():
    found = pprof(after(), "--diff-base", before())
    old, new = totals(before()), totals(after())
    same(found.totals(), {metric: new[metric] - old[metric] for metric in METRICS})
    same(found.totals(), totals(after(), "--diff-base", before()))
    changes = {key: row for key, row in found.rows().items() if any(row.values())}
    claims.expect(difference_of(changes, rows_of_json(after(), "--diff-base", before()), "row"), "with figures of JSON")
    assert min(value for sample in found.samples for value in sample["value"]) < 0
    base = [sample for sample in found.samples if found.labels(sample).get("pprof::base") == "true"]
    assert -sum(sample["value"][0] for sample in base) == old["alloc_objects"]


@claim
def the_difference_of_a_profile_with_itself_is_zero():
    found = pprof(exact(), "--diff-base", exact())
    same(found.totals(), dict.fromkeys(METRICS, 0))
    assert all(not any(row.values()) for row in found.rows().values())


if __name__ == "__main__":
    sys.exit(claims.main())
