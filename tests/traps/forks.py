# SPDX-License-Identifier: MIT
"""forks - children made in every way: each has its own file or none, and the parent's file has only the parent."""

import os
import sys

from traps import *

FORKED = 1
CHILDREN = int(os.environ.get("TRAPS_CHILDREN", 100))
BY_FUNCTION = ("fork", "_Fork", "SYS_fork", "SYS_clone", "SYS_clone3", "grandchild", "thread")
BEHIND_OUR_BACK = ("clone", "raw")


def family(ran, children):
    """The parent's profile and its children's."""
    profiles = ran.profiles()
    parents = [p for p in profiles if not p.flags & FORKED]
    forked = [p for p in profiles if p.flags & FORKED]
    assert len(parents) == 1 and len(forked) == children, [p.path for p in profiles]
    assert len({p.pid for p in profiles}) == len(profiles), "two profiles have the same pid"
    return parents[0], forked


def check_parent(profile):
    mine, theirs = Figures(profile, "parent_allocate"), Figures(profile, "child_allocate")
    assert mine.allocated.samples == 300 and mine.live == 0, mine.allocated
    assert theirs.allocated.samples == 0, "a child wrote into its parent's file"
    assert profile.end == plim.ENDS.index("exit") and profile.exit_status == 0


def check_child(profile):
    mine, theirs = Figures(profile, "child_allocate"), Figures(profile, "parent_allocate")
    assert mine.allocated.samples == 50 and mine.live == 25, mine.allocated
    assert theirs.allocated.samples == 0, "a child recorded allocations of its parent"
    assert profile.end == plim.ENDS.index("exit") and profile.exit_status == 7
    assert lost(profile) == {}, lost(profile)


@claim
def a_child_has_its_own_file_however_it_was_made():
    for how in BY_FUNCTION + BEHIND_OUR_BACK:
        ran = behaves("forks", how)["everything"]
        parent, children = family(ran, 2 if how == "grandchild" else 1)
        check_parent(parent)
        for child in children:
            check_child(child)
        assert ran.live_files() == []


@claim
def the_calls_of_a_child_are_exact_from_the_first_one():
    for how in BY_FUNCTION:
        for settings in (EVERYTHING, {"PLIMSOLL_SAMPLE": "4K"}):
            _, children = family(run("forks", how, settings=settings).succeeds(), 2 if how == "grandchild" else 1)
            for child in children:
                calls = [t.calls for t in child.threads.values()]
                assert len(calls) == 1 and (calls[0]["malloc"], calls[0]["realloc"]) == (50, 50), (how, calls)
                assert child.bytes == 50 * 48 + 50 * 1000, (how, child.bytes)


@claim
def blocks_inherited_and_freed_in_a_child_do_not_make_its_figures_negative():
    for settings in WAYS.values():
        profiles = run("forks", "fork", 5, settings=settings).succeeds().profiles()
        assert len(profiles) >= (6 if settings is EVERYTHING else 1), [p.path for p in profiles]
        for profile in profiles:
            for row in profile.rows.values():
                assert row.gone.samples <= row.allocated.samples and row.gone.space <= row.allocated.space


@claim
def a_child_that_allocates_once_pays_for_few_pages():
    """Most of what a brief child costs is page faults, some 2 us each. It was 139 of them with 256 KiB of the file and a
    page for each list of its chunks, and is 78."""
    def faults(**options):
        return int(run("brief", **options).succeeds().stdout)

    more = faults(settings={"PLIMSOLL_SAMPLE": "exact"}) - faults(preload=())
    assert 0 < more < 100, f"{more} page faults more than without us"


@claim
def a_child_that_is_selected_by_its_new_name_knows_its_program():
    """Its parent was not selected, and has not asked what it runs."""
    ran = run("forks", "renamed", settings={**EVERYTHING, "PLIMSOLL_ONLY": "renamed"}).succeeds()
    check_child(ran.profile())


@claim
def many_children_one_after_the_other_leave_a_file_each():
    parent, children = family(run("forks", "fork", CHILDREN, settings=EVERYTHING).succeeds(), CHILDREN)
    check_parent(parent)
    for child in children:
        check_child(child)


@claim
def many_children_at_once_leave_a_file_each():
    parent, children = family(run("forks", "crowd", CHILDREN, settings=EVERYTHING).succeeds(), CHILDREN)
    check_parent(parent)
    for child in children:
        check_child(child)


@claim
def forking_while_other_threads_allocate_neither_hangs_nor_mixes_files():
    for settings in WAYS.values():
        ran = run("forks", "busy", 50, settings=settings).succeeds()
        ran.profiles()
    parent, children = family(run("forks", "busy", 50, settings=EVERYTHING).succeeds(), 50)
    check_parent(parent)
    for child in children:
        check_child(child)
        assert len(child.threads) == 1, "a child has threads of its parent"


@claim
def a_child_without_a_free_descriptor_runs_without_a_profile():
    parent, _ = family(behaves("forks", "cramped")["everything"], 0)
    check_parent(parent)


@claim
def allocations_in_fork_handlers_of_other_libraries_are_counted_once():
    ran = behaves("atfork")["everything"]
    parent, children = family(ran, 3)
    for child in children:
        assert Figures(child, "in_child").allocated.samples == 10
        assert Figures(child, "atfork_child_allocate").allocated.samples == 20
        assert Figures(child, "prepare").allocated.samples == 0
        assert len(child.threads) == 1 and child.calls == 30, [t.calls for t in child.threads.values()]
    assert Figures(parent, "prepare").allocated.samples == 3
    assert Figures(parent, "in_parent").allocated.samples == 3
    assert Figures(parent, "in_child").allocated.samples == 0


def spawned(how):
    ran = behaves("forks", how)["everything"]
    profiles = sorted(ran.profiles(), key=lambda p: p.start_monotonic_ns)
    assert not any(p.flags & FORKED for p in profiles)
    return profiles


@claim
def a_vfork_child_leaves_its_parents_file_alone_and_gets_its_own_after_exec():
    for how in ("vfork", "spawn"):
        parent, child = spawned(how)
        check_parent(parent)
        assert Figures(child, "child_allocate").live == 25 and child.exit_status == 7


@claim
def a_failed_exec_of_a_vfork_child_does_not_end_its_parents_profile():
    (parent,) = spawned("failing-vfork")
    check_parent(parent)


if __name__ == "__main__":
    sys.exit(main())
