# SPDX-License-Identifier: MIT
"""ending - `plimsoll run --exact --leaks` says when a program ends what it has lost, and its profile keeps that."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import looking
from looking import KEEPS, PLIMSOLL, check_verdicts, plimsoll, tables

import claims
from claims import claim

# Main has returned, so what only its frame and its registers held may be lost by now, or not.
GONE = {"held_by_main_stack", "held_by_register"}


class Run:
    """A finished run: its status, what it said, and its profiles."""

    def __init__(self, *words, options=(), text=""):
        self.place = tempfile.TemporaryDirectory(prefix="plimsoll-ending.")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
        self.done = subprocess.run(
            [PLIMSOLL, "run", "--exact", "--leaks", "-o", "end.plim", *options, "--", *words], input=text, text=True,
            capture_output=True, check=False, cwd=self.place.name, env=environment | {"LC_ALL": "C.UTF-8"})
        self.path = Path(self.place.name) / "end.plim"
        self.said = self.done.stderr

    def totals(self, path=None):
        done = plimsoll("export", "--format", "json", path or self.path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["totals"]

    def leaks(self):
        done = plimsoll("leaks", "--inner", "--depth", "1", "--top", "100", self.path)
        assert done.returncode == 0, done.stderr
        return done.stdout


def python(script):
    return Run("python3", "-c", script)


LOSES = ("import ctypes,os,sys\n"
         "libc=ctypes.CDLL(None); libc.malloc.restype=ctypes.c_void_p\n"
         "def lose(n):\n"
         "  for i in range(n): libc.malloc(4321)\n"
         "lose(50)\n"
         "libc.malloc(8); libc.malloc(8)\n")


@claim
def every_block_gets_its_verdict_at_exit():
    run = Run(KEEPS)
    assert run.done.returncode == 0, run.said
    check_verdicts(run.leaks(), GONE)
    assert "when it exited" in run.leaks()


@claim
def the_metric_lost_has_the_same_figures_everywhere():
    run = Run(KEEPS)
    found, lost = tables(run.leaks()), run.totals()
    blocks = sum(row[1] for section in ("lost", "with") for row in found[section].values())
    assert lost["lost_objects"]["value"] == blocks, (lost["lost_objects"], found)
    listed = plimsoll("export", "--format", "csv", run.path).stdout.splitlines()
    column = listed[0].split(",").index("lost-blocks")
    assert sum(int(line.split(",")[column]) for line in listed[1:] if "," in line) == blocks, listed[0]
    space = int(lost["lost_space"]["value"])
    assert plimsoll("check", "--max-lost", space, run.path).returncode == 0
    assert plimsoll("check", "--max-lost", space - 1, run.path).returncode == 1
    assert plimsoll("check", "--no-lost", run.path).returncode == 1
    text = plimsoll("report", "--leaks", run.path).stdout
    assert "nothing led to" in text, text
    assert "Lost  " in plimsoll("report", "--metric", "lost", run.path).stdout


@claim
def sums_of_profiles_add_up_what_is_lost():
    runs = [Run(KEEPS), Run(KEEPS)]
    merged = Path(runs[0].place.name) / "merged.plim"
    done = plimsoll("merge", "-o", merged, *(run.path for run in runs))
    assert done.returncode == 0, done.stderr
    for metric in ("lost_objects", "lost_space"):
        both = sum(run.totals()[metric]["value"] for run in runs)
        assert runs[0].totals(merged)[metric]["value"] == both, metric
    done = plimsoll("diff", "--metric", "lost", runs[0].path, runs[1].path)
    assert done.returncode == 0 and "nothing has changed" in done.stdout, done.stdout + done.stderr


@claim
def programs_that_lose_nothing_are_said_to_lose_nothing():
    run = Run("cat", text="b\na\nc\n")
    assert run.done.stdout == "b\na\nc\n" and run.done.returncode == 0, run.done.stdout
    assert "lost: nothing" in run.said, run.said
    assert plimsoll("check", "--no-lost", run.path).returncode == 0


@claim
def exit_statuses_pass_through_however_a_program_exits():
    for end, status in (("sys.exit(7)", 7), ("os._exit(9)", 9)):
        run = python(LOSES + end)
        assert run.done.returncode == status, run.said
        assert "lost: " in run.said and "lost: nothing" not in run.said, run.said


@claim
def children_are_looked_at_as_well():
    script = LOSES + "import subprocess\nfor i in range(3): subprocess.run([sys.executable,'-c',sys.argv[1]])\n"
    run = Run("python3", "-c", script, LOSES)
    assert run.done.returncode == 0, run.said
    profiles = sorted(Path(run.place.name).glob("end.plim*"))
    assert len(profiles) == 4, run.said
    for path in profiles:
        assert run.totals(path)["lost_objects"]["value"] >= 48, path
    assert sorted(os.listdir(run.place.name)) == [path.name for path in profiles]


@claim
def a_vfork_child_and_exec_do_not_end_the_look():
    run = python(LOSES + "os.posix_spawn('/bin/true',['true'],os.environ)\nos.wait()\n")
    assert "lost: " in run.said and "lost: nothing" not in run.said, run.said
    run = Run("sh", "-c", "exec cat /dev/null")
    assert "lost: nothing" in run.said, run.said


@claim
def what_is_not_known_is_refused_with_the_reason():
    place = tempfile.TemporaryDirectory(prefix="plimsoll-ending.")
    path = Path(place.name) / "plain.plim"
    assert plimsoll("run", "--exact", "-q", "-o", path, "--", "true").returncode == 0
    for words, status, text in (
            (("leaks", path), 1, "does not say what points where"),
            (("report", "--metric", "lost", path), 1, "nobody has looked"),
            (("check", "--no-lost", path), 1, "")):
        done = plimsoll(*words)
        assert done.returncode == status and text in done.stderr, (words, done.returncode, done.stdout + done.stderr)
    assert "cannot tell" in plimsoll("check", "--no-lost", path).stdout


@claim
def a_look_at_a_running_process_is_kept_in_a_snapshot():
    with looking.exactly(KEEPS) as process:
        path = Path(process.place.name) / "looked.plim"
        shown = looking.leaks(process.pid, "-o", path)
        assert path.exists()
        stored = plimsoll("leaks", "--inner", "--depth", "1", "--top", "100", path)
        assert tables(stored.stdout) == tables(shown), stored.stdout + stored.stderr
        assert "while it ran" in stored.stdout
        again = plimsoll("leaks", process.pid, "-o", path)
        assert again.returncode == 1 and "already exists" in again.stderr, again.stderr


if __name__ == "__main__":
    sys.exit(claims.main())
