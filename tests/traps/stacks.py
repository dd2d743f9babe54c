# SPDX-License-Identifier: MIT
"""stacks - stacks that are small, deep, foreign, interrupted or abandoned: we walk them and change nothing."""

import os
import sys

from traps import *

REENTRANT = PROGRAMS / "libreentrant.so"
THROWS = int(os.environ.get("TRAPS_THROWS", 2000))


@claim
def a_handler_on_a_stack_of_8_kib_may_allocate():
    for where in ("mapped", "local"):
        behaves("sigstack", where, over=(REENTRANT,))
    profile = sampled("sigstack", "mapped", over=(REENTRANT,))
    figures = Figures(profile, "sigstack_allocate")
    assert figures.allocated.samples >= 3000 and figures.live == 0, figures.allocated
    assert "main" in handler_stack(profile, "sigstack_allocate"), "the walk stopped at the handler"


def handler_stack(profile, function):
    """The names on the deepest stack that has this function."""
    stacks = [names(profile, site[1]) for site in profile.sites.values()]
    return max((stack for stack in stacks if function in stack), key=len, default=[])


@claim
def a_stack_that_is_aligned_to_8_bytes_only_is_walked_like_any_other():
    if built.MACHINE != "x86_64":
        raise Skip("this processor does not allow it")
    if bare("misaligned", 5000).status:
        raise Skip("this C library's own malloc needs an aligned stack")
    for settings in (EVERYTHING, {"PLIMSOLL_SAMPLE": "exact"}, {"PLIMSOLL_SAMPLE": "16K"}, {}):
        profile = run("misaligned", 5000, settings=settings).succeeds().profile()
        assert sum(t.all_calls for t in profile.threads.values()) >= 15000
        assert "main" in handler_stack(profile, "misaligned_allocate"), settings


@claim
def a_signal_stack_inside_the_interrupted_stack_does_not_look_like_an_abandoned_visit():
    profile = run("sigstack", "local", settings=EVERYTHING, preload=(RUNTIME, REENTRANT)).succeeds().profile()
    assert profile.losses["stale_busy"] == 0, lost(profile)


def storm(threads, milliseconds, settings):
    ran = run("storm", threads, milliseconds, settings=settings, preload=(RUNTIME, REENTRANT)).succeeds()
    calls, size, handled = (int(word) for word in ran.stdout.split())
    return ran.profile(), calls, size, handled


@claim
def signals_inside_our_cold_path_crash_nothing_and_lose_only_counted_samples():
    profile, calls, _, handled = storm(2, 1500, EVERYTHING)
    assert handled > 100, handled
    samples = profile.total("allocated").samples
    lost_samples = profile.losses["nested"]
    assert lost_samples > 0, "no signal arrived inside a visit, so nothing was tested"
    assert samples <= calls + 100 and profile.total("allocated").samples >= profile.total("gone").samples
    assert profile.losses["stale_busy"] == 0, lost(profile)
    figures = [Figures(profile, name) for name in ("storm_allocate", "storm_move")]
    assert sum(f.live for f in figures) == 0, [f.live for f in figures]


@claim
def calls_and_bytes_stay_exact_when_handlers_allocate_inside_our_cold_path():
    for settings in (EVERYTHING, {"PLIMSOLL_SAMPLE": "1K"}):
        profile, calls, size, _ = storm(2, 700, settings)
        workers = [t for t in profile.threads.values() if t.calls["realloc"]]
        assert sum(t.all_calls for t in workers) == calls, (sum(t.all_calls for t in workers), calls)
        assert sum(t.bytes for t in workers) == size, sum(t.bytes for t in workers) - size


@claim
def a_thread_thrown_out_of_our_cold_path_by_longjmp_keeps_being_sampled():
    for times in (1, 300, THROWS):
        ran = run("thrown", RUNTIME, times, settings=EVERYTHING, preload=(RUNTIME, REENTRANT)).succeeds()
        profile = plim.Profile(ran.files()[0])
        samples = Figures(profile, "afterwards_allocate").allocated.samples
        assert samples == 20000, f"{samples} of 20000 sampled after {times} jumps: {lost(profile)}"
        assert Figures(profile, "afterwards_allocate").live == 0


@claim
def being_thrown_out_loses_only_the_events_in_progress():
    """Rows stay readable: a row that was being written at that time is consistent again after its next write."""
    ran = run("thrown", RUNTIME, THROWS, settings=EVERYTHING, preload=(RUNTIME, REENTRANT)).succeeds()
    profile = plim.Profile(ran.files()[0])
    problems = [problem for problem in profile.problems() if "rows at once" not in problem]
    assert problems == [], problems
    torn = [row for row in profile.rows.values() if row.torn]
    assert len(torn) <= 60, f"{len(torn)} rows stay inconsistent"
    assert profile.losses["file_full"] == 0 and profile.losses["sandbox"] == 0, lost(profile)


@claim
def a_hundred_thousand_frames_are_walked_and_both_ends_kept():
    profile = sampled("deep")
    figures = Figures(profile, "deep_allocate")
    assert figures.allocated.samples == 42 and figures.live == 0, figures.allocated
    stack = handler_stack(profile, "deep_allocate")
    assert stack[0] == "deep_allocate" and {"main", "work"} & set(stack) and len(stack) < 300, (len(stack), stack[-6:])
    assert profile.stops[1] >= 40, profile.stops


@claim
def coroutines_are_walked_on_their_own_stacks():
    profile = sampled("contexts")
    figures = Figures(profile, "contexts_allocate")
    assert figures.allocated.samples == 2 * 20 * 100 and figures.live == 0, figures.allocated
    assert "coroutine" in handler_stack(profile, "contexts_allocate")


@claim
def the_floating_point_environment_does_not_change():
    behaves("floats", ways={**WAYS, "sometimes": {"PLIMSOLL_SAMPLE": "1K"}})


ASTRAY = 7  # enum pl_stop


@claim
def wrong_unwind_tables_do_not_make_a_stack_of_each_allocation():
    for settings in (EVERYTHING, {"PLIMSOLL_SAMPLE": "exact"}):
        profile = run("astray", "wrong", 5000, settings=settings).succeeds().profile()
        stacks = [profile.sites[share.site][1] for share in profile.shares()]
        misled = [names(profile, stack) for stack in stacks if "misled" in names(profile, stack)]
        assert misled == [["astray_allocate", "misled"]], misled[:5]
        assert profile.stops[ASTRAY] == 5000, profile.stops


@claim
def a_return_address_in_generated_code_is_not_taken_for_nonsense():
    profile = sampled("astray", "generated", 100)
    [stack] = {row.site for row in Figures(profile, "astray_allocate").rows}
    frames = names(profile, profile.sites[stack][1])
    assert frames[:3] == ["astray_allocate", None, "main"], frames
    assert profile.stops[ASTRAY] == 0, profile.stops


if __name__ == "__main__":
    sys.exit(main())
