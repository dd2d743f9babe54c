# SPDX-License-Identifier: MIT
"""counting - many samples at one address range, few at another: figures are right, and never negative."""

import sys

from traps import *


def dense():
    """Allocators that place 8-byte blocks 8 bytes apart."""
    if not ALLOCATORS:
        raise Skip("no other allocator is installed")
    return ALLOCATORS.items()


@claim
def two_blocks_within_16_bytes_are_two_blocks():
    for name, path in dense():
        ran = behaves("neighbours", over=(path,))["everything"]
        assert ran.stdout == b"8 bytes apart\n", (name, ran.stdout)
        figures = Figures(ran.profile(), "neighbours_allocate")
        assert figures.allocated.samples == 5000 and figures.live == 2500, (name, figures.live)


@claim
def five_hundred_live_samples_in_one_granule_of_the_filter_are_all_found_again():
    """A filter byte counts up to 255 and then stays there. 4 KiB hold 512 blocks of 8 bytes."""
    for name, path in dense():
        profile = run("granule", settings=EVERYTHING, preload=(RUNTIME, path)).succeeds().profile()
        figures = Figures(profile, "granule_allocate")
        assert figures.allocated.samples == 3 * 20000 and figures.live == 0, (name, figures.allocated, figures.live)
        assert lost(profile) == {}, lost(profile)


@claim
def freeing_null_is_not_counted_even_if_a_sampled_block_shares_its_filter_byte():
    ran = behaves("null", over=(PROGRAMS / "libround_addresses.so",))["everything"]
    profile = ran.profile()
    figures = Figures(profile, "null_allocate")
    assert figures.allocated.samples == 3 and figures.live == 1, (figures.allocated, figures.live)
    assert lost(profile) == {}


@claim
def live_figures_are_never_negative_while_they_are_read():
    process = start(("ledger", 4, 60000), settings=EVERYTHING)
    readings = 0
    while process.poll() is None:
        try:
            profile = plim.Profile(plim.find(process.place.live)[0])
        except (plim.NotAProfile, FileNotFoundError, IndexError):
            continue  # it does not exist yet, or no longer
        problems = [p for p in profile.problems() if "beyond the end" not in p]
        assert not problems, problems
        readings += 1
    assert process.wait() == 0 and readings > 0


@claim
def samples_are_weighted_by_the_interval_that_their_gap_was_drawn_with():
    """Two sites alternate, at 1 KiB and at 64 KiB. With the current interval each would get the other's weights."""
    for seed in range(5):
        profile = run("phases", settings={"PLIMSOLL_SAMPLE": "1K", "PLIMSOLL_SEED": str(seed)}).succeeds().profile()
        for function in ("fine_allocate", "coarse_allocate"):
            sums = Figures(profile, function).allocated
            error = sums.objects_variance**0.5
            assert sums.samples > 100, sums
            assert abs(sums.objects - 40000) < 5 * error, f"{function}: {sums.objects:.0f} ± {error:.0f}, not 40000"


if __name__ == "__main__":
    sys.exit(main())
