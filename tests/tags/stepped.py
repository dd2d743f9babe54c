# SPDX-License-Identifier: MIT
"""stepped - signals at each instruction of the API, and combinations of threads, forks, resets and statistics.

The programs check most of these claims themselves (programs/stepped.c, corners.c). If one does not hold, their status
is not 0, and the last line of stderr says where.
"""

import functools
import sys

# First, because it adds tests/lib to the path.
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
        ("push-new-name", "may push a new name"),
        ("fork", "may fork, and both continue with their own figures"),
        ("reset", "may reset, and counting starts again"),
        ("jump", "may jump out, and adopting the tag before restores it"),
    ):  # fmt: skip
        claim_at_each_step(f"push and pop a handler {a_sentence}, {a_words}", an_action, a_number)
claim_at_each_step("push and pop a handler may allocate: each call is booked with its bytes", "allocate")
claim_at_each_step("push and pop a handler may allocate: each call is booked with its bytes, sampled", "allocate",
                   mode="coarsely sampled")
claim_at_each_step("push and pop a handler may push and pop", "push")
claim_at_each_step("push and pop a handler may write a copy", "write")

# ---- threads ----

claim_at_each_step("a thread's first allocation a handler may push, when the record of another is reused",
                   "thread-begins", behind=[BUMP], PLIMSOLL_MAX_THREADS=1)
claim_at_each_step("a thread's end a handler may push and allocate", "thread-ends", behind=[BUMP])

# ---- copies and resets ----

claim_at_each_step("a copy a handler may jump out, and the next copy is made", "write-jump")
claim_at_each_step("a copy a handler may fork, and the parent makes the copy", "write-fork")


@claim
def a_reset_by_a_handler_within_a_reset_is_recorded_in_the_file():
    numbers = sorted(copy.resets for copy in step("reset-reset"))
    assert len(numbers) > 50
    expect(f"{seen} resets, should be {3 + 2 * i}" for i, seen in enumerate(numbers) if seen != 3 + 2 * i)


# ---- combinations ----


def corner(scene, mode="exact", **settings):
    with Place() as place:
        run(place, "corners", scene, mode=mode, **settings)


def claim_corner(sentence, scene, modes=("exact",), **settings):
    for mode in modes:
        claims.add(f"{sentence}, {mode}", functools.partial(corner, scene, mode=mode, **settings))


BOTH = ("exact", "coarsely sampled")
claim_corner("figures of a tag never decrease or become negative while a thread changes tags", "ask-for-a-tag", BOTH)
claim_corner("pairs never decrease or become negative while a thread changes tags", "ask-for-pairs", BOTH)
claim_corner("bytes never decrease while another thread allocates", "ask-for-bytes", ("sampled",))
claim_corner("a thread that allocates meanwhile sees both of two resets in a row", "reset-twice")
claim_corner("pairs after a reset belong to the thread's current tag", "ask-after-reset", BOTH)
claim_corner("the peak after a reset counts only allocations since, whatever else is freed", "peak-after-reset")
claim_corner("a program sees at once what a thread frees of another thread's blocks", "free-of-another")
claim_corner("a thread that frees other threads' blocks after a reset changes only figures of those since",
             "free-after-reset")
claim_corner("a new child is active before it allocates", "new-child", BOTH)
claim_corner("allocations of a child belong to the tag that it was forked in", "child-in-tag", BOTH)
claim_corner("a tag has no calls of the thread whose record was reused", "taken-over", BOTH,
             PLIMSOLL_MAX_THREADS=1)
claim_corner("no floating-point flag is raised, and no trap triggered", "floating-point", ("exact", "sampled"))
claim_corner("a new name takes no more instructions when there are very many", "many-names")


@claim
def children_that_only_allocate_while_switched_off_leave_no_profile():
    with Place() as place:
        run(place, "corners", "many-children", mode="coarsely sampled", PLIMSOLL_OFF=1)
        assert len(place.files()) == 1, place.files()


@claim
def totals_of_threads_are_exact_when_the_file_is_full():
    with Place() as place:
        pid = run(place, "corners", "crowd", PLIMSOLL_MAX_FILE="512K")
        account, profile = accounts(place), the_profile(place, pid)
    assert profile.losses, "everything fitted into the file, so nothing was tested"
    seen = {thread.tid: (thread.calls["malloc"], thread.bytes) for thread in profile.threads.values()}
    tids = [tid for tid in account.tids[1:] if tid]
    assert len(tids) == CROWD
    expect(f"thread {tid}: {seen.get(tid)}" for tid in tids if seen.get(tid) != (CROWD_TAGS, CROWD_TAGS * 100))


@claim
def the_peak_of_threads_that_exchange_blocks_is_right_within_their_batches():
    with Place() as place:
        profile = the_profile(place, run(place, "corners", "exchange"))
    off, true = BATCHED_THREADS * profile.batch_bytes, 256 * 4000
    assert abs(profile.peak_bytes - true) <= off + 4 * 4000, f"{profile.peak_bytes}, should be {true}, ± {off}"
    assert off < true / 2, "batches are too large for this test"


if __name__ == "__main__":
    sys.exit(claims.main())
