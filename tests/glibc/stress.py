# SPDX-License-Identifier: MIT
"""stress - threads tear at blocks whose contents are known, with the allocator in every shape that it can be given.

Each run checks itself (programs/stress.c). The profile of each must be sound, and of what was allocated, by its own
figures, no more may have been freed. $GLIBC_STRESS multiplies the length of the runs.
"""

import functools
import os
import sys

from front import *

TIMES = int(os.environ.get("GLIBC_STRESS", 1))
TUNABLES = "GLIBC_TUNABLES"

# What the allocator is told.
SHAPES = {
    "as it comes": {},
    "without the threads' caches": {TUNABLES: "glibc.malloc.tcache_count=0"},
    "with one arena": {"MALLOC_ARENA_MAX": "1"},
    "with one arena and no caches": {"MALLOC_ARENA_MAX": "1", TUNABLES: "glibc.malloc.tcache_count=0"},
    "with perturbed blocks": {"MALLOC_PERTURB_": "165"},
    "with no fast bins and a top that is trimmed": {
        TUNABLES: "glibc.malloc.mxfast=0:glibc.malloc.tcache_count=3:glibc.malloc.trim_threshold=4096"
    },
    "where nearly everything is mapped": {"MALLOC_MMAP_THRESHOLD_": "2048"},
}
STRAY_CALLS = 50  # for threads and stdout
SAMPLES = {"every allocation": "1", "some allocations": "4096"}


def check(shape, sample, threads, rounds, steps, *words):
    with Place() as place:
        settings = {**ON, **SHAPES[shape], "GLIBC_MALLOC_PROFILE_BYTES": SAMPLES[sample], "PLIMSOLL_SEED": "1"}
        done = run([program("stress"), threads, rounds, steps * TIMES, *words], place, settings)
        say(done.stdout.decode())
        profile = min(place.profiles(), key=lambda profile: profile.start_monotonic_ns)
        made = int(done.stdout.split()[0])
        assert 0 <= profile.calls - made < STRAY_CALLS, f"{profile.calls} calls, {made} made"
        assert lost(profile) == {}, lost(profile)
        allocated, gone = profile.total("allocated"), profile.total("gone")
        assert 0 <= allocated.samples - gone.samples < 100, f"{allocated}, {gone}: all blocks were freed"
        if sample == "every allocation":
            assert allocated.samples == profile.calls and allocated.space == profile.bytes, (allocated, profile.calls)


for a_shape in SHAPES:
    for a_sample in SAMPLES:
        claims.add(f"blocks keep what is in them {a_shape}, {a_sample} sampled",
                   functools.partial(check, a_shape, a_sample, 3, 3, 15000))
for a_sample in SAMPLES:
    claims.add(f"children that go on with the blocks find them whole, {a_sample} sampled",
               functools.partial(check, "as it comes", a_sample, 4, 2, 20000, "fork"))


@claim
def marking_a_block_and_freeing_its_neighbour_at_once_loses_neither():
    """Both are in one word. Where the lock was left out, three in four of these runs were aborted by the allocator."""
    for _ in range(3):
        check("with one arena", "every allocation", 4, 2, 60000)


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
