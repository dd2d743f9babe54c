# SPDX-License-Identifier: MIT
"""terminal - plays a shell with job control around `plimsoll run` on a terminal of its own. usage: terminal.py PLIMSOLL

A job is a process group in the foreground. ^Z must stop it as a whole and let the shell see it stopped; fg must continue
all of it; ^C must end the program, and its exit status must come back.
"""

import os
import pty
import signal
import sys
import time

PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: (print("interrupted", flush=True), sys.exit(42)))
print("up", flush=True)
while True:
    time.sleep(0.02)
"""


def read_until(master, word):
    seen = b""
    deadline = time.time() + 20
    while word not in seen:
        assert time.time() < deadline, f"no {word!r} in {seen!r}"
        seen += os.read(master, 4096)
    return seen


def state_of(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]


def await_state(pid, states):
    deadline = time.time() + 20
    while state_of(pid) not in states:
        assert time.time() < deadline, f"{pid} is {state_of(pid)}, not {states}"
        time.sleep(0.02)


def child_of(pid):
    return int(open(f"/proc/{pid}/task/{pid}/children").read().split()[0])


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
    """The session's leader: starts the job, tells its pid, reports what waitpid says."""
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


def main(plimsoll):
    master, slave = pty.openpty()
    told, tell = os.pipe()
    leader = os.fork()
    if leader == 0:
        os.close(master)
        os.setsid()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))  # becomes our terminal
        shell(slave, tell, plimsoll)
    report = os.fdopen(told)
    job = int(report.readline())
    read_until(master, b"up")
    program = child_of(job)

    os.write(master, b"\x1a")
    assert report.readline() == "stopped by SIGTSTP\n"
    await_state(job, "T")
    await_state(program, "T")

    os.killpg(job, signal.SIGCONT)
    await_state(job, "SR")
    await_state(program, "SRD")

    os.write(master, b"\x03")
    read_until(master, b"interrupted")
    assert report.readline() == "ended with 42\n"
    os.waitpid(leader, 0)


if __name__ == "__main__":
    main(sys.argv[1])
