# SPDX-License-Identifier: MIT
"""endings - however else a process with many threads ends: its profile exists and is right.

Threads go on allocating until the very end. While the runtime ends, all of them wait for it, so even then profile and
ledger differ only by the calls in progress.
"""

import functools
import sys

# First, because it adds tests/lib to the path.
from victims import PLIMSOLL, Place, agree, compare, expect, export, status_of, turns
import claims
import plim
from claims import claim

TURNS = 2000  # of each thread, before the process ends

# An ending of the victim: its status, the ending in the header, and whether the runtime could move the file.
ENDINGS = {
    "exit": (7, "exit", True),
    "_exit": (7, "quick", True),
    "abort": (status_of("SIGABRT"), "none", False),
    "fault": (status_of("SIGSEGV"), "none", False),
    "term": (status_of("SIGTERM"), "none", False),
    "limit": (status_of("SIGKILL"), "none", False),
    "exec": (0, "exec", True),
    "failed_exec": (7, "quick", True),
    "fork:exit": (7, "exit", True),
    "fork:abort": (128 - status_of("SIGABRT"), "none", False),
}


def check(ending):
    status, said, moved = ENDINGS[ending]
    with Place() as place:
        assert place.run_victim(ending, TURNS) == status
        profile = place.victim_profile()
        assert plim.ENDS[profile.end] == said, f"the header says {plim.ENDS[profile.end]}"
        assert profile.end != 1 or profile.exit_status == status
        assert (place.live not in plim.Path(profile.path).parents) == moved, f"it is {profile.path}"
        expect(profile.problems(), "in the file")
        expect(compare(profile, place.ledger(), turns), "with the ledger")
        expect(agree(profile, export(profile.path)), "with the reader")


for name in ENDINGS:
    claims.add(
        f"a process with busy threads that ends by {name} leaves a correct profile",
        functools.partial(check, name),
    )


@claim
def a_quick_exit_leaves_a_correct_profile():
    with Place() as place:
        assert place.run_victim("quick_exit", TURNS) == 7
        profile = place.victim_profile()
        expect(profile.problems(), "in the file")
        expect(compare(profile, place.ledger(), turns), "with the ledger")


def check_run(ending, status):
    with Place() as place:
        output = place.path / "run.plim"
        before = [PLIMSOLL, "run", "--sample", "1", "-o", output, "--"]
        assert place.run_victim(ending, TURNS, before=before) == status
        profile = place.victim_profile()
        assert profile.path == str(output), f"it is {profile.path}"
        expect(profile.problems(), "in the file")
        expect(compare(profile, place.ledger(), turns), "with the ledger")
        expect(agree(profile, export(profile.path)), "with the reader")


for name, run_status in {"exit": 7, "_exit": 7, "abort": 134, "fault": 139, "term": 143, "limit": 137}.items():
    claims.add(
        f"plimsoll run collects the profile of a process that ends by {name}, and ends in the same way",
        functools.partial(check_run, name, run_status),
    )

if __name__ == "__main__":
    sys.exit(claims.main())
