# SPDX-License-Identifier: MIT
"""selftest - the comparison finds errors: forged figures, each wrong in one place."""

import subprocess
import sys

# First, because it adds tests/lib to the path.
from profiles import EXPORTED, PROGRAMS, Place, Profile, compare, environment
import claims
from claims import claim
from ledger import CELL, Figures


def small_table():
    return {(0, "site_a"): Figures({name: 10 for name in CELL}), (1, "site_b"): Figures(calls=3, bytes=30)}


@claim
def the_comparison_accepts_equal_tables():
    assert compare(small_table(), small_table()) == []


@claim
def the_comparison_finds_any_figure_that_is_off_by_one():
    for name in CELL:
        for difference in (1, -1):
            seen = small_table()
            seen[0, "site_a"][name] += difference
            assert len(compare(small_table(), seen)) == 1, name


@claim
def the_comparison_finds_missing_and_additional_sites():
    seen = small_table()
    del seen[1, "site_b"]
    assert len(compare(small_table(), seen)) == 2
    assert len(compare(seen, small_table())) == 2
    moved = {(1 - thread, site): figures for (thread, site), figures in small_table().items()}
    assert compare(small_table(), moved)


@claim
def the_comparison_tolerates_only_calls_in_progress():
    seen = small_table()
    seen[1, "site_b"].update(calls=1, bytes=10)
    assert compare(small_table(), seen)
    assert not compare(small_table(), seen, {(1, "site_b"): Figures(calls=1, bytes=10)})
    assert compare(small_table(), seen, {(1, "site_b"): Figures(calls=1, bytes=9)})
    assert compare(small_table(), seen, {(0, "site_a"): Figures(calls=1, bytes=10)})


@claim
def every_figure_of_a_ledger_is_compared_with_an_export():
    assert set(EXPORTED) == set(CELL)


@claim
def programs_keep_a_consistent_ledger():
    with Place() as place:
        command = [PROGRAMS / "counts", place.ledger_path, "2", "2000", "together"]
        subprocess.run(command, env=environment(), check=True)
        ledger = place.ledger()
        figures = ledger.by_site()
        assert set(figures) == set(ledger.names), "a site was never used"
        assert sum(one.live_bytes for one in figures.values()) == ledger.live_bytes
        assert figures["site_brief"]["temporaries"] == figures["site_brief"]["calls"]
        grown = figures["site_grow"]
        assert 0 < grown["realloc_in_place"] < grown["realloc_calls"] < grown["calls"]
        assert not ledger.in_flight()


def forged(function_names, calls, total):
    """An export of one thread with one site, with the parts that the comparison reads."""
    exact = {"value": calls, "error": 0}
    profile = Profile.__new__(Profile)
    site = {"stack": 0, "thread": 0, "inuse_objects": {"value": 0}, "inuse_space": {"value": 0},
            "alloc_objects": exact, "alloc_space": exact, "temp_objects": exact,
            "sizes": [0, calls], "lifetimes": [calls], "ages": [],
            "reallocs": {"calls": 0, "moved_bytes": 0, "in_place": 0}, "freed_at_exit": {"blocks": 0, "bytes": 0}}
    profile.json = {
        "sites": [site], "frames": [{"function": name} for name in function_names],
        "stacks": [list(range(len(function_names)))], "losses": {"nested": 0}, "reading": {"damage": 0},
        "threads": [{"tid": 7, "calls": total, "bytes": total}],
        "totals": {"alloc_objects": {"value": total}, "alloc_space": {"value": total}},
    }
    profile.sites, profile.names = profile.json["sites"], function_names
    return profile


@claim
def the_check_finds_wrong_sums_and_stacks_without_a_site():
    assert forged(["site_a", "main"], 5, 5).problems() == []
    assert len(forged(["site_a", "main"], 5, 6).problems()) == 3
    assert len(forged(["strdup", "main"], 5, 5).problems()) == 1
    assert forged(["calloc", "pthread_create", "main"], 5, 5).problems() == []


if __name__ == "__main__":
    sys.exit(claims.main())
