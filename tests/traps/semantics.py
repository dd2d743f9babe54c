# SPDX-License-Identifier: MIT
"""semantics - the program gets the same from its allocator as without us, and each call is counted once."""

import sys

from traps import *

# A sample of 1,000 bytes has a weight of about ten calls at this interval, with a call charge of 64.
SOMETIMES = {"PLIMSOLL_SAMPLE": "10K"}


# The libraries that are used as the real allocator, by name: none for libc's own, and those that are installed.
BEHIND_US = {"libc": (), **{name: (path,) for name, path in ALLOCATORS.items()}}


@claim
def every_function_behaves_the_same_with_every_allocator():
    for name, over in BEHIND_US.items():
        behaves("semantics", *([] if over else ["libc"]), over=over, ways={**WAYS, "sometimes": SOMETIMES})


@claim
def mallinfo_and_malloc_trim_return_the_same_as_without_us():
    behaves("arenas")


@claim
def a_failed_request_is_not_counted():
    profile = sampled("semantics", "libc")
    assert profile.total("allocated").space < 100 << 20, profile.total("allocated")
    assert Figures(profile, "check_overflow").allocated.samples == 3, "expected one block in each of three rounds"
    assert profile.bytes < 100 << 20, profile.bytes


MOVES = {
    "first_allocate": (51, 100),
    "grow_in_place": (50, 104),
    "grow_away": (50, 300000),
    "shrink": (50, 10),
    "fail_to_grow": (0, 0),
    "from_nothing": (50, 77),
    "by_array": (50, 77),
}


@claim
def a_realloc_is_one_call_of_the_new_size_and_a_free_of_the_old_block():
    profile = sampled("moves")
    for function, (times, size) in MOVES.items():
        figures = Figures(profile, function)
        sums = figures.allocated
        assert sums.samples == times and sums.space == times * size, (function, sums)
        assert figures.live == 0 and figures.live_bytes == 0, (function, figures.live)
    assert Figures(profile, "to_nothing").allocated.samples == 0, "realloc to 0 is a free and not an allocation"
    assert profile.calls == profile.total("allocated").samples, (profile.calls, profile.total("allocated"))
    assert profile.bytes == profile.total("allocated").space


@claim
def a_failed_realloc_does_not_change_whether_a_block_is_sampled():
    """Live figures return to zero, whichever blocks were sampled."""
    for seed in range(20):
        profile = run("moves", settings={"PLIMSOLL_SAMPLE": "300", "PLIMSOLL_SEED": str(seed)}).succeeds().profile()
        for function in MOVES:
            figures = Figures(profile, function)
            rounding = 1e-6 * (figures.allocated.space + 1)
            assert figures.live == 0 and abs(figures.live_bytes) < rounding, (seed, function)


@claim
def a_free_is_recorded_before_another_thread_can_have_the_address():
    profile = sampled("hand_over", over=(PROGRAMS / "libreentrant.so",))
    figures = Figures(profile, "hand_over_allocate")
    assert figures.allocated.samples == 4 * 20000 and figures.live == 4, (figures.allocated, figures.live)
    assert lost(profile) == {}, lost(profile)


@claim
def operator_new_over_malloc_is_counted_once():
    for runtime in (RUNTIME, RUNTIME_CXX):
        profile = sampled("operators", "failing", runtime=runtime)
        check_operators(profile, "malloc", "aligned")


def check_operators(profile, plainly, widely):
    expected = {"plain": 200, "without_throwing": 200, "aligned": 400, "sized": 300}
    for function, times in expected.items():
        mangled = f"_ZL{len(function)}{function}"
        figures = Figures(profile, next(n for n in operator_names(profile) if n.startswith(mangled)))
        assert figures.allocated.samples == 2 * times and figures.live == 0, (function, figures.allocated, figures.live)
    totals = {f: sum(t.calls[f] for t in profile.threads.values()) for f in plim.FUNCTIONS}
    assert sum(totals.values()) == profile.total("allocated").samples, (totals, profile.total("allocated"))
    assert totals[plainly] > 2 * 600 and totals[widely] >= 2 * 500, totals
    assert profile.bytes < 100 << 20, profile.bytes
    assert lost(profile) == {}, lost(profile)


def operator_names(profile):
    return {name for site in profile.sites.values() for name in names(profile, site[1]) if name}


@claim
def operator_new_of_another_allocator_is_counted_once():
    if not ALLOCATORS:
        raise Skip("no other allocator is installed")
    for name, over in BEHIND_US.items():
        if over:
            check_operators(sampled("operators", *failing(name), over=over, runtime=RUNTIME_CXX), "new", "new")


def failing(name):
    """mimalloc is written in C and aborts when it would have to throw."""
    return [] if name == "mimalloc" else ["failing"]


@claim
def operator_new_of_a_plugin_in_a_c_program_is_counted_once():
    for name, over in BEHIND_US.items():
        for runtime in (RUNTIME, RUNTIME_CXX) if not over else (RUNTIME_CXX,):
            profile = sampled("reload", 10, PROGRAMS / "libplugin_cxx.so", over=over, runtime=runtime)
            figures = Figures(profile, "plugin_cxx_allocate")
            assert figures.allocated.samples == 100 and figures.live == 0, (name, runtime.name, figures.allocated)


@claim
def a_thread_whose_operator_new_threw_keeps_being_sampled():
    for name, over in BEHIND_US.items():
        settings = {"PLIMSOLL_SAMPLE": "64K"}
        ran = run("operators", *failing(name), settings=settings, preload=(RUNTIME_CXX, *over)).succeeds()
        profile = ran.profile()
        function = next((n for n in operator_names(profile) if n.startswith("_ZL10afterwards")), None)
        expected = 10000 * (1000 + profile.call_charge) / (64 << 10)
        samples = Figures(profile, function).allocated.samples if function else 0
        assert abs(samples - expected) < 6 * expected**0.5, f"{name}: {samples} samples, {expected:.0f} expected"
        assert profile.bytes < 100 << 20, (name, profile.bytes)


@claim
def another_allocator_stays_in_charge():
    """The distance between two addresses shows which allocator they come from."""
    for name, over in BEHIND_US.items():
        behaves("neighbours", over=over)


if __name__ == "__main__":
    sys.exit(main())
