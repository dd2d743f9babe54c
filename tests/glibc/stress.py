# SPDX-License-Identifier: MIT
"""stress - threads exchange blocks with known contents, with many settings of the allocator.

Each run checks itself (programs/stress.c). Its profile must be consistent, and no more may be freed than was allocated.
$GLIBC_STRESS multiplies the length of the runs.
"""

import functools
import os
import sys

from front import *

TIMES = int(os.environ.get("GLIBC_STRESS", 1))
TUNABLES = "GLIBC_TUNABLES"

# Settings of the allocator.
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
        assert 0 <= allocated.samples - gone.samples < 100, f"{allocated}, {gone}, although all blocks were freed"
        if sample == "every allocation":
            assert allocated.samples == profile.calls and allocated.space == profile.bytes, (allocated, profile.calls)


for a_shape in SHAPES:
    for a_sample in SAMPLES:
        claims.add(f"blocks keep their contents {a_shape}, {a_sample} sampled",
                   functools.partial(check, a_shape, a_sample, 3, 3, 15000))
for a_sample in SAMPLES:
    claims.add(f"children find the inherited blocks intact, {a_sample} sampled",
               functools.partial(check, "as it comes", a_sample, 4, 2, 20000, "fork"))


@claim
def marking_a_block_while_its_neighbour_is_freed_loses_neither():
    """Both change one word. Without the lock the allocator aborted three in four of these runs."""
    for _ in range(3):
        check("with one arena", "every allocation", 4, 2, 60000)


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
