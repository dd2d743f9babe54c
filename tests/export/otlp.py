# SPDX-License-Identifier: MIT
"""otlp - `export --format otlp` is a valid request, and has the figures of the JSON export."""

import functools
import os
import sys

# First, because it adds tests/lib to the path.
from exporting import METRICS, PROFILES, PROGRAMS, as_json, exact, export, hostile, sampled, totals
import claims
from claims import claim
from otlps import TABLES, Request
from pprofs import exported, one, rows_of_json

PUSHED = METRICS[2:4] + METRICS[:2]


@functools.cache
def request(profile, *options):
    return Request(export(profile, "otlp", *options))


def check_rows(make):
    wanted = rows_of_json(make())
    for profile in request(make()).profiles:
        rows = {key: row[profile.type] for key, row in wanted.items() if row[profile.type]}
        assert profile.rows() == rows, f"{profile.type} differs"


def check_references(make):
    """Every entry of a table is used, except the first, which is empty; and no two are equal."""
    found = request(make())
    used = {name: set() for name in TABLES}
    for profile in found.profiles:
        for sample in profile.samples:
            used["stack"].add(one(sample, "stack_index"))
            used["attribute"] |= set(sample.get("attribute_indices", []))
    for stack in used["stack"]:
        used["location"] |= set(found.table["stack"][stack]["location_indices"])
    for location in used["location"]:
        used["mapping"].add(one(found.table["location"][location], "mapping_index"))
        used["function"] |= {one(line, "function_index") for line in found.table["location"][location].get("lines", [])}
    for mapping in used["mapping"]:
        used["attribute"] |= set(found.table["mapping"][mapping].get("attribute_indices", []))
    for name in ("mapping", "location", "function", "attribute", "stack"):
        table = found.table[name]
        assert table[0] == {}, f"{name} 0 is {table[0]}"
        assert used[name] | {0} == set(range(len(table))), f"orphans or missing entries in {name}"
        assert len({str(entry) for entry in table}) == len(table), f"two equal entries in {name}"
    assert found.table["link"] == [{}], found.table["link"]
    assert found.table["string"][0] == "" and len(set(found.table["string"])) == len(found.table["string"])


for a_name, a_profile in PROFILES.items():
    claims.add(f"each stack has the right figures: {a_name}", functools.partial(check_rows, a_profile))
    claims.add(f"tables have what is needed and no more: {a_name}", functools.partial(check_references, a_profile))


@claim
def each_metric_is_a_profile_and_live_ones_have_no_duration():
    found, process = request(exact()), as_json(exact())["process"]
    assert [(each.type, each.unit) for each in found.profiles] == [
        (metric, "bytes" if metric.endswith("space") else "count") for metric in PUSHED]
    assert found.totals() == {metric: totals(exact())[metric] for metric in PUSHED}
    for each in found.profiles:
        live, length_ns = each.type.startswith("inuse"), process["duration_s"] * 1e9
        assert abs(each.duration_ns - (0 if live else length_ns)) < 1000
        assert abs(each.time_ns - process["start_unix_ns"] - (length_ns if live else 0)) < 1000
    assert len({each.id for each in found.profiles}) == 4, "identities are not different"


@claim
def the_figures_can_be_chosen():
    for which, metrics in (("live", PUSHED[:2]), ("allocated", PUSHED[2:])):
        found = request(exact(), "--figures", which)
        assert [each.type for each in found.profiles] == list(metrics)
        assert found.totals() == {metric: totals(exact())[metric] for metric in metrics}


@claim
def the_resource_is_the_process():
    process = as_json(exact())["process"]
    for profile in request(exact()).profiles:
        assert profile.resource == {"service.name": "shapes", "process.pid": str(process["pid"]),
                                    "process.executable.path": os.path.realpath(PROGRAMS / "shapes")}, profile.resource


@claim
def the_period_is_the_sampling_interval():
    for profile, period in ((exact(), 1), (sampled(), 2048)):
        assert {each.period for each in request(profile).profiles} == {period}


@claim
def mappings_have_build_ids_and_addresses_of_the_binary():
    found, pprof = request(exact()), exported(exact())
    wanted = {}
    for location in pprof.locations.values():
        mapping = pprof.mappings.get(one(location, "mapping_id"))
        if mapping:
            start, name = one(mapping, "memory_start"), pprof.text(mapping, "filename")
            wanted.setdefault((name, pprof.text(mapping, "build_id")), set()).add(one(location, "address") - start)
    seen = {}
    for location in found.table["location"][1:]:
        mapping = found.table["mapping"][one(location, "mapping_index")]
        if mapping:
            key = (found.string(one(mapping, "filename_strindex")),
                   found.attributes(mapping).get("process.executable.build_id.gnu", ""))
            seen.setdefault(key, set()).add(one(location, "address") - one(mapping, "memory_start"))
            assert one(mapping, "memory_start") <= one(location, "address") < one(mapping, "memory_limit")
    assert all(addresses <= wanted[key] for key, addresses in seen.items()) and len(seen) > 1, (seen.keys(), wanted)


@claim
def the_same_profile_gives_the_same_bytes():
    for make in (exact, sampled, hostile):
        assert export(make(), "otlp") == export(make(), "otlp")


if __name__ == "__main__":
    sys.exit(claims.main())
