# SPDX-License-Identifier: MIT
"""touching - `report --touched`: what a program has not written for a time is what it knows of itself."""

import functools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from holding import BUILD, ENVIRONMENT, MIB, PLIMSOLL, Held, number, plimsoll

import claims
from claims import Skip, claim
from patience import await_readable, await_true

WRITES = BUILD / "tests" / "footprint" / "writes"
WITHOUT = BUILD / "tests" / "footprint" / "libwithout.so"
SMALL, WRITTEN_SMALL, SMALL_BYTES = 4000, 1000, 4080  # of writes.c
PAGE = 4096


class Watch:
    """`report --touched` of a held program, from when it watches."""

    def __init__(self, held, time):
        self.process = subprocess.Popen(
            [PLIMSOLL, "report", "--touched", time, "--all-digits", str(held.pid)], env=ENVIRONMENT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        await_readable(self.process.stderr)
        line = self.process.stderr.readline()
        if "this kernel" in line:
            self.end()
            raise Skip(line.strip())
        assert "watching what process" in line, line

    def end(self):
        text, self.errors = self.process.communicate()
        return text


def write(held, times=1):
    for _ in range(times):
        held.process.stdin.write(b"x")
        held.process.stdin.flush()
        await_readable(held.process.stdout)
        assert held.process.stdout.readline() == b"written\n"


def sites(text):
    """Of the table of what was not written: site -> [(bytes, ±)] for live, resident, not written."""
    rows = {}
    for line in text.split("\nNot written for")[1].splitlines()[2:]:
        row = re.match(r"[ █▉▊▋▌▍▎▏]+(.*?)  (\w+)  footprint/writes.c:", line)
        if not line:
            break
        if row:
            cells = re.findall(r"([\d,]+ B)(?: +± ([\d,]+ B))?", row[1])
            rows[row[2]] = [(number(value), number(error or "-")) for value, error in cells]
    return rows


def check(options):
    with Held(options, [WRITES]) as held:
        watch = Watch(held, "1h")
        write(held, 2)
        watch.process.send_signal(signal.SIGINT)
        text = watch.end()
        rows, problems = sites(text), []
        small = SMALL * SMALL_BYTES
        expected = {
            "idle": (32 * MIB, 32 * MIB),
            "quarter": (16 * MIB, 12 * MIB),
            "record": (small, small * (SMALL - WRITTEN_SMALL) // SMALL),
        }
        for name, (live, unwritten) in expected.items():
            for what, cell, known in zip(("live", "not written"), (rows[name][0], rows[name][2]), (live, unwritten)):
                # Twice the half width of the interval: a false alarm in 10,000.
                if abs(cell[0] - known) > 2 * cell[1] + 4 * PAGE:
                    problems.append(f"{name}: {what} {cell}, not {known:,}")
        claims.expect(problems, f"in\n{text}")
        assert not {"busy", "latecomer"} & set(rows), text
        assert all(("--exact" in options) == (cell[1] == 0) for cell in rows["record"]), text


for option in (["--exact"], ["--sample", "64K"]):
    claims.add(f"with {option[0]}: what was written is told from what was only read, by site",
               functools.partial(check, option))


def traces(held):
    """What a watch might leave: protected mappings and descriptors."""
    text = Path(f"/proc/{held.pid}/smaps").read_text()
    return text.count(" uw"), sorted(os.listdir(f"/proc/{held.pid}/fd"))


@claim
def nothing_is_left_when_a_watch_ends_or_is_killed():
    with Held(["--exact"], [WRITES]) as held:
        before = traces(held)
        watch = Watch(held, "1ms")
        assert watch.end() and watch.process.returncode == 0
        assert traces(held) == before
        watch = Watch(held, "1h")
        assert traces(held)[1] == before[1]
        watch.process.kill()
        watch.end()
        await_true(lambda: traces(held) == before)
        write(held)


@claim
def a_process_that_ends_meanwhile_is_reported():
    with Held(["--exact"], [WRITES]) as held:
        watch = Watch(held, "1h")
        held.end()
        assert not watch.end() and watch.process.returncode == 1
        assert "has ended while it was watched" in watch.errors, watch.errors


def refused(*words, **environment):
    command = [str(word) for word in (PLIMSOLL, "report", "--touched", *words)]
    done = subprocess.run(command, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2) and not done.stdout, done
    return done.stderr


@claim
def a_file_a_wrong_time_and_a_second_view_are_refused():
    assert "needs the PID of a running process" in refused("1s", "some.plim")
    assert "soon: not a time" in refused("soon", "1")
    assert "two views" in refused("1s", "--tree", "1")


@claim
def a_kernel_that_notes_no_writes_is_named_with_what_it_lacks():
    with Held(["--exact"], [WRITES]) as held:
        errors = refused("1s", held.pid, LD_PRELOAD=str(WITHOUT))
        if "watching" in errors:
            raise Skip("this kernel has soft-dirty bits, which cannot be hidden")
        assert "CONFIG_MEM_SOFT_DIRTY" in errors and "6.7" in errors, errors


SANDBOXED = """
import ctypes, struct, sys
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
print("ready", flush=True)
sys.stdin.read()
"""


@claim
def a_process_in_a_sandbox_is_left_alone():
    with Held(["--exact"], [sys.executable, "-c", SANDBOXED]) as held:
        done = plimsoll("report", "--touched", "1ms", held.pid)
        if done.returncode == 0:
            raise Skip("this kernel has soft-dirty bits, for which a sandbox does not matter")
        assert "seccomp sandbox" in done.stderr or "this kernel" in done.stderr, done


@claim
def the_process_of_another_user_is_refused():
    if os.geteuid() != 0:
        raise Skip("only root can act as another user")
    with Held(["--exact"], [WRITES]) as held:
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PLIMSOLL, "report", "--touched", "1ms"]
        done = subprocess.run([str(word) for word in (*words, held.pid)], env=ENVIRONMENT, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 1 and "root" in done.stderr, done


if __name__ == "__main__":
    sys.exit(claims.main())
