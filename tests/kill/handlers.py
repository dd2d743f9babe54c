# SPDX-License-Identifier: MIT
"""handlers - signal handlers interrupt the runtime at any point: figures stay exact.

The programs run with bump.so, an allocator that is safe in signal handlers and returns addresses that we choose.
"""

import subprocess
import sys

# First, because it adds tests/lib to the path.
from victims import PATIENCE_S, PROGRAMS, RUNTIME, Place, environment, expect, runnable
import claims
import plim
from claims import claim, say

CALLS = 60000
BYTES = 100  # of an allocation of main
PERIOD_US = 100


def run_over_bump(place, *words):
    settings = place.settings("1")
    settings["LD_PRELOAD"] = f"{RUNTIME} {PROGRAMS / 'bump.so'}"
    command, variables = runnable(words, environment(**settings))
    options = {"env": variables, "cwd": place.path, "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=PATIENCE_S, **options)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr}"
    profile = plim.Profile(place.path / "out.plim")
    expect(profile.problems(), "in the file")
    return profile, done.stdout


@claim
def totals_stay_exact_and_the_file_grows_when_handlers_allocate_inside_the_profiler():
    with Place() as place:
        profile, printed = run_over_bump(place, PROGRAMS / "interrupted", CALLS, PERIOD_US)
        calls, requested = (int(word) for word in printed.split())
        say(f"{calls} calls, losses {profile.losses}")
        assert profile.losses["nested"] > 0, "no handler interrupted the profiler, so nothing was tested"
        assert (profile.calls, profile.bytes) == (calls, requested), f"booked {profile.calls}, {profile.bytes}"
        assert profile.losses["file_full"] == 0, "a signal stopped the growth of the file"


@claim
def a_nested_visit_loses_its_own_sample_and_no_other():
    with Place() as place:
        profile, _ = run_over_bump(place, PROGRAMS / "interrupted", CALLS, PERIOD_US)
        assert profile.losses["nested"] > 0
        mains = [row.allocated for row in profile.rows.values() if row.allocated.space == BYTES * row.allocated.samples]
        assert sum(sums.samples for sums in mains) == CALLS, f"{sum(sums.samples for sums in mains)} of {CALLS} sampled"


@claim
def free_of_NULL_removes_no_record():
    with Place() as place:
        calls = 400000
        profile, _ = run_over_bump(place, PROGRAMS / "nulls", calls)
        busy = [n for n, thread in profile.threads.items() if thread.all_calls >= calls]
        assert len(busy) == 2
        rows = [row for row in profile.rows.values() if row.thread in busy]
        assert sum(row.allocated.samples for row in rows) == 2 * calls
        unequal = [row.number for row in rows if row.gone.values() != row.allocated.values()]
        assert not unequal, f"all was freed, but not in rows {unequal}"


if __name__ == "__main__":
    sys.exit(claims.main())
