# SPDX-License-Identifier: MIT
"""live - a running process is read while four threads change everything: every reading is consistent.

The victim of tests/kill runs while its profile is read repeatedly. Its ledger is read before and after each time: calls
that were finished before must be in the profile, and no calls that had not begun afterwards.
"""

import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kill"))

# First, because it adds tests/lib to the path.
from victims import PLIMSOLL, Place, compare, environment, expect, turns
import claims
import plim
from claims import claim, say
from patience import await_true

READINGS = 10
APART_S = 0.05


class Alive:
    """The victim, running."""

    def __init__(self, place, sample="1"):
        self.place = place
        give_way = functools.partial(os.nice, 15)  # its threads outnumber the processors, and the reader needs time
        self.process = place.start_victim("never", 0, sample=sample, preexec_fn=give_way)
        await_true(lambda: self.file() and place.ledger() and place.ledger().calls > 1000)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def file(self):
        return next(iter(plim.find(self.place.live)), None)

    def read(self):
        """A profile, and the ledger before and after it."""
        before = self.place.ledger()
        profile = plim.Profile(self.file())
        return profile, before.until(self.place.ledger())

    def plimsoll(self, *words):
        command = [str(word) for word in (PLIMSOLL, *words)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment())
        assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}"
        return done.stdout

    def undisturbed(self):
        """It runs, is not being traced, and goes on allocating."""
        assert self.process.poll() is None, f"it ended with {self.process.returncode}"
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        assert "TracerPid:\t0\n" in status and "\nState:\tT" not in status
        before = self.place.ledger().calls
        await_true(lambda: self.place.ledger().calls > before)


@claim
def every_reading_lies_between_the_calls_finished_before_and_begun_after():
    with Place() as place, Alive(place) as victim:
        for _ in range(READINGS):
            profile, ledger = victim.read()
            expect(profile.problems(), "in the file")
            expect(compare(profile, ledger, turns), "with the ledger")
            time.sleep(APART_S)
        say(f"{len(profile.rows)} rows, {sum(row.torn for row in profile.rows.values())} in flight at the last reading")
        victim.undisturbed()


@claim
def every_snapshot_lies_between_them_too_and_never_changes():
    with Place() as place, Alive(place) as victim:
        taken = {}
        for _ in range(READINGS // 2):
            before = place.ledger()
            path = Path(victim.plimsoll("snapshot", victim.process.pid, "--no-symbols").rstrip("\n"))
            ledger = before.until(place.ledger())
            profile = plim.Profile(path)
            expect(profile.problems(), "in the snapshot")
            expect(compare(profile, ledger, turns), "with the ledger")
            taken[path] = path.read_bytes()
        assert len(taken) == READINGS // 2
        assert all(path.read_bytes() == before for path, before in taken.items())
        victim.undisturbed()


@claim
def no_figure_decreases_from_one_reading_to_the_next():
    with Place() as place, Alive(place, sample="256") as victim:
        last = plim.Profile(victim.file())
        for _ in range(READINGS):
            time.sleep(APART_S)
            profile = plim.Profile(victim.file())
            expect(profile.problems(), "in the file")
            for number, row in last.rows.items():
                later = profile.rows[number]
                for part in ("allocated", "freed", "remote"):
                    pairs = zip(getattr(row, part).values(), getattr(later, part).values())
                    assert all(a <= b for a, b in pairs) or row.torn, f"row {number}: {part} decreased"
            for number, thread in last.threads.items():
                assert thread.all_calls <= profile.threads[number].all_calls
                assert thread.bytes <= profile.threads[number].bytes
            last = profile
        assert last.rows and last.threads, "nothing was compared"
        victim.undisturbed()


@claim
def export_of_a_pid_discards_nothing_and_has_no_negative_figures():
    with Place() as place, Alive(place) as victim:
        for _ in range(READINGS):
            before = place.ledger()
            exported = json.loads(victim.plimsoll("export", "--format", "json", victim.process.pid))
            ledger = before.until(place.ledger())
            assert exported["process"]["pid"] == victim.process.pid and exported["process"]["running"]
            assert exported["reading"]["damage"] == 0, exported["reading"]
            for site in exported["sites"]:
                assert all(site[metric]["value"] >= 0 for metric in ("inuse_objects", "inuse_space", "alloc_objects"))
            tids = {thread["tid"]: thread["calls"] for thread in exported["threads"]}
            for worker, tid in enumerate(ledger.tids):
                pairs = ledger.allocated[worker]
                calls = tids.get(tid, 0)
                assert sum(pairs.done) <= calls <= sum(pairs.started), f"worker {worker}: {calls} calls"
        victim.undisturbed()


@claim
def every_frame_of_the_program_has_a_name_and_every_module_a_path():
    with Place() as place, Alive(place) as victim:
        exported = json.loads(victim.plimsoll("export", "--format", "json", victim.process.pid))
        paths = [module["path"] for module in exported["modules"]]
        ours = [frame for frame in exported["frames"] if paths[frame["module"]].endswith("/victim")]
        assert {"turn_left", "turn_right", "descend"} <= {frame["function"] for frame in ours}
        nameless = [frame for frame in ours if not frame["function"]]
        assert not nameless, f"{len(nameless)} of {len(ours)}: {nameless[:3]}"
        assert sum(path == "" for path in paths) <= 1, paths


@claim
def report_of_a_pid_names_the_allocating_functions():
    with Place() as place, Alive(place) as victim:
        report = victim.plimsoll("report", victim.process.pid)
        assert "descend" in report and "victim.c" in report, report
        victim.undisturbed()


@claim
def ls_lists_a_running_process():
    with Place() as place, Alive(place) as victim:
        listed = victim.plimsoll("ls")
        assert any(str(victim.process.pid) in line.split() and "victim" in line for line in listed.splitlines()), listed
        victim.undisturbed()


@claim
def ls_still_lists_the_file_of_a_killed_process():
    with Place() as place:
        settings = place.settings("1")
        settings["PLIMSOLL_LIVE_DIR"] = "/dev/shm"  # where ls looks, in a container as well
        command = [str(word) for word in ("/bin/sh", "-c", "kill -9 $$")]
        process = subprocess.Popen(command, env=environment(**settings), cwd=place.path)
        assert process.wait() == -9
        left = Path(f"/dev/shm/plimsoll.sh.{process.pid}.plim")
        try:
            assert left.exists()
            listed = subprocess.run([PLIMSOLL, "ls"], capture_output=True, text=True, env=environment())
            assert str(left) in listed.stdout + listed.stderr, listed.stdout + listed.stderr
        finally:
            left.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(claims.main())
