# SPDX-License-Identifier: MIT
"""announced - heaps that a program announces: figures equal the allocator's own account."""

import subprocess
import sys

from heaps import *  # noqa: F403
from claims import claim

ANNOUNCED, CONTAINERS = PROGRAMS / "announced", PROGRAMS / "containers"


def table(output):
    """heap -> (calls, bytes, blocks, live, held), as the program has printed them last."""
    return {name: tuple(map(int, figures)) for name, *figures in map(str.split, output.splitlines())}


def found_in(profile, heap):
    total = export(profile, "--heap", heap)["totals"]
    return tuple(int(total[key]["value"]) for key in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"))


def agrees(*command, losses=()):
    output, profiles = run([*command], PLIMSOLL_SAMPLE="exact")
    assert len(profiles) == 1, profiles
    for heap, account in table(output).items():
        found = found_in(profiles[0], heap)
        assert found == account[:4], (heap, found, account)
    lost = {name: n for name, n in export(profiles[0])["losses"].items() if n}
    assert lost == dict(losses), lost
    return profiles[0], table(output)


@claim
def an_arena_that_is_cleared_at_once_agrees_with_its_account():
    profile, account = agrees(ANNOUNCED, "arena")
    assert "in chunks of 64.0 KiB" in ask("report", profile=profile)
    assert account["arena"][4] == 65536
    assert found_in(profile, "arena")[3] <= 65536


@claim
def a_slab_with_reallocs_agrees_with_its_account():
    profile, _ = agrees(ANNOUNCED, "slab")
    reallocs = export(profile, "--heap", "slab")["totals"]["reallocs"]
    assert reallocs["calls"] == reallocs["in_place"] > 1000, reallocs


@claim
def a_pool_takes_the_pools_below_it_with_it():
    agrees(ANNOUNCED, "tree")


@claim
def blocks_that_another_thread_frees_agree_with_the_account():
    profile, _ = agrees(ANNOUNCED, "threads")
    threads = export(profile, "--heap", "shared")["threads"]
    assert len(threads) == 4, threads


@claim
def a_child_uses_the_heaps_of_its_parent_and_knows_only_its_own_blocks():
    output, profiles = run([ANNOUNCED, "forks"], PLIMSOLL_SAMPLE="exact")
    expected = sorted(tuple(map(int, line.split()[1:5])) for line in output.splitlines())
    assert sorted(found_in(profile, "pool") for profile in profiles) == expected, (profiles, expected)


@claim
def mistakes_of_a_program_are_counted_and_harm_nobody():
    profile, _ = agrees(ANNOUNCED, "odd", losses={"missed_free": 1, "memory": 1, "tag_names": 1})
    assert found_in(profile, "mappings (announced)") == (1, 3, 1, 3)
    assert found_in(profile, "(no name)") == (1, 2, 1, 2)


@claim
def containers_with_announced_allocators_agree_with_what_is_below_them():
    agrees(CONTAINERS)


@claim
def figures_of_malloc_are_the_same_with_and_without_announced_heaps():
    """The chunk of an arena is a block of malloc, and stays one."""
    _, profiles = run([ANNOUNCED, "slab"], PLIMSOLL_SAMPLE="exact")
    total = export(profiles[0])["totals"]
    stdio = total["inuse_space"]["value"] - 5000 * 64
    assert 0 <= stdio < 10000, total["inuse_space"]


@claim
def estimates_of_a_sampled_heap_contain_the_truth_as_often_as_they_say():
    """95% of the intervals should. Of 4 x 20, fewer than 66 do so in one of 20,000 series of independent intervals;
    these come in fours, from one run each. Seeds are fixed."""
    inside = runs = 0
    for seed in range(20):
        output, profiles = run([ANNOUNCED, "slab"], PLIMSOLL_SAMPLE="4K", PLIMSOLL_SEED=seed)
        total = export(profiles[0], "--heap", "slab")["totals"]
        truth = table(output)["slab"]
        for key, value in zip(("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"), truth):
            inside += total[key]["low"] <= value <= total[key]["high"]
            runs += 1
    claims.say(f"{inside} of {runs} intervals contain the truth")
    assert inside >= 66, inside


@claim
def auto_mode_samples_a_heap_when_counting_costs_too_much():
    output, profiles = run([ANNOUNCED, "slab"], PLIMSOLL_SAMPLE="auto", PLIMSOLL_CREDIT="1ms", PLIMSOLL_OVERHEAD="0.1%")
    about = export(profiles[0], "--heap", "slab")
    truth = table(output)["slab"]
    assert about["sampling"]["exact_calls"] < truth[0], about["sampling"]


@claim
def without_the_profiler_the_same_programs_run_alike():
    for command in ([ANNOUNCED, "tree"], [ANNOUNCED, "odd"], [CONTAINERS]):
        without = subprocess.run(command, text=True, check=True, env=environment(), stdout=subprocess.PIPE).stdout
        assert without == run(command)[0]


sys.exit(main())
