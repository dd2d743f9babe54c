# SPDX-License-Identifier: MIT
"""series - snapshots at an interval: by `run --snapshot-every` of every process, by `snapshot --every` of one."""

import os
import re
import signal
import subprocess
import sys
import time

# First, because it adds tests/lib to the path.
from subjects import PATIENCE_S, PLIMSOLL, STEPS, Place, ask, await_true, environment, kept_by
import claims
from claims import claim, say
from patience import await_readable


def numbers(place, stem):
    found = (re.fullmatch(rf"{re.escape(stem)}\.(\d{{4}})\.plim", name) for name in place.profiles())
    return [int(match[1]) for match in found if match]


def times(place, stem):
    """The time of each snapshot, in seconds since the start of its process."""
    return [place.read(place.path / f"{stem}.{n:04}.plim")["extent"]["snapshot_s"] for n in numbers(place, stem)]


# ---- run ----


def run_until(place, enough, *words, program=(STEPS,), status=3):
    """`plimsoll run` of a program that ends with its input, which ends when enough() is true. Returns the messages."""
    process = place.start(PLIMSOLL, "run", *words, "--", *program, stderr=subprocess.PIPE)
    await_true(enough, lambda: f"more than {place.profiles()}")
    process.stdin.close()
    said = process.stderr.read()
    assert process.wait() == status, f"status {process.returncode}: {said}"
    return said


@claim
def run_takes_a_snapshot_per_interval_of_a_program_that_sleeps():
    with Place() as place:
        words = ("--snapshot-every", "200ms", "-o", "app.plim")
        said = run_until(place, lambda: len(numbers(place, "app")) >= 3, *words)
        taken = numbers(place, "app")
        assert taken == sorted(taken), taken
        assert f"took {len(taken)} snapshots: app.{taken[0]:04}.plim to app.{taken[-1]:04}.plim" in said, said
        assert "wrote app.plim" in said
        for number, seconds in zip(taken, times(place, "app")):
            assert seconds >= 0.2 * number, f"app.{number:04}.plim at {seconds} s"


@claim
def each_snapshot_has_the_figures_of_its_own_time():
    with Place() as place:
        process = place.start(PLIMSOLL, "run", "-q", "--snapshot-every", "150ms", "-o", "app.plim", "--", STEPS)
        blocks = []

        def kept():
            return [kept_by(place.read(place.path / f"app.{n:04}.plim")) for n in numbers(place, "app")]

        def go_on():
            blocks.append(ask(process, "more"))
            return len(numbers(place, "app")) >= 3 and len(set(kept())) >= 3

        await_true(go_on, "a third snapshot that differs")
        process.stdin.close()
        assert process.wait() == 3
        seen = kept()
        say(f"{seen} of {len(blocks)}")
        assert seen == sorted(seen) and seen[-1] <= len(blocks), seen
        assert kept_by(place.read(place.path / "app.plim")) == len(blocks)


def followed(place, pattern):
    found = (re.fullmatch(pattern, name) for name in place.profiles())
    return {match.groups() for match in found if match}


@claim
def every_process_of_a_run_has_a_series_except_those_that_end_early():
    with Place() as place:
        program = ("bash", "-c", "true; exec 3<&0; echo up; cat <&3 & cat <&3; wait")
        words = ("--snapshot-every", "200ms", "--keep-all", "-o", "%c.%p.plim")
        series = r"(\w+)\.(\d+)\.\d{4}\.plim"
        lasting = ["bash", "cat", "cat"]

        def names():
            return sorted(name for name, _ in followed(place, series) if name != "true")

        said = run_until(place, lambda: names() == lasting, *words, program=program, status=0)
        assert names() == lasting, place.profiles()
        early = {(name, pid) for name, pid in followed(place, r"(true)\.(\d+)\.plim")
                 if place.read(place.path / f"{name}.{pid}.plim")["process"]["duration_s"] < 0.2}
        assert not early & followed(place, series), place.profiles()
        assert re.search(r"took \d+ snapshots of \d processes:", said), said


