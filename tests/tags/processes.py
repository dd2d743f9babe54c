# SPDX-License-Identifier: MIT
"""processes - tags at the beginning and the end of processes: fork, vfork, exec, kill -9."""

import functools
import random
import sys

# First, because it adds tests/lib to the path.
from tagged import MODES, PROGRAMS, Comparison, Place, Profile, accounts, compare, expect, run, the_profile
import claims
from claims import claim, say

KILLS = 3


def check_fork(mode):
    with Place() as place:
        run(place, "processes", "fork", mode=mode)
        assert len(place.files()) == 3, place.files()
        for suffix, pops in (("", 0), (".child", 1), (".child.child", 1)):
            account = accounts(place, suffix)
            profile = the_profile(place, account.tids[0])
            compare(account, profile, mode, {"pops": pops} if pops else {})
            inherited = account.cell[0, ((0, b"around"), (0, b"inside"))]
            assert inherited["calls of malloc"], "the child allocated nothing in the tag that it was forked in"


for a_mode in ("exact", "sampled"):
    claims.add(f"a child forked inside a scope stays in it, with its own file, {a_mode}",
               functools.partial(check_fork, a_mode))


@claim
def a_child_that_only_execs_leaves_its_parents_scopes_alone():
    with Place() as place:
        pid = run(place, "processes", "vfork")
        compare(accounts(place), the_profile(place, pid), "exact")
        others = [profile for profile in map(Profile, place.files()) if profile.pid != pid]
        assert not any(profile.tags for profile in others), "a program after exec has tags that it did not create"


def check_killed(mode, threads, seed):
    """In exact mode only the calls in progress may be missing. Otherwise totals lag by less than a sample."""
    chance = random.Random(seed)
    sample, interval = MODES[mode]
    with Place() as place:
        process = place.start(PROGRAMS / "processes", "busy", threads, sample=sample, ACCOUNT_INTERVAL=interval,
                              PLIMSOLL_SEED=seed)
        wanted = chance.randrange(100, 300)
        place.await_account(process, lambda: len(accounts(place).cell) > wanted)
        place.kill(process)
        account, profile = accounts(place), the_profile(place, process.pid)
        expect(profile.behind, "in scopes and threads")
        for number, thread in profile.threads.items():
            whole = sum(figures["bytes"] for (n, _), figures in profile.charged.items() if n == number)
            assert whole == thread.bytes, f"scopes of thread {number} have {whole} bytes, the thread {thread.bytes}"
        say(f"{sum(cell.sum_of('calls') for cell in account.cell.values())} calls, losses {profile.losses}")
        if mode == "exact":
            problems = Comparison(account, profile, "exact", ahead=1).problems()
            expect(problems)


for a_mode in ("exact", "sampled"):
    for a_number in (1, 3):
        for a_seed in range(KILLS):
            claims.add(f"after kill -9 inside scopes of {a_number} threads their figures are right, {a_mode}, {a_seed}",
                       functools.partial(check_killed, a_mode, a_number, a_seed))


if __name__ == "__main__":
    sys.exit(claims.main())
