# SPDX-License-Identifier: MIT
"""control - a running process obeys requests from outside, and its figures stay true.

The program (programs/steered.c) allocates what the test tells it to, so the test knows every call. While it "turns" it
allocates a little all the time, as a process that works does, so that it takes requests up.
"""

import json
import math
import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import built
import claims
import plim
from claims import Skip, claim
from patience import PATIENCE_S, await_true
from place import LedgerPlace
from unprofiled import unprofiled

PROGRAM = built.BUILD / "tests" / "control" / "steered"
CREW = 3
CALL_CHARGE = 64
SLEEP_OFF = 64 << 10  # charge between two looks of a thread that is switched off
END_EXIT = 1
LATER = 3  # status: not taken up yet


def control(*words, status=0, command=built.PLIMSOLL, **options):
    done = subprocess.run([command, "control", *map(str, words)], capture_output=True, text=True,
                          env=built.environment(), **options)
    assert done.returncode == status, f"control {words}: status {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Steered:
    """The program, running under the profiler."""

    def __init__(self, place, sample="exact", user=None, program=PROGRAM, runtime=built.RUNTIME, **settings):
        self.place = place
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=place.path, user=user,
            env=built.environment(LD_PRELOAD=runtime, PLIMSOLL_SAMPLE=sample, PLIMSOLL_SEED=1,
                                  PLIMSOLL_LIVE_DIR=place.live, PLIMSOLL_OUT=place.path / "out.%p.plim", **settings))
        self.pid = self.process.pid
        self.answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait()}"
        return int(line)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        return self.answer()

    def steer(self, *words):
        """While it turns, so that it takes the request up. Nothing else is allocated meanwhile."""
        self.tell("turn")
        said = control(self.pid, *words, "--wait", f"{PATIENCE_S}s")
        self.tell("work", "alpha", 0, 0)
        return said

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE_S) == 0

    def export(self):
        done = subprocess.run([built.PLIMSOLL, "export", "--format", "json", str(self.pid)], capture_output=True,
                              env=built.environment(), check=True)
        return json.loads(done.stdout)

    def sites(self, exported=None):
        return sites(exported or self.export())

    def report(self):
        done = subprocess.run([built.PLIMSOLL, "report", str(self.pid)], capture_output=True, text=True,
                              env=built.environment(COLUMNS=200), check=True)
        return done.stdout


def sites(exported):
    """calls by the function that allocates: {"alpha": figure}"""
    found = {}
    for site in exported["sites"]:
        for frame in exported["stacks"][site["stack"]] if site["stack"] is not None else ():
            name = exported["frames"][frame]["function"].rstrip("_")
            if name in ("alpha", "beta", "gamma", "nudge"):
                figure = found.setdefault(name, {"value": 0, "error": 0, "live": 0})
                figure["value"] += site["alloc_objects"]["value"]
                figure["error"] += site["alloc_objects"]["error"]
                figure["live"] += site["inuse_objects"]["value"]
                break
    return found


def calls(found, name):
    return found.get(name, {"value": 0})["value"]


def off_calls(exported):
    """Calls made while switched off, by the process's own counters."""
    return sum(scope["calls"] for scope in exported["scopes"] if exported["tags"][scope["tag"]]["kind"] == "off")


# ---- off and on ----


@claim
def nothing_is_recorded_between_off_and_on_and_every_call_before_and_after_is():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("work", "alpha", 1234, 100)
        program.tell("keep", "alpha", 10, 100)
        said = program.steer("off")
        assert f"process {program.pid} records nothing" in said, said
        program.tell("work", "beta", 5000, 100)
        program.steer("on")
        program.tell("work", "gamma", 777, 100)
        exported = program.export()
        found = program.sites(exported)
        assert (calls(found, "alpha"), calls(found, "beta"), calls(found, "gamma")) == (1244, 0, 777), found
        assert found["alpha"]["live"] == 10 and found["alpha"]["error"] == 0, found
        assert exported["sampling"]["exact"], exported["sampling"]
        assert off_calls(exported) >= 5000, exported["scopes"]
        total = exported["totals"]["alloc_objects"]["value"]
        assert total == exported["sampling"]["exact_calls"] + off_calls(exported), (total, exported["sampling"])