@claim
def with_a_plain_name_snapshots_of_other_processes_have_their_pid_in_the_name():
    with Place() as place:
        words = ("--snapshot-every", "150ms", "--no-symbols", "-o", "app.plim")
        program = ("bash", "-c", "exec 3<&0; echo up; cat <&3; true")

        def both():
            return numbers(place, "app") and followed(place, r"app\.(\d+)\.\d{4}\.plim")

        run_until(place, both, *words, program=program, status=0)
        for number in numbers(place, "app"):
            exported = place.read(place.path / f"app.{number:04}.plim")
            assert exported["process"]["name"] == "bash", exported["process"]


@claim
def snapshot_keep_limits_the_number_of_snapshots_and_keeps_them_evenly_spaced():
    with Place() as place:
        words = ("--snapshot-every", "50ms", "--snapshot-keep", "4", "--no-symbols", "-o", "app.plim")
        said = run_until(place, lambda: max(numbers(place, "app"), default=0) > 12, *words)
        taken = numbers(place, "app")
        say(f"{taken}: {said}")
        assert 2 <= len(taken) <= 4, taken
        step = min(b - a for a, b in zip(taken, taken[1:]))
        assert step >= 4 and all(number % step == 1 for number in taken), taken  # a missed snapshot leaves a gap
        kept = rf"took \d+ snapshots, {len(taken)} kept: app.{taken[0]:04}.plim to app.{taken[-1]:04}.plim"
        assert re.search(kept, said), said


@claim
def a_second_run_continues_the_numbers_of_the_first():
    with Place() as place:
        words = ("--snapshot-every", "100ms", "--no-symbols", "-o", "app.plim")
        run_until(place, lambda: numbers(place, "app"), *words)
        first = {n: (place.path / f"app.{n:04}.plim").read_bytes() for n in numbers(place, "app")}
        run_until(place, lambda: len(numbers(place, "app")) > len(first), *words)
        assert len(numbers(place, "app")) > len(first) > 0
        for number, before in first.items():
            assert (place.path / f"app.{number:04}.plim").read_bytes() == before, number


@claim
def run_says_so_when_a_program_ends_before_its_first_snapshot():
    with Place() as place:
        _, said = place.plimsoll("run", "--snapshot-every", "1h", "-o", "app.plim", "--", "true")
        assert "no snapshot was taken: no process ran for 3600 s" in said, said
        assert place.profiles() == ["app.plim"]


@claim
def a_snapshot_that_cannot_be_written_is_reported_once_and_the_program_goes_on():
    with Place() as place:
        nowhere = place.path / "gone"
        nowhere.mkdir()
        complaint = "the program keeps running, and the next snapshot will be tried when it is due"
        command = f"mv {nowhere} {place.path / 'elsewhere'}; echo up; read; exit 7"
        process = place.start(PLIMSOLL, "run", "--snapshot-every", "1s", "--live-dir", place.live, "-o",
                              nowhere / "app.plim", "--", "bash", "-c", command, stderr=subprocess.PIPE)
        said = ""
        while complaint not in said:
            await_readable(process.stderr.fileno(), "a complaint")
            said += os.read(process.stderr.fileno(), 1 << 16).decode()
        process.stdin.close()
        said += process.stderr.read()
        assert process.wait() == 7, f"status {process.returncode}: {said}"
        assert said.count(complaint) == 1, said
        assert re.search(r"\d+ snapshots? could not be taken", said), said


@claim
def an_interrupt_ends_the_program_and_its_snapshots_are_complete():
    with Place() as place:
        command = [PLIMSOLL, "run", "--snapshot-every", "100ms", "-o", "app.plim", "--", STEPS]
        process = place.start(*command, stderr=subprocess.PIPE, start_new_session=True)
        await_true(lambda: len(numbers(place, "app")) >= 2)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
        assert process.wait() == 128 + signal.SIGINT, process.returncode
        assert "snapshots: app.0001.plim" in said and "was killed by SIGINT" in said, said
        for number in numbers(place, "app"):
            assert place.read(place.path / f"app.{number:04}.plim")["reading"]["damage"] == 0
        assert "app.plim" in place.profiles()


