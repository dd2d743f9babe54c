# SPDX-License-Identifier: MIT
"""terminal - acts as a shell with job control for `plimsoll run` on a pseudo-terminal. usage: terminal.py PLIMSOLL

A job is a process group in the foreground. ^Z must stop all of it, and the shell must see it stop. fg must continue all
of it. ^C must end the program, and its exit status must come back.
"""

import contextlib
import os
import pty
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from patience import await_readable, await_true  # noqa: E402

# The handler may run while the program is inside of its first write. print() is not reentrant and would raise.
PROGRAM = """
import os, signal, sys, time
def interrupted(*_):
    os.write(1, b"interrupted\\n")
    sys.exit(42)
signal.signal(signal.SIGINT, interrupted)
os.write(1, b"up\\n")
while True:
    time.sleep(0.02)
"""


class Reader:
    """Reads a descriptor up to a given word. It waits up to the time limit of all tests."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.seen = b""

    def read_until(self, word):
        while word not in self.seen:
            await_readable(self.descriptor, lambda: f"{word!r} after {self.seen!r}")
            more = os.read(self.descriptor, 4096)
            assert more, f"no {word!r} in {self.seen!r}, which is all"
            self.seen += more
        found, _, self.seen = self.seen.partition(word)
        return found.decode()


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def await_state(pid, is_stopped):
    await_true(lambda: (state_of(pid) == "T") == is_stopped, lambda: f"{pid} is {state_of(pid)}: a change")


def child_of(pid):
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def start_job(slave, plimsoll):
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(slave, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        for number in (0, 1, 2):
            os.dup2(slave, number)
        os.execv(plimsoll, [plimsoll, "run", "-q", "--", sys.executable, "-c", PROGRAM])
    return job


def shell(slave, pipe, plimsoll):
    """The session leader: starts the job, sends its pid, reports the results of waitpid."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = start_job(slave, plimsoll)
    os.write(pipe, f"{job}\n".encode())
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.write(pipe, f"stopped by {signal.Signals(os.WSTOPSIG(status)).name}\n".encode())
        else:
            os.write(pipe, f"ended with {os.waitstatus_to_exitcode(status)}\n".encode())
            os._exit(0)


def use_job(master, screen, report, job):
    screen.read_until(b"up")
    program = child_of(job)

    os.write(master, b"\x1a")
    assert report.read_until(b"\n") == "stopped by SIGTSTP"
    await_state(job, is_stopped=True)
    await_state(program, is_stopped=True)

    os.killpg(job, signal.SIGCONT)
    await_state(job, is_stopped=False)
    await_state(program, is_stopped=False)

    os.write(master, b"\x03")
    screen.read_until(b"interrupted")
    assert report.read_until(b"\n") == "ended with 42"


def main(plimsoll):
    master, slave = pty.openpty()
    told, tell = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.close(master)
        os.setsid()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))  # becomes our terminal
        shell(slave, tell, plimsoll)
    os.close(tell)
    report = Reader(told)
    try:
        job = int(report.read_until(b"\n"))
        try:
            use_job(master, Reader(master), report, job)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):  # it may have ended already, by mistake
                os.killpg(job, signal.SIGKILL)
            raise
    except BaseException:
        os.kill(leader, signal.SIGKILL)
        raise
    finally:
        os.waitpid(leader, 0)


if __name__ == "__main__":
    main(sys.argv[1])