@claim
def all_threads_stop_at_once_when_they_count_exactly_and_begin_again_within_64_kib_each():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("all", "alpha", 1000, 100)
        program.steer("off")
        program.tell("all", "beta", 1000, 100)
        program.steer("on")
        program.tell("all", "gamma", 2000, 100)
        exported = program.export()
        found = program.sites(exported)
        asleep = math.ceil(SLEEP_OFF / (100 + CALL_CHARGE)) + 1
        assert calls(found, "alpha") == CREW * 1000 and calls(found, "beta") == 0, found
        assert CREW * (2000 - asleep) <= calls(found, "gamma") <= CREW * 2000, found
        total = exported["totals"]["alloc_objects"]["value"]
        assert total == exported["sampling"]["exact_calls"] + off_calls(exported), (total, exported["sampling"])


@claim
def frees_of_recorded_blocks_are_recorded_while_off():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("keep", "alpha", 100, 50)
        program.steer("off")
        program.tell("keep", "beta", 100, 50)
        program.steer("on")
        found = program.sites()
        assert found["alpha"]["live"] == 100 and "beta" not in found, found


@claim
def a_forked_child_inherits_what_was_set_from_outside():
    with LedgerPlace() as place, Steered(place) as program:
        program.steer("off")
        child = program.tell("fork", "beta", 3000, 100)
        left = place.path / f"out.{child}.plim"
        assert not left.exists() or calls(sites(built.export(left)), "beta") == 0
        program.steer("on")
        child = program.tell("fork", "gamma", 3000, 100)
        assert calls(sites(built.export(place.path / f"out.{child}.plim")), "gamma") == 3000


# ---- resets ----


@claim
def after_a_reset_only_what_follows_counts():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("keep", "alpha", 500, 100)
        program.tell("all", "alpha", 500, 100)
        assert "begins again" in program.steer("reset")
        program.tell("all", "beta", 300, 100)
        program.tell("keep", "gamma", 200, 100)
        exported = program.export()
        found = program.sites(exported)
        assert (calls(found, "alpha"), calls(found, "beta"), calls(found, "gamma")) == (0, CREW * 300, 200), found
        assert exported["sampling"]["exact"] and exported["extent"]["resets"] == 1
        assert exported["totals"]["inuse_objects"]["value"] == 200, exported["totals"]


# ---- modes ----


def deviation(many, size, interval):
    """The standard deviation of the estimated number of calls, from the weight of a sample (docs/maths.md)."""
    weight = 1 / -math.expm1(-(size + CALL_CHARGE) / interval)
    return math.sqrt(many * (weight - 1))


def assert_near(figure, many, size, interval):
    """Seven standard deviations: one run in 10^11 fails by chance."""
    allowed = 7 * deviation(many, size, interval)
    assert figure["error"] > 0 and abs(figure["value"] - many) < allowed, f"{figure}, should be {many} +- {allowed}"


@claim
def an_interval_is_honoured_and_what_was_exact_stays_exact():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("work", "alpha", 2500, 100)
        assert "samples every 16 KiB" in program.steer("sample", "16K")
        program.tell("work", "beta", 40000, 100)
        first = program.export()
        program.steer("sample", "2K")
        program.tell("work", "gamma", 40000, 100)
        exported = program.export()
        found = program.sites(exported)
        assert found["alpha"]["value"] == 2500, found
        assert_near(found["beta"], 40000, 100, 16 << 10)
        assert_near(found["gamma"], 40000, 100, 2 << 10)
        # How many samples there were shows the interval itself. The nudges are samples too, a few at most.
        for samples, interval in ((first["sampling"]["samples"], 16 << 10),
                                  (exported["sampling"]["samples"] - first["sampling"]["samples"], 2 << 10)):
            expected = 40000 * -math.expm1(-164 / interval)
            assert abs(samples - expected) < 7 * math.sqrt(expected) + 400, (samples, expected)
        assert not exported["sampling"]["exact"]


@claim
def exact_mode_can_begin_in_a_process_that_samples():
    with LedgerPlace() as place, Steered(place, sample="256K") as program:
        program.tell("work", "alpha", 40000, 100)
        # The next sample is some 250 nudges away: the thread must not wait for it.
        assert "counts every allocation" in program.steer("exact")
        program.tell("work", "beta", 3210, 100)
        program.tell("keep", "beta", 7, 100)
        exported = program.export()
        found = program.sites(exported)
        assert_near(found["alpha"], 40000, 100, 256 << 10)
        assert found["beta"]["value"] == 3217 and found["beta"]["live"] == 7, found
        assert exported["sampling"]["mode"] == "exact" and not exported["sampling"]["exact"], exported["sampling"]
        assert exported["totals"]["inuse_objects"]["error"] >= 0


