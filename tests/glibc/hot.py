# SPDX-License-Identifier: MIT
"""hot - how many instructions malloc and free take inside glibc when nothing is sampled, for blocks of the thread's cache.

callgrind counts those of bench/calls. What is compared with is what the same release takes without the profiler, as
`tools/hot --glibc` has counted it in a build of this compiler's: to build that one, too, would take minutes.

usage: hot.py [WORD...]
"""

import shutil
import sys
import tempfile
from pathlib import Path

from front import *

sys.path.insert(0, str(SOURCE / "bench"))

from callgrind import COUNT, account_of_calls  # noqa: E402
from glibc import RARE, facts_of, loader_of, profiling  # noqa: E402

COMPILER = "gcc 12."
WITHOUT = {"2.36": {"malloc": 41, "free": 82}, "2.41": {"malloc": 41, "free": 65}}
CALLERS = {"malloc": "take_malloc", "free": "give"}
BYTES = 48


def need_comparison():
    built_by = facts_of(GLIBC)["flags"]
    if release() not in WITHOUT or not built_by.startswith(COMPILER):
        give_up(f"nobody has counted what glibc {release()} takes without the profiler, built by {built_by.split(' -')[0]}")
    if not shutil.which("valgrind"):
        give_up("valgrind is missing: tools/setup check installs it")


def counted(on):
    with tempfile.TemporaryDirectory(prefix="plimsoll-hot-") as name:
        scratch = Path(name)
        return account_of_calls(BUILD / "bench/calls", loader_of(GLIBC), "malloc", BYTES,
                                variables=profiling(scratch, RARE) if on else {}, directory=scratch)


def compare(on):
    account, problems = counted(on), []
    for function, caller in CALLERS.items():
        count, limit = account.cost_of_calls(caller) / COUNT, WITHOUT[release()][function]
        say(f"{function}: {count:g} instructions, {limit} without the profiler")
        if not 0 < count <= limit:
            problems.append(f"{function} takes {count:g} instructions, not 1 to {limit}")
    expect(problems)


@claim
def malloc_and_free_are_no_longer_than_without_the_profiler_when_it_is_off():
    compare(on=False)


@claim
def nor_when_it_is_on_and_takes_no_sample():
    compare(on=True)


if __name__ == "__main__":
    need_glibc()
    need_comparison()
    sys.exit(claims.main())
