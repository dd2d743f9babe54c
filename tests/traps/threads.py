# SPDX-License-Identifier: MIT
"""threads - many threads, short ones, ending ones, renamed ones: each is counted, and their cost is limited."""

import os
import subprocess
import sys

from traps import *

SHORT_THREADS = int(os.environ.get("TRAPS_THREADS", 4000))


def estimate(sums):
    """(calls, their standard error)"""
    return sums.objects, sums.objects_variance**0.5


def ledgers(stdout):
    """The accounts that the threads of ledger.c print: name -> (calls by function, bytes)."""
    lines = [line.split() for line in stdout.decode().splitlines()]
    return {words[0]: ([int(w) for w in words[1:5]], int(words[5])) for words in lines}


def compare_ledgers(ran):
    profile = ran.profile()
    records = {t.name: t for t in profile.threads.values()}
    said = ledgers(ran.stdout)
    assert said, "the program printed no ledger"
    for name, (calls, size) in said.items():
        seen = [records[name].calls[f] for f in ("malloc", "calloc", "realloc", "aligned")]
        assert seen == calls, f"{name}: {seen} calls, not {calls}"
        assert records[name].bytes == size, f"{name}: {records[name].bytes} bytes, not {size}"
    return profile


@claim
def calls_and_bytes_are_exact_with_two_and_more_threads_at_every_rate():
    for threads in (1, 2, 8):
        for settings in (EVERYTHING, {"PLIMSOLL_SAMPLE": "10K"}, RARELY, {"PLIMSOLL_OFF": "1"}):
            compare_ledgers(run("ledger", threads, 20000 // threads, settings=settings).succeeds())


@claim
def a_sampled_block_freed_by_any_thread_is_no_longer_live():
    profile = compare_ledgers(run("ledger", 8, 5000, settings=EVERYTHING).succeeds())
    figures = Figures(profile, "ledger_allocate")
    assert figures.live == 0 and figures.live_bytes == 0, figures.live
    assert figures.remote.samples > 0 and lost(profile) == {}, lost(profile)


def spent_on_threads(number, settings):
    return run("churn", number, settings=settings).succeeds().profile().spent_ns


@claim
def the_reported_cost_includes_the_beginning_and_end_of_threads():
    """It takes a thread several microseconds to register, but visits of short threads were hardly ever timed."""
    for settings in (RARELY, {"PLIMSOLL_SAMPLE": "exact"}):
        few, many = (spent_on_threads(number, settings) for number in (10, 2010))
        assert many - few > 2000 * 1000, f"{few} ns for 10 threads, {many} ns for 2,010"


@claim
def the_first_allocation_of_a_thread_is_not_always_a_sample():
    """With 10 allocations per thread, one additional sample per thread would multiply the estimate by hundreds."""
    profile = run("churn", SHORT_THREADS, settings={"PLIMSOLL_SAMPLE": "16K"}).succeeds().profile()
    figures = Figures(profile, "churn_allocate")
    calls, error = estimate(figures.allocated)
    truth = SHORT_THREADS * 10
    assert abs(calls - truth) < 6 * max(error, 1), f"{calls:.0f} ± {error:.0f} calls estimated, {truth} made"


@claim
def thread_churn_has_a_limited_cost_in_memory_and_file():
    for arguments in ([], ["names"]):
        few = run("churn", 400, *arguments, settings=EVERYTHING).succeeds()
        many = run("churn", SHORT_THREADS, *arguments, settings=EVERYTHING).succeeds()
        profile = many.profile()
        assert len(profile.threads) <= 4096 and lost(profile) == {}, lost(profile)
        assert sum(t.threads for t in profile.threads.values()) == SHORT_THREADS + 1
        assert Figures(profile, "churn_allocate").allocated.samples == SHORT_THREADS * 10
        if not arguments:
            assert len(profile.threads) <= 600, len(profile.threads)
            assert os.path.getsize(profile.path) <= 2 * os.path.getsize(few.profile().path)
            assert int(many.stdout) - int(few.stdout) < 4096


@claim
def threads_for_which_there_is_no_room_are_lost_and_leave_other_figures_alone():
    for limit in range(256, 400, 16):
        settings = {"PLIMSOLL_SAMPLE": "1", "PLIMSOLL_MAX_FILE": f"{limit}K"}
        profile = run("crowd", settings=settings).succeeds().profile()
        assert profile.losses["file_full"] > 0, lost(profile)
        sums = profile.total("allocated")
        assert sums.samples >= profile.total("gone").samples
        recorded = sum(t.all_calls for t in profile.threads.values())
        assert sums.samples <= recorded, (sums.samples, recorded)


@claim
def threads_may_allocate_and_free_after_their_keys_are_destroyed():
    ran = behaves("goodbye")["everything"]
    profile = ran.profile()
    figures = Figures(profile, "goodbye_allocate")
    made = 20 * (1 + 2 + 1) + 20 * (4 + 1)
    assert figures.allocated.samples + profile.losses["dead_thread"] == made, (figures.allocated, lost(profile))
    assert figures.live == 0 and sum(t.threads for t in profile.threads.values()) == 21


@claim
def threads_are_known_by_their_last_names():
    profile = sampled("names")
    known = sorted(t.name for t in profile.threads.values())
    assert known == ["by-itself", "by-parent", "by-prctl-with-a", "names", "still-there"], known


@claim
def the_runtime_can_be_loaded_by_dlopen():
    behaves("opened", RUNTIME, RUNTIME_CXX, RUNTIME, runtime=RUNTIME)
    at = place()
    ran = bare("opened", RUNTIME, at=at, settings=EVERYTHING).succeeds()
    assert ran.stderr == b""
    ran.profiles()


@claim
def thread_local_storage_is_small_enough_for_the_surplus_of_dlopen():
    """glibc reserves 1,664 bytes beyond those of the program. Libraries that are loaded later need some, too."""
    headers = subprocess.run(["readelf", "-lW", RUNTIME], capture_output=True, text=True, check=True).stdout
    size = next(int(line.split()[5], 16) for line in headers.splitlines() if line.split()[:1] == ["TLS"])
    assert size < 128, size


if __name__ == "__main__":
    sys.exit(main())