@claim
def a_process_in_auto_mode_that_has_begun_to_sample_returns_to_exact_mode_and_to_auto():
    with LedgerPlace() as place, Steered(place, sample="auto", PLIMSOLL_OVERHEAD="0.01%", PLIMSOLL_CREDIT="1ms") as program:
        await_true(lambda: program.tell("work", "alpha", 20000, 100) or not program.export()["auto"]["exact_now"])
        program.steer("exact")
        program.tell("work", "beta", 4321, 100)
        assert program.sites()["beta"]["value"] == 4321
        assert "at most 50%" in program.steer("overhead", "50%")
        exported = program.export()
        assert exported["sampling"]["mode"] == "auto" and exported["auto"]["overhead"] == 0.5, exported["auto"]
        program.steer("auto")
        program.tell("work", "gamma", 100, 100)
        assert program.sites()["beta"]["value"] == 4321


@claim
def totals_are_unbiased_over_a_hundred_changes():
    """Each change lets the gap that is running end, or draws a new one: neither may favour a sample."""
    words = (("sample", "1K"), ("sample", "8K"), ("exact",), ("sample", "3K"), ("off",), ("on",))
    with LedgerPlace() as place, Steered(place, sample="2K") as program:
        many, variance, interval, on, mine = 0, 0.0, 2 << 10, True, 0
        for turn in range(102):
            word = words[turn % len(words)]
            program.steer(*word)
            if word[0] in ("on", "off"):
                on = word[0] == "on"
            if word[0] in ("sample", "exact"):
                interval = 1 if word[0] == "exact" else int(word[1][:-1]) << 10
            if not on:
                continue
            program.tell("work", "alpha", 400, 100)
            many += 400
            variance += deviation(400, 100, interval) ** 2 if interval > 1 else 0
        found = program.sites()["alpha"]
        assert abs(found["value"] - many) < 5 * math.sqrt(variance), f"{found}, should be {many} +- {variance ** 0.5}"


@claim
def a_profile_is_not_called_exact_if_it_sampled_for_a_while_without_a_single_sample():
    with LedgerPlace() as place, Steered(place) as program:
        program.steer("sample", "1T")
        program.tell("work", "alpha", 1000, 100)
        exported = program.export()
        assert exported["sampling"]["samples"] == 0 and not exported["sampling"]["exact"], exported["sampling"]
        assert exported["totals"]["inuse_objects"]["high"] > 0


# ---- what is said ----


@claim
def the_report_lists_the_requests_with_their_times():
    with LedgerPlace() as place, Steered(place) as program:
        program.steer("off")
        program.steer("on")
        program.steer("sample", "64K")
        program.steer("overhead", "1.5%")
        assert re.search(r"^steered from outside: off at [\d.]+ m?s, on at [\d.]+ m?s, sample 64 KiB at [\d.]+ m?s, "
                         r"overhead 1.5% at [\d.]+ m?s$", program.report(), re.M), program.report()
        for _ in range(9):
            program.steer("off")
            program.steer("on")
        assert "steered from outside: 6 earlier requests, off at" in program.report(), program.report()
        program.end()
        profile = plim.Profile(place.path / f"out.{program.pid}.plim")
        assert profile.end == END_EXIT


@claim
def without_a_word_it_says_how_the_process_is_profiled():
    with LedgerPlace() as place, Steered(place) as program:
        assert control(program.pid) == f"process {program.pid} (steered): exact\n"
        program.steer("sample", "64K")
        assert control(program.pid) == f"process {program.pid} (steered): sampled every 64 KiB\n"
        program.steer("overhead", "3%")
        assert control(program.pid) == f"process {program.pid} (steered): exact, auto within 3%\n"
        program.steer("off")
        assert control(program.pid) == f"process {program.pid} (steered): off; otherwise exact, auto within 3%\n"


@claim
def a_request_to_a_process_that_does_not_allocate_waits_for_its_next_allocation():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("work", "alpha", 100, 100)
        said = control(program.pid, "off", "--wait", "0", status=LATER)
        assert f"requested `off`: process {program.pid} will take it up at its next allocation" in said, said
        assert "a request is waiting" in control(program.pid)
        program.tell("work", "beta", 100, 100)  # the first of these takes it up
        found = program.sites()
        assert calls(found, "alpha") == 100 and calls(found, "beta") <= 1, found
        assert "a request is waiting" not in control(program.pid)
        said = control(program.pid, "on", "--wait", "0", status=LATER)
        assert "after its next 64 KiB of allocations" in said, said


