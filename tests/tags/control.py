# SPDX-License-Identifier: MIT
"""control - what the program says about recording is done, to the call and to the byte."""

import functools
import sys

# First, because it knows the way to tests/lib.
from tagged import Place, Profile, accounts, check, compare, merged, run, the_profile
import claims
import plim
from claims import claim

BOTH = ("exact", "sampled")


def claim_in(modes, sentence, *words, **options):
    for mode in modes:
        claims.add(f"{sentence}, {mode}", functools.partial(check, *words, mode=mode, **options))


# ---- on and off ----

claim_in(BOTH, "while stopped, calls and bytes are those of (off), and frees of what is known are recorded",
         "control", "stop")
claim_in(BOTH, "a program that begins switched off is recorded from when it starts", "control", "begin", PLIMSOLL_OFF=1)
claim_in(BOTH, "a thread that has paused is charged to (paused), alone, until it has resumed as often",
         "control", "pause")

# ---- beginning anew ----

claim_in(BOTH, "after a reset everything before is gone", "control", "reset")
claim_in(("exact",), "after a reset everything before is gone in the other threads too, and in those that rest",
         "control", "crew-reset")
claim_in(BOTH, "after a reset other threads begin anew when they next change their tag, at the latest",
         "control", "crew-reset-later")

# ---- how much ----


@claim
def the_interval_of_sampling_can_be_changed_and_put_back():
    with Place() as place:
        pid = run(place, "control", "sample")
        account, profile = accounts(place), the_profile(place, pid)
    tables = merged(profile.by_tag(account), lambda key: key[1])
    for name, counted in ((b"counted", True), (b"as it was", True), (b"sampled", False)):
        true, seen = account.cell[0, ((0, name),)], tables[((0, name),)]
        for figure in ("calls of malloc", "calls of calloc", "bytes", "entered"):
            assert seen[figure] == true[figure], f"{name} {figure}: {seen[figure]}, in truth {true[figure]}"
        if counted:
            assert seen["counted calls"] == true.sum_of("calls") and not seen["sampled calls"], f"{name}: {seen}"
        else:
            # 4,000 calls with charge 164 at T = 2,048: w = 13, sd 220; seven of them.
            assert not seen["counted calls"] and abs(seen["sampled calls"] - 4000) < 7 * 220, f"{name}: {seen}"


claim_in(("exact",), "other sizes than those that are wanted are counted apart, per tag", "control", "sizes", peak=True)
claim_in(("exact",), "the same by the environment, in several threads", "control", "bounds",
         PLIMSOLL_ABOVE=100, PLIMSOLL_BELOW=1000)
claim_in(("sampled",), "other sizes do not change what is exact", "control", "sizes")


@claim
def other_sizes_have_one_place_per_tag_and_stacks_are_of_the_sizes_that_are_wanted():
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
    claims.add(f"a copy that the program writes says what was true then, {a_mode}",
               functools.partial(check_copies, a_mode))
    claims.add(f"a snapshot that the program takes says what was true then, {a_mode}",
               functools.partial(check_snapshots, a_mode))


def polled(every):
    with Place() as place:
        run(place, "control", "due", "-", PLIMSOLL_SNAPSHOT_EVERY=every)
        copies = [p for p in map(Profile, place.files()) if p.flags & plim.FLAG_SNAPSHOT]
        return int(place.stdout), sorted(copies, key=lambda p: p.calls)


@claim
def snapshots_that_are_due_are_taken_and_no_others():
    taken, copies = polled("1s")
    assert taken == len(copies) == 2, f"{taken} said to be taken, {len(copies)} found"
    assert copies[0].calls < copies[1].calls
    times = [(copy.snapshot_ns - copy.start_monotonic_ns) / 1e9 for copy in copies]
    assert times[0] >= 1 and times[1] >= 2, f"taken after {times} s"
    assert polled(None) == (0, [])


@claim
def a_program_that_wants_no_output_leaves_none():
    with Place() as place:
        run(place, "control", "output")
        assert not place.files(), place.files()
        pid = run(place, "control", "output-again")
        compare(accounts(place), the_profile(place, pid), "exact")


if __name__ == "__main__":
    sys.exit(claims.main())
