# SPDX-License-Identifier: MIT
"""stepped - signals at each instruction of the API, and where threads, forks, resets and statistics meet.

Most of what is claimed here the programs check themselves (programs/stepped.c, corners.c): a status other than 0 is a
claim that does not hold, and the last line of its stderr says where.
"""

import functools
import sys

# First, because it knows the way to tests/lib.
from tagged import BUMP, Place, accounts, expect, run, the_profile
import claims
import plim
from claims import claim

FEW, MANY = 0, 100
CROWD, CROWD_TAGS = 150, 60  # as in corners.c
BATCHED_THREADS = 5  # four, and main


def step(action, tags=FEW, **options):
    with Place() as place:
        directory = place.path / "copies"
        directory.mkdir()
        pid = run(place, "stepped", action, tags, directory, **options)
        the_profile(place, pid)
        return [plim.Profile(path) for path in sorted(directory.iterdir())]


def claim_at_each_step(sentence, *words, **options):
    claims.add(f"at each instruction of {sentence}", functools.partial(step, *words, **options))


# ---- push and pop ----

for a_number, a_words in ((FEW, "few tags"), (MANY, "many tags")):
    for an_action, a_sentence in (
        ("push-new-name", "may push a name that was never seen"),
        ("fork", "may fork, and both go on, each with its own figures"),
        ("reset", "may reset, and all counts anew"),
        ("jump", "may jump out, and adopting the tag before repairs it"),
    ):  # fmt: skip
        claim_at_each_step(f"push and pop a handler {a_sentence}, {a_words}", an_action, a_number)
claim_at_each_step("push and pop a handler may allocate: no call without its bytes", "allocate")
claim_at_each_step("push and pop a handler may allocate: no call without its bytes, sampled", "allocate",
                   mode="coarsely sampled")
claim_at_each_step("push and pop a handler may push and pop", "push")
claim_at_each_step("push and pop a handler may write a copy", "write")

# ---- threads ----

claim_at_each_step("a thread's first allocation a handler may push, where figures of another are taken over",
                   "thread-begins", behind=[BUMP], PLIMSOLL_MAX_THREADS=1)
claim_at_each_step("a thread's end a handler may push and allocate", "thread-ends", behind=[BUMP])

# ---- copies and resets ----

claim_at_each_step("a copy a handler may jump out, and the next copy is made", "write-jump")
claim_at_each_step("a copy a handler may fork, and the copy is its parent's", "write-fork")


@claim
def a_handler_that_resets_within_a_reset_does_not_leave_the_file_behind():
    numbers = sorted(copy.resets for copy in step("reset-reset"))
    assert len(numbers) > 50
    expect(f"{seen} resets, in truth {3 + 2 * i}" for i, seen in enumerate(numbers) if seen != 3 + 2 * i)


# ---- corners ----


def corner(scene, mode="exact", **settings):
    with Place() as place:
        run(place, "corners", scene, mode=mode, **settings)


def claim_corner(sentence, scene, modes=("exact",), **settings):
    for mode in modes:
        claims.add(f"{sentence}, {mode}", functools.partial(corner, scene, mode=mode, **settings))


BOTH = ("exact", "coarsely sampled")
claim_corner("figures of a tag never go back, nor below 0, while another thread changes tags", "ask-for-a-tag", BOTH)
claim_corner("pairs never go back, nor below 0, while another thread changes tags", "ask-for-pairs", BOTH)
claim_corner("bytes never go back while another thread allocates", "ask-for-bytes", ("sampled",))
claim_corner("of two resets in a row a thread that allocates meanwhile misses none", "reset-twice")
claim_corner("pairs after a reset are of the tag that the thread is in", "ask-after-reset", BOTH)
claim_corner("the peak after a reset is of what was allocated since, whatever else is freed", "peak-after-reset")
claim_corner("a new child is active before it allocates", "new-child", BOTH)
claim_corner("what a child allocates in the tag that it was forked in is that tag's", "child-in-tag", BOTH)
claim_corner("a tag has no calls of the thread whose figures were taken over", "taken-over", BOTH,
             PLIMSOLL_MAX_THREADS=1)
claim_corner("no floating-point flag is raised, and no trap sprung", "floating-point", ("exact", "sampled"))
claim_corner("a new name takes no more instructions when there are very many", "many-names")


@claim
def children_that_only_allocate_leave_no_file_when_switched_off():
    with Place() as place:
        run(place, "corners", "many-children", mode="coarsely sampled", PLIMSOLL_OFF=1)
        assert len(place.files()) == 1, place.files()


@claim
def totals_of_threads_are_exact_when_the_file_is_full():
    with Place() as place:
        pid = run(place, "corners", "crowd", PLIMSOLL_MAX_FILE="512K")
        account, profile = accounts(place), the_profile(place, pid)
    assert profile.losses, "the file was large enough for all"
    seen = {thread.tid: (thread.calls["malloc"], thread.bytes) for thread in profile.threads.values()}
    tids = [tid for tid in account.tids[1:] if tid]
    assert len(tids) == CROWD
    expect(f"thread {tid}: {seen.get(tid)}" for tid in tids if seen.get(tid) != (CROWD_TAGS, CROWD_TAGS * 100))


@claim
def the_peak_of_threads_that_exchange_blocks_is_right_to_within_their_batches():
    with Place() as place:
        profile = the_profile(place, run(place, "corners", "exchange"))
    off, true = BATCHED_THREADS * profile.batch_bytes, 256 * 4000
    assert abs(profile.peak_bytes - true) <= off + 4 * 4000, f"{profile.peak_bytes}, in truth {true}, off by {off}"
    assert off < true / 2, "batches are too large to tell"


if __name__ == "__main__":
    sys.exit(claims.main())
