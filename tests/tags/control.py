# SPDX-License-Identifier: MIT
"""control - what the program asks of the profiler is done, to the call and to the byte."""

import functools
import sys

# First, because it adds tests/lib to the path.
from tagged import Place, Profile, accounts, check, compare, merged, run, the_profile
import claims
import plim
from claims import claim

BOTH = ("exact", "sampled")


def claim_in(modes, sentence, *words, **options):
    for mode in modes:
        claims.add(f"{sentence}, {mode}", functools.partial(check, *words, mode=mode, **options))


# ---- on and off ----

claim_in(BOTH, "while stopped, calls and bytes are charged to (off), and frees of recorded blocks are recorded",
         "control", "stop")
claim_in(BOTH, "a program that begins switched off is recorded after its start", "control", "begin", PLIMSOLL_OFF=1)
claim_in(BOTH, "only a thread that has paused is charged to (paused), until it has resumed as often",
         "control", "pause")

# ---- resets ----

claim_in(BOTH, "a reset discards everything before it", "control", "reset")
claim_in(("exact",), "a reset discards everything before it in other threads too, and in idle ones",
         "control", "crew-reset")
claim_in(BOTH, "a reset reaches other threads when they next change their tag, at the latest",
         "control", "crew-reset-later")

# ---- sampling interval and sizes ----


@claim
def the_sampling_interval_can_be_changed_and_restored():
    with Place() as place:
        pid = run(place, "control", "sample")
        account, profile = accounts(place), the_profile(place, pid)
    tables = merged(profile.by_tag(account), lambda key: key[1])
    for name, counted in ((b"counted", True), (b"as it was", True), (b"sampled", False)):
        true, seen = account.cell[0, ((0, name),)], tables[((0, name),)]
        for figure in ("calls of malloc", "calls of calloc", "bytes", "entered"):
            assert seen[figure] == true[figure], f"{name} {figure}: {seen[figure]}, should be {true[figure]}"
        if counted:
            assert seen["counted calls"] == true.sum_of("calls") and not seen["sampled calls"], f"{name}: {seen}"
        else:
            # 4,000 calls with charge 164 at T = 2,048: weight 13, standard deviation 220. Seven of these are allowed.
            assert not seen["counted calls"] and abs(seen["sampled calls"] - 4000) < 7 * 220, f"{name}: {seen}"


claim_in(("exact",), "sizes that are not recorded are counted separately, per tag", "control", "sizes", peak=True)
claim_in(("exact",), "sizes limited by the environment are counted separately, in several threads", "control", "bounds",
         PLIMSOLL_ABOVE=100, PLIMSOLL_BELOW=1000)
claim_in(("sampled",), "limited sizes do not change exact figures", "control", "sizes")


@claim
def other_sizes_have_one_site_per_tag_and_stacks_have_only_the_recorded_sizes():
    _, profile = check("control", "bounds", PLIMSOLL_ABOVE=100, PLIMSOLL_BELOW=1000)
    places = [site[2] for site in profile.sites.values() if site[3] == plim.SITE_OTHER_SIZES]
    assert len(places) == len(set(places)) > 1, places
    for tally in profile.tallies.values():
        if tally.calls and profile.sites[tally.site][3] != plim.SITE_OTHER_SIZES:
            assert 100 <= tally.smallest <= tally.largest <= 1000, f"{tally}: {tally.smallest} to {tally.largest}"


# ---- copies ----


def check_copies(mode):
    with Place() as place:
        directory = place.path / "copies"
        directory.mkdir()
        pid = run(place, "control", "write", directory, mode=mode)
        assert sorted(p.name for p in directory.iterdir()) == ["first.plim", "second.plim"], list(directory.iterdir())
        for name in ("first", "second"):
            copy = Profile(directory / f"{name}.plim")
            assert copy.flags & plim.FLAG_SNAPSHOT
            compare(accounts(place, f".{name}"), copy, mode)
        compare(accounts(place), the_profile(place, pid), mode)


def check_snapshots(mode):
    with Place() as place:
        pid = run(place, "control", "snapshot", "-", mode=mode)
        copies = [p for p in map(Profile, place.files()) if p.flags & plim.FLAG_SNAPSHOT]
        stems = sorted(p.path.split("/")[-1] for p in copies)
        assert f"out.{pid}.warm.plim" in stems, stems
        assert len(copies) >= 3, stems
        copies.sort(key=lambda p: p.calls)
        for name, copy in zip(("warm", "again", "numbered"), copies):
            compare(accounts(place, f".{name}"), copy, mode)
        compare(accounts(place), the_profile(place, pid), mode)


for a_mode in BOTH:
    claims.add(f"a copy that the program writes has the figures of that time, {a_mode}",
               functools.partial(check_copies, a_mode))
    claims.add(f"a snapshot that the program takes has the figures of that time, {a_mode}",
               functools.partial(check_snapshots, a_mode))


def polled(every):
    with Place() as place:
        run(place, "control", "due", "-", PLIMSOLL_SNAPSHOT_EVERY=every)
        copies = [p for p in map(Profile, place.files()) if p.flags & plim.FLAG_SNAPSHOT]
        return int(place.stdout), sorted(copies, key=lambda p: p.calls)


@claim
def snapshots_are_taken_only_when_they_are_due():
    taken, copies = polled("1s")
    assert taken == len(copies) == 2, f"{taken} reported, {len(copies)} found"
    assert copies[0].calls < copies[1].calls
    times = [(copy.snapshot_ns - copy.start_monotonic_ns) / 1e9 for copy in copies]
    assert times[0] >= 1 and times[1] >= 2, f"taken after {times} s"
    assert polled(None) == (0, [])


@claim
def a_program_that_switches_output_off_leaves_no_profile():
    with Place() as place:
        run(place, "control", "output")
        assert not place.files(), place.files()
        pid = run(place, "control", "output-again")
        compare(accounts(place), the_profile(place, pid), "exact")


if __name__ == "__main__":
    sys.exit(claims.main())
