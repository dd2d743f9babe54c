# SPDX-License-Identifier: MIT
"""counting - many samples in one place, few in another: the figures are right, and never below nothing."""

import sys

from traps import *


def dense():
    """Allocators that place 8-byte blocks 8 bytes apart."""
    found = [(name, path) for name, path in ALLOCATORS.items() if path.exists()]
    if not found:
        raise Skip("no other allocator is installed")
    return found


@claim
def two_blocks_within_16_bytes_are_two_blocks():
    for name, path in dense():
        ran = behaves("neighbours", over=(path,))["everything"]
        assert ran.stdout == b"8 bytes apart\n", (name, ran.stdout)
        figures = Figures(ran.profile(), "neighbours_allocate")
        assert figures.allocated.samples == 5000 and figures.live == 2500, (name, figures.live)


@claim
def five_hundred_live_samples_in_one_granule_of_the_filter_are_all_found_again():
    """The filter's bytes count to 255 and stick there: 8-byte blocks have 512 in 4 KiB."""
    for name, path in dense():
        profile = run("granule", settings=EVERYTHING, preload=(RUNTIME, path)).succeeds().profile()
        figures = Figures(profile, "granule_allocate")
        assert figures.allocated.samples == 3 * 20000 and figures.live == 0, (name, figures.allocated, figures.live)
        assert lost(profile) == {}, lost(profile)


@claim
def freeing_null_is_nothing_even_where_a_sampled_block_shares_its_place_in_the_filter():
    ran = behaves("null", over=(PROGRAMS / "libround_addresses.so",))["everything"]
    profile = ran.profile()
    figures = Figures(profile, "null_allocate")
    assert figures.allocated.samples == 3 and figures.live == 1, (figures.allocated, figures.live)
    assert lost(profile) == {}


@claim
def live_figures_are_never_negative_while_they_are_read():
    process = start(("ledger", 4, 60000), settings=EVERYTHING)
    while process.poll() is None:
        for path in plim.find(process.place.live):
            try:
                profile = plim.Profile(path)
            except (plim.NotAProfile, FileNotFoundError):
                continue
            problems = [p for p in profile.problems() if "beyond the end" not in p]
            assert not problems, problems
    assert process.wait() == 0


@claim
def estimates_stand_for_the_interval_their_gap_was_drawn_with():
    """Two sites, one allocating while the interval is 1 KiB, the other while it is 64 KiB: neither pays for the other."""
    process = start(("phases",), settings={"PLIMSOLL_SAMPLE": "1K", "PLIMSOLL_SEED": "1"})
    assert process.stdout.readline() == b"fine\n"
    (path,) = plim.find(process.place.live)
    with open(path, "r+b") as file:
        file.seek(832)
        file.write((64 << 10).to_bytes(8, "little"))
    process.send_signal(10)
    process.communicate()
    assert process.returncode == 0
    profile = sound(plim.find(process.place.work)[0])
    for function, truth in (("fine_allocate", 20000), ("coarse_allocate", 200000)):
        sums = Figures(profile, function).allocated
        error = sums.objects_variance**0.5
        assert abs(sums.objects - truth) < 5 * error, f"{function}: {sums.objects:.0f} ± {error:.0f}, not {truth}"


if __name__ == "__main__":
    sys.exit(main())
