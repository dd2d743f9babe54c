# SPDX-License-Identifier: MIT
"""lasting - `run --memory`: a profile keeps what RSS consisted of, while the program ran and when it exited."""

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
