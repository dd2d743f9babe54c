# SPDX-License-Identifier: MIT
"""hot - the instructions of malloc and free inside glibc when nothing is sampled, for blocks of the thread's cache.

callgrind counts those of bench/calls. Their number must not increase. `tools/hot --glibc` compares with a build without
the profiler, which would take minutes here: in such a build malloc takes 41, free 82 in 2.36 and 65 in 2.41.

usage: hot.py [WORD...]
"""

import shutil
import sys

from front import *

sys.path.insert(0, str(SOURCE / "bench"))

from callgrind import COUNT, account_of_calls  # noqa: E402
from glibc import RARE, facts_of, loader_of  # noqa: E402
from measure import Broken  # noqa: E402

# By release and compiler.
BUDGETS = {
    ("2.36", "gcc 12"): {"malloc": 35, "free": 79},
    ("2.41", "gcc 12"): {"malloc": 35, "free": 62},
    ("2.41", "gcc 14"): {"malloc": 35, "free": 62},
}
CALLERS = {"malloc": "take_malloc", "free": "give"}
BYTES = 48


def compiler():
    """For example `gcc 12`."""
    return facts_of(GLIBC)["flags"].split(".")[0]


def need_budget():
    try:
        key = release(), compiler()
    except Broken as reason:
        give_up(str(reason))
    if key not in BUDGETS:
        give_up("there is no budget for glibc {}, built by {}".format(*key))
    if not shutil.which("valgrind"):
        give_up("valgrind is missing: tools/setup check installs it")


def counted(settings):
    """The account of callgrind, and the profiles that were left."""
    with Place() as place:
        variables = {**settings, "PLIMSOLL_LIVE_DIR": place.live}
        account = account_of_calls(BUILD / "bench/calls", loader_of(GLIBC), "malloc", BYTES, variables=variables,
                                   directory=place.work)
        return account, place.files()


def check(account):
    problems = []
    for function, caller in CALLERS.items():
        count, budget = account.cost_of_calls(caller) / COUNT, BUDGETS[release(), compiler()][function]
        say(f"{function}: {count:g} instructions of {budget}")
        if not 0 < count <= budget:
            problems.append(f"{function} takes {count:g} instructions, not 1 to {budget}")
    expect(problems)


@claim
def malloc_and_free_keep_their_budget_while_the_profiler_is_off():
    account, profiles = counted({"GLIBC_MALLOC_PROFILE": "0"})
    assert not profiles, profiles
    check(account)


@claim
def malloc_and_free_keep_their_budget_while_the_profiler_takes_no_sample():
    account, profiles = counted({**ON, "GLIBC_MALLOC_PROFILE_BYTES": RARE})
    assert profiles
    check(account)


if __name__ == "__main__":
    need_glibc()
    need_budget()
    sys.exit(claims.main())
