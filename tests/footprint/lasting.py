# SPDX-License-Identifier: MIT
"""lasting - `run --memory`: a profile keeps what RSS consisted of, while the program ran and when it exited."""

import functools
import json
import os
import signal
import sys
from pathlib import Path

from holding import MIB, Held, holds, plimsoll, table

import claims
from claims import claim
from patience import await_true

RECORD = 1264  # bytes: struct pl_footprint_record
FREED = 10_000 * 1008 + 38_000 * 208 + 8000 * 2048  # of holds.c
TOUCHED = 8 * MIB + 10_000 * 1000 + 2000 * 200


def readings(profile):
    done = plimsoll("export", "--format", "json", "-o", "-", profile)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["memory"]


def resident(reading):
    return {part["part"]: part["resident_bytes"] for part in reading["parts"]}


@claim
def at_exit_every_block_is_still_there_and_every_line_is_what_the_program_knows():
    with holds(["--exact", "--memory", "1h"], threads=20) as held:
        held.end()
        (reading,) = readings(held.profile)
        parts = resident(reading)
        assert reading["exact"] and not reading["unread"], reading
        assert abs(parts["live"] - TOUCHED) < MIB, parts
        assert abs(parts["free"] - FREED) < 200 << 10, parts
        assert abs(parts["shared"] - 5 * MIB) < 64 << 10, parts
        assert abs(parts["copies"] - MIB) < 64 << 10, parts
        assert reading["facts"]["threads"] == 21, reading["facts"]
        assert parts["unexplained"] < 0.05 * sum(parts.values()), parts
        done = plimsoll("report", "--memory", "--all-digits", held.profile)
        rows = table(done.stdout)
        assert abs(rows["RSS"][0] - sum(parts.values())) < 20, done.stdout
        assert rows["live blocks, as requested"][0] == parts["live"], done.stdout
        assert "[trim]" in done.stdout and "[holes]" in done.stdout, done.stdout
        assert "[trim]" in plimsoll("report", "--advice", held.profile).stdout


@claim
def readings_are_taken_at_intervals_and_survive_a_kill():
    with holds(["--exact", "--memory", "10ms", "--live-dir", "."]) as held:
        files = Path(held.place.name)
        await_true(lambda: [file for file in files.glob("plimsoll-run.*/.look-*.rss") if file.stat().st_size >= 3 * RECORD])
        os.kill(held.pid, signal.SIGKILL)
        held.end()
        kept = readings(held.profile)
        assert len(kept) >= 3, len(kept)
        times = [reading["time_s"] for reading in kept]
        assert times == sorted(times) and times[0] > 0, times
        done = plimsoll("report", "--memory", held.profile)
        assert "Over time" in done.stdout and "unexplained" in done.stdout, done.stdout
        assert f"the largest RSS, of {len(kept)}" in done.stdout, done.stdout


@claim
def estimates_say_that_they_are_some():
    with holds(["--sample", "64K", "--memory", "1h"]) as held:
        held.end()
        (reading,) = readings(held.profile)
        assert not reading["exact"] and reading["facts"]["live_error"] > 0, reading
        assert "estimated, ± " in plimsoll("report", "--memory", held.profile).stdout


def residency(profile):
    done = plimsoll("export", "--format", "json", "-o", "-", profile)
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    for reading in whole["residency"]:
        for site in reading["sites"]:
            stack = [] if site["stack"] is None else whole["stacks"][site["stack"]]
            site["function"] = next((whole["frames"][frame]["function"] for frame in stack), None)
    return whole["residency"]


def check_residency(options):
    with holds([*options, "--resident", "1h"]) as held:
        held.end()
        (reading,) = residency(held.profile)
        assert reading["exact"] == ("--exact" in options), reading
        sites = {site["function"]: site for site in reading["sites"]}
        for name, live, touched in (("untouched", 64 * MIB, 0), ("half_touched", 16 * MIB, 8 * MIB)):
            for key, known in (("live", live), ("resident", touched), ("untouched", live - touched)):
                # Twice the half width of the interval: a false alarm in 10,000.
                error = 2 * sites[name][f"{key}_error"] + (8 << 10)
                assert abs(sites[name][f"{key}_bytes"] - known) < error, (name, key, sites[name])
        kept = 80 * MIB + 10_000 * 1000 + 2000 * 200
        assert abs(reading["live_bytes"] - kept) < 2 * reading["live_error"] + (64 << 10), reading
        assert abs(reading["resident_bytes"] - TOUCHED) < 2 * reading["resident_error"] + MIB, reading
        text = plimsoll("report", "--resident", held.profile).stdout
        assert "Not resident" in text and "untouched  footprint/holds.c" in text, text
        assert ("±" in text) == (not reading["exact"]), text


for option in (["--exact"], ["--sample", "64K"]):
    claims.add(f"with {option[0]}: run --resident keeps by site what was resident at exit",
               functools.partial(check_residency, option))


@claim
def residency_is_read_at_intervals_beside_the_parts_of_RSS():
    with holds(["--exact", "--memory", "10ms", "--resident", "10ms", "--live-dir", "."]) as held:
        files = Path(held.place.name)
        await_true(lambda: [file for file in files.glob("plimsoll-run.*/.look-*.resident") if file.stat().st_size >= 3 * 4096])
        os.kill(held.pid, signal.SIGKILL)
        held.end()
        kept = residency(held.profile)
        assert len(kept) >= 3 and readings(held.profile), len(kept)
        times = [reading["time_s"] for reading in kept]
        assert times == sorted(times) and times[0] > 0, times
        text = plimsoll("report", "--resident", held.profile).stdout
        assert "Over time" in text and f"most live memory, of {len(kept)}" in text, text


@claim
def the_table_over_time_fits_the_terminal_and_leaves_out_errors_only_where_it_must():
    with holds(["--sample", "64K", "--resident", "10ms", "--live-dir", "."]) as held:
        files = Path(held.place.name)
        await_true(lambda: [file for file in files.glob("plimsoll-run.*/.look-*.resident") if file.stat().st_size >= 3 * 4096])
        held.end()
        for columns, errors in ((80, True), (60, False)):
            text = plimsoll("report", "--resident", held.profile, COLUMNS=str(columns)).stdout
            lines = text.split("\nOver time")[1].splitlines()
            assert max(map(len, lines)) <= columns, text
            assert ("±" in "".join(lines[1:4])) == errors, text
            assert ("a wider terminal shows ±" in text) != errors, text


@claim
def a_profile_without_residency_says_how_to_get_it():
    with Held(["--exact"], [sys.executable, "-c", "print('ready', flush=True); input()"]) as held:
        held.process.stdin.write(b"\n")
        held.end()
        done = plimsoll("report", "--resident", held.profile)
        assert done.returncode == 1 and not done.stdout and "run --resident 10s" in done.stderr, done
        assert residency(held.profile) == []


@claim
def a_profile_without_readings_says_how_to_get_some():
    with Held(["--exact"], [sys.executable, "-c", "print('ready', flush=True); input()"]) as held:
        held.process.stdin.write(b"\n")
        held.end()
        done = plimsoll("report", "--memory", held.profile)
        assert done.returncode == 1 and not done.stdout and "run --memory 10s" in done.stderr, done
        assert readings(held.profile) == []


if __name__ == "__main__":
    sys.exit(claims.main())