@claim
def a_forwarded_signal_does_not_wait_for_snapshots():
    with Place() as place:
        how = ("--snapshot-every", "10ms", "--snapshot-keep", "2", "-o", "app.plim")
        process = place.start(PLIMSOLL, "run", "-q", *how, "--", STEPS)
        await_true(lambda: numbers(place, "app"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM


@claim
def invalid_times_and_numbers_are_refused():
    with Place() as place:
        for text in ("0", "0s", "-1s", "1.5s", "10x", "s", "", "1 s", "9ms", "99999999999999999999s", "400000h"):
            _, said = place.plimsoll("run", f"--snapshot-every={text}", "--", "true", status=2)
            assert "--snapshot-every" in said, said
            place.plimsoll("snapshot", "1", f"--every={text}", status=2)
        for text in ("0", "1", "x"):
            place.plimsoll("run", "--snapshot-every", "1s", "--snapshot-keep", text, "--", "true", status=2)
        _, said = place.plimsoll("run", "--snapshot-keep", "3", "--", "true", status=2)
        assert "add --snapshot-every" in said, said
        _, said = place.plimsoll("run", "--above", "4K", "--below", "1K", "--", "true", status=2)
        assert "exclude every size" in said, said
        assert place.profiles() == []


# ---- snapshot --every ----


@claim
def snapshot_takes_a_series_of_a_growing_process():
    with Place() as place:
        process = place.profiled(STEPS)
        words = [str(word) for word in (PLIMSOLL, "snapshot", process.pid, "--every", "1s", "--count", 3)]
        series = subprocess.Popen(words, cwd=place.path, env=environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        looks = []  # the blocks kept, then the snapshots that exist
        while series.poll() is None:
            looks.append((int(ask(process, "more")), len(numbers(place, "app"))))
            time.sleep(0.02)
        said = series.stderr.read()
        assert series.returncode == 0, said
        assert [line.rsplit("/", 1)[1] for line in series.stdout.read().splitlines()] == place.profiles()
        taken = numbers(place, "app")
        assert len(taken) == 3 and taken[0] == 1, taken
        kept = [kept_by(place.read(place.path / f"app.{n:04}.plim")) for n in taken]
        for n, seen in enumerate(kept):  # the series reads the process for each one after it has written the one before
            least = max((blocks for blocks, exist in looks if exist < n), default=0)
            most = min((blocks for blocks, exist in looks if exist > n), default=looks[-1][0])
            assert least <= seen <= most, (n, seen, looks)
        assert f"process {process.pid}: it keeps running: took 3 snapshots: app.0001.plim to " in said, said
        ask(process, "more")


@claim
def a_series_that_cannot_start_ends_at_once():
    with Place() as place:
        process = place.profiled(STEPS)
        out, said = place.plimsoll("snapshot", process.pid, "--every", "1h", "-o", "nowhere/s.plim", status=1)
        assert not out and "cannot write nowhere/s.0001.plim: No such file" in said, said
        assert "took no snapshot" in said


@claim
def the_series_ends_with_its_process():
    with Place() as place:
        process = place.profiled(STEPS)
        words = [str(word) for word in (PLIMSOLL, "snapshot", process.pid, "--every", "1h")]
        series = subprocess.Popen(words, cwd=place.path, env=environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        await_true(lambda: numbers(place, "app"))
        process.stdin.close()
        process.wait()
        _, said = series.communicate(timeout=PATIENCE_S)
        assert series.returncode == 0 and "it has ended: took 1 snapshot: app.0001.plim" in said, said


@claim
def an_interrupted_series_lists_its_snapshots():
    with Place() as place:
        process = place.profiled(STEPS)
        how = ("--every", "50ms", "--keep", 2, "--no-symbols", "-o", "s.plim")
        words = [str(word) for word in (PLIMSOLL, "snapshot", process.pid, *how)]
        series = subprocess.Popen(words, cwd=place.path, env=environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        await_true(lambda: len(numbers(place, "s")) >= 2 and numbers(place, "s")[-1] > 3)
        series.send_signal(signal.SIGINT)
        _, said = series.communicate(timeout=PATIENCE_S)
        assert series.returncode == 0, said
        assert re.search(r"interrupted: took \d+ snapshots(, [12] kept)?: s.0001", said), said
        assert 1 <= len(numbers(place, "s")) <= 2, place.profiles()
        for number in numbers(place, "s"):
            place.read(place.path / f"s.{number:04}.plim")


if __name__ == "__main__":
    sys.exit(claims.main())