@claim
def a_snapshot_can_be_taken():
    with LedgerPlace() as place, Steered(place) as program:
        program.tell("work", "alpha", 100, 100)
        said = control(program.pid, "snapshot", "warm", cwd=place.path)
        taken = plim.Profile(place.path / f"out.{program.pid}.warm.plim")
        assert taken.flags & plim.FLAG_SNAPSHOT and str(taken.path) in said, said


@claim
def wrong_words_and_values_are_refused_in_one_line():
    with LedgerPlace() as place, Steered(place) as program:
        for words, said in (
                ((), "control needs the PID"),
                (("x",), "control x: not a PID"),
                ((program.pid, "of"), "control of: no such word; did you mean off?"),
                ((program.pid, "zzz"), "control zzz: no such word; use one of off, on, reset, sample, exact, auto, overhead, snapshot"),
                ((program.pid, "off", "now"), "control off takes no more words; got now"),
                ((program.pid, "sample", "64K", "x"), "control sample 64K takes no more words; got x"),
                ((program.pid, "snapshot", "a", "b"), "control snapshot a takes no more words; got b"),
                ((program.pid, "sample"), "control sample needs a value: sample BYTES, for example sample 64K"),
                ((program.pid, "sample", "12Q"), "control sample 12Q: not a size; use bytes with K, M or G, for example sample 64K"),
                ((program.pid, "sample", "0"), "control sample 0: too small; the minimum is 1 B"),
                ((program.pid, "sample", "2048G"), "control sample 2048G: too large; the maximum is 1 TiB"),
                ((program.pid, "overhead", "fast"), "control overhead fast: not a percentage"),
                ((program.pid, "overhead", "0"), "control overhead 0: too small; the minimum is 0.01%")):
            answer = control(*words, status=2)
            assert said in answer and answer.count("\n") == 1, f"{words}: {answer}"
        assert control(program.pid) == f"process {program.pid} (steered): exact\n"


@claim
def processes_that_cannot_be_steered_are_named_with_the_reason():
    with LedgerPlace() as place, unprofiled() as other:
        said = control(other, "off", status=1)
        assert "was started without Plimsoll" in said, said
        with Steered(place) as program:
            pid = program.pid
            program.process.kill()
            program.process.wait()
            said = control(pid, "off", status=1)
            assert f"process {pid} has ended" in said or f"there is no process {pid}" in said, said


@claim
def a_process_that_ends_without_taking_a_request_up_is_reported():
    with LedgerPlace() as place, Steered(place) as program:
        waiting = subprocess.Popen([built.PLIMSOLL, "control", str(program.pid), "off", "--wait", f"{PATIENCE_S}s"],
                                   stderr=subprocess.PIPE, text=True, env=built.environment())
        await_true(lambda: "a request is waiting" in control(program.pid))
        program.process.kill()
        program.process.wait()
        said = waiting.communicate()[1]
        assert waiting.returncode == 1 and f"process {program.pid} ended before it could take up `off`" in said, said


@claim
def a_name_cannot_command_the_terminal():
    with LedgerPlace() as place:
        named = Path(shutil.copy(PROGRAM, place.path / "a\x1b[31mb\n"))
        with Steered(place, program=named) as program:
            assert control(program.pid) == f"process {program.pid} (a\\x1b[31mb\\x0a): exact\n"


@claim
def only_the_owner_can_steer_a_process():
    if os.geteuid() != 0:
        raise Skip("only root can start a process as another user")
    with LedgerPlace() as place:
        for path in (place.path, place.live):
            path.chmod(0o777)
        # The tree may lie where nobody may look: below /root, for example.
        steered, runtime, command = (Path(shutil.copy(path, place.path)) for path in
                                     (PROGRAM, built.RUNTIME, built.PLIMSOLL))
        with Steered(place, user="nobody", program=steered, runtime=runtime) as program:
            said = control(program.pid, "off", status=1)
            assert f"process {program.pid} belongs to the user nobody; only its owner can steer it" in said, said
            assert control(program.pid, command=command,
                           user=pwd.getpwnam("nobody").pw_uid) == f"process {program.pid} (steered): exact\n"
        with Steered(place) as program:
            said = control(program.pid, "off", status=1, command=command, user=pwd.getpwnam("nobody").pw_uid)
            assert f"process {program.pid} belongs to another user" in said, said


if __name__ == "__main__":
    sys.exit(claims.main())
