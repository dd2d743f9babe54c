# SPDX-License-Identifier: MIT
"""snapshots - copies of the profile of a running process: complete, in the right place, never over an existing file."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

# First, because it adds tests/lib to the path.
from subjects import BUSY, COPIES, PLIMSOLL, STEPS, Place, ask, await_true, environment, kept_by, undisturbed
import claims
import plim
from claims import claim, say
from unprofiled import unprofiled

COPIES_OF_A_BUSY_PROGRAM = 200


def busy_program(place, sample):
    return place.profiled(BUSY, sample=sample, preexec_fn=lambda: os.nice(15))


def copy_often(sample, copies):
    with Place() as place:
        process = busy_program(place, sample)
        live = next(place.live.glob("*.plim"))
        done = subprocess.run([COPIES, live, str(copies)], capture_output=True, text=True)
        say(done.stdout)
        assert done.returncode == 0, done.stdout
        undisturbed(process)


@claim
def copies_of_a_program_that_writes_as_fast_as_possible_have_no_damage():
    copy_often("exact", COPIES_OF_A_BUSY_PROGRAM)


@claim
def copies_of_such_a_program_have_no_damage_when_it_is_sampled():
    copy_often("256", COPIES_OF_A_BUSY_PROGRAM // 4)


@claim
def the_command_takes_complete_snapshots_of_a_busy_program():
    with Place() as place:
        process = busy_program(place, "exact")
        for _ in range(3):
            profile = plim.Profile(place.snapshot(process, "--no-symbols"))
            assert not profile.problems(), profile.problems()[:5]
        undisturbed(process)


@claim
def an_idle_program_is_copied_and_not_disturbed():
    with Place() as place:
        process = place.profiled(STEPS)
        for _ in range(5):
            ask(process, "more")
        first = place.read(place.snapshot(process))
        for _ in range(7):
            ask(process, "more")
        second = place.read(place.snapshot(process))
        assert kept_by(first) == 5 and kept_by(second) == 12, (kept_by(first), kept_by(second))
        assert first["reading"]["damage"] == 0
        undisturbed(process)
        assert ask(process, "more") == "13"


@claim
def a_stopped_program_is_copied_and_stays_stopped():
    with Place() as place:
        process = place.profiled(STEPS)
        ask(process, "more")
        os.kill(process.pid, 19)
        await_true(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text())
        assert kept_by(place.read(place.snapshot(process))) == 1
        assert "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text()


@claim
def a_snapshot_is_marked_as_one_and_is_not_running():
    with Place() as place:
        process = place.profiled(STEPS)
        exported = place.read(place.snapshot(process, "warm up"))
        assert not exported["process"]["running"]
        assert exported["extent"]["snapshot"] == "warm up", exported["extent"]
        assert 0 < exported["extent"]["snapshot_s"] < 60
        assert exported["process"]["pid"] == process.pid


@claim
def a_snapshot_contains_names_so_it_can_be_read_without_the_program():
    with Place() as place:
        program = place.path / "program"
        shutil.copy(STEPS, program)
        process = place.profiled(program)
        ask(process, "more")
        named, bare = place.snapshot(process), place.snapshot(process, "--no-symbols")
        process.kill()
        process.wait()
        program.unlink()
        assert "keep_block" in place.plimsoll("report", named)[0]
        assert "keep_block" not in place.plimsoll("report", bare)[0]


# ---- where it goes ----


@claim
def a_snapshot_lies_beside_the_future_profile_with_its_name_or_the_next_number():
    with Place() as place:
        process = place.profiled(STEPS)
        elsewhere = place.path / "elsewhere"
        elsewhere.mkdir()
        for words in ((), ("warm",), (), ("warm",)):
            place.snapshot(process, "--no-symbols", *words, cwd=elsewhere)
        wanted = ["app.0001.plim", "app.0002.plim", "app.warm.0002.plim", "app.warm.plim"]
        assert place.profiles() == wanted, place.profiles()
        process.stdin.close()
        assert process.wait() == 3
        assert place.profiles() == sorted([*wanted, "app.plim"]), place.profiles()
        assert not any(elsewhere.iterdir()) and not any(place.live.iterdir())


def begins(path):
    """Has the process written the header? The file exists a while before that."""
    with path.open("rb") as file:
        return file.read(8) == b"PLIMSOLL"


@claim
def a_snapshot_of_a_child_process_has_its_pid_in_its_name():
    with Place() as place:
        command = "sleep 20 & echo up; echo $$ $!; wait"
        run = place.start(PLIMSOLL, "run", "-q", "--live-dir", place.live, "-o", "app.plim", "--", "bash", "-c", command)
        program, child = map(int, run.stdout.readline().split())
        try:
            await_true(lambda: any(begins(path) for path in place.live.glob(f"*/plimsoll.sleep.{child}.plim")))
            for pid, words in ((program, ("now",)), (child, ("now",)), (child, ()), (child, ("-o", "mine.plim"))):
                place.plimsoll("snapshot", pid, "--no-symbols", *words)
        finally:
            os.kill(child, 15)
        run.wait()
        wanted = {"app.now.plim", f"app.{child}.now.plim", f"app.{child}.0001.plim", "mine.plim"}
        assert wanted <= set(place.profiles()), place.profiles()


@claim
def no_file_is_ever_overwritten():
    with Place() as place:
        process = place.profiled(STEPS)
        mine = {name: place.path / name for name in ("app.0007.plim", "app.warm.plim", "own.plim")}
        for path in mine.values():
            path.write_text("mine")
        assert place.snapshot(process, "--no-symbols").name == "app.0008.plim"
        assert place.snapshot(process, "warm", "--no-symbols").name == "app.warm.0002.plim"
        _, said = place.plimsoll("snapshot", process.pid, "-o", "own.plim", status=1)
        assert "own.plim already exists" in said, said
        assert all(path.read_text() == "mine" for path in mine.values())


@claim
def output_chooses_a_file_or_a_directory():
    with Place() as place:
        process = place.profiled(STEPS)
        (place.path / "here").mkdir()
        assert place.snapshot(process, "-o", "mine.plim").name == "mine.plim"
        assert place.snapshot(process, "-o", "here").relative_to(place.path) == Path("here/app.0001.plim")
        assert place.snapshot(process, "warm", "-o", "here").relative_to(place.path) == Path("here/app.warm.plim")
        assert place.read(place.path / "mine.plim")["extent"]["snapshot"] == ""


@claim
def only_its_owner_can_read_a_snapshot():
    with Place() as place:
        process = place.profiled(STEPS)
        assert place.snapshot(process).stat().st_mode & 0o777 == 0o600


@claim
def a_full_disk_leaves_no_partial_snapshot():
    with Place() as place:
        process = place.profiled(STEPS)
        small = f"ulimit -f 40; exec {PLIMSOLL} snapshot {process.pid}"
        done = subprocess.run(["bash", "-c", small], capture_output=True, text=True, cwd=place.path, env=environment())
        assert done.returncode == 1 and "cannot write" in done.stderr, done
        assert os.strerror(errno.EFBIG) in done.stderr
        assert place.profiles() == []


@claim
def another_users_process_does_not_choose_where_root_writes():
    if os.geteuid() != 0:
        raise claims.Skip("needs root")
    with Place() as place:
        place.path.chmod(0o755)
        place.live.chmod(0o777)
        try:
            process = place.profiled(STEPS, user=65534, group=65534)
        except PermissionError as reason:
            raise claims.Skip("another user cannot reach the build directory") from reason
        here = place.path / "here"
        here.mkdir()
        out, _ = place.plimsoll("snapshot", process.pid, cwd=here)
        assert out == "app.0001.plim\n" and (here / "app.0001.plim").exists()
        assert place.profiles() == []


# ---- refused requests ----


@claim
def an_impossible_snapshot_is_refused_with_the_next_step():
    with Place() as place, unprofiled() as other:
        process = place.profiled(STEPS)
        refused = (
            (2, (), "needs the PID"),
            (2, ("app.plim",), "not a PID"),
            (2, (process.pid, "a/b"), "cannot contain /"),
            (2, (process.pid, ""), "part of a file name"),
            (2, (process.pid, "a", "b"), "got b as well"),
            (2, (process.pid, "--count", 3), "add --every"),
            (2, (process.pid, "--keep", 3), "add --every"),
            (2, (process.pid, "name", "--every", "1s"), "leave out the name"),
            (1, (other,), "was started without Plimsoll"),
            (1, (999999999,), "there is no process"),
        )
        for status, words, text in refused:
            out, said = place.plimsoll("snapshot", *words, status=status)
            assert text in said and not out, f"{words}: {said}"
        process.kill()
        process.wait()
        assert place.profiles() == []


# ---- snapshots and other commands ----


@claim
def ls_lists_the_process_and_not_its_snapshots():
    with Place() as place:
        process = place.profiled(STEPS, out="live/app.plim")
        snapshot = place.snapshot(process)
        assert snapshot.parent == place.live
        env = environment(PLIMSOLL_LIVE_DIR=place.live)
        listed = subprocess.run([PLIMSOLL, "ls"], capture_output=True, text=True, env=env)
        ours = [line for line in listed.stdout.splitlines() if str(place.live) in line]
        assert len(ours) == 1 and f" {process.pid} " in f" {ours[0]}" and "running" in ours[0], listed.stdout
        process.kill()
        process.wait()
        listed = subprocess.run([PLIMSOLL, "ls", "--all"], capture_output=True, text=True, env=env)
        ours = [line for line in listed.stdout.splitlines() if str(place.live) in line]
        assert len(ours) == 1 and snapshot.name not in ours[0], listed.stdout


@claim
def report_of_a_pid_reads_the_process_and_not_its_last_snapshot():
    with Place() as place:
        process = place.profiled(STEPS)
        place.snapshot(process)
        for _ in range(3):
            ask(process, "more")
        assert kept_by(place.read(process.pid)) == 3


@claim
def run_does_not_overwrite_a_snapshot_with_a_profile():
    with Place() as place:
        process = place.profiled(STEPS)
        before = place.snapshot(process).read_bytes()
        place.plimsoll("run", "-q", "-o", "app.0001.plim", "--", "true")
        assert (place.path / "app.0001.plim").read_bytes() == before
        assert (place.path / "app.0001.plim.1").exists()


# ---- programs that take snapshots of themselves ----


@claim
def run_collects_one_profile_of_a_program_that_takes_snapshots_of_itself():
    with Place() as place:
        lines = "more\nsnapshot warm\nmore\n"
        words = ("--live-dir", place.live, "-o", "app.plim", "--", STEPS)
        out, said = place.plimsoll("run", *words, status=3, input=lines)
        assert "snapshot 0\n" in out, out
        assert place.profiles() == ["app.plim", "app.warm.plim"], place.profiles()
        assert "wrote app.plim" in said, said
        assert kept_by(place.read(place.path / "app.warm.plim")) == 1
        assert kept_by(place.read(place.path / "app.plim")) == 2
        assert not any(place.live.iterdir())


@claim
def a_program_that_switches_output_off_leaves_no_profile_and_run_says_so():
    with Place() as place:
        words = ("--live-dir", place.live, "-o", "app.plim", "--", STEPS)
        _, said = place.plimsoll("run", *words, status=3, input="more\nno output\n")
        assert place.profiles() == [], place.profiles()
        assert "left no profile, as it requested" in said and "nothing was recorded" not in said, said
        _, said = place.plimsoll("run", "-q", *words, status=3, input="no output\n")
        assert said == "", said
        assert not any(place.live.iterdir())


if __name__ == "__main__":
    sys.exit(claims.main())
