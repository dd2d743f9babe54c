# SPDX-License-Identifier: MIT
"""bare - after detach, a process executes its own instructions again, and no other ones.

Which way malloc takes inside libc depends on the blocks that the process has, and loading the library changes those.
So the way is compared instruction by instruction where it does not depend on them. Elsewhere every instruction has to
be in code that was mapped before, and that code has to be what it was.
"""

import ctypes
import os
import platform
import signal
import sys
from pathlib import Path

from subjects import SUBJECT, Place, Subject
import claims
from claims import Skip, claim, say

ATTACH, DETACH, PEEKUSER, SYSCALL, SINGLESTEP = 16, 17, 3, 24, 9
RIP, CALL = 16 * 8, 15 * 8  # in struct user
GETPPID = 110
MOST = 10000  # instructions of one part that are looked at: enough to see that it is not bare

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, pid, at=None):
    result = libc.ptrace(request, pid, at, None)
    assert result >= 0 or request == PEEKUSER, os.strerror(ctypes.get_errno())
    return result


def go(pid, request):
    ptrace(request, pid)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTRAP, status


def step_to_mark(pid):
    """Where the program counter is, instruction by instruction, until getppid has been called."""
    path = []
    while True:
        go(pid, SINGLESTEP if len(path) < MOST else SYSCALL)
        if path and ptrace(PEEKUSER, pid, CALL) == GETPPID:
            return path
        path.append(ptrace(PEEKUSER, pid, RIP))


def paths_between_marks(subject):
    """The paths of the first thread: while it reuses a block, and while it allocates in all ways."""
    pid = subject.pid
    ptrace(ATTACH, pid)
    os.waitpid(pid, 0)
    subject.process.stdin.write(b"bare\n")
    for _ in range(2):  # before the call, and after it
        go(pid, SYSCALL)
        while ptrace(PEEKUSER, pid, CALL) != GETPPID:
            go(pid, SYSCALL)
    paths = [step_to_mark(pid), step_to_mark(pid)]
    ptrace(DETACH, pid)
    assert subject.line() == "done"
    return paths


def mapped_code(subject):
    """The executable ranges."""
    lines = (line.split() for line in Path(f"/proc/{subject.pid}/maps").read_text().splitlines())
    return [tuple(int(part, 16) for part in span.split("-")) for span, flags, *_ in lines if "x" in flags]


def outside(path, code):
    return [hex(pc) for pc in path if not any(start <= pc < end for start, end in code)]


class Bare(Subject):
    """One thread works, and malloc fills no blocks: that takes one step for each byte."""

    def __init__(self):
        if platform.machine() != "x86_64":
            raise Skip("it reads registers of x86_64")
        super().__init__(command=("env", "-u", "MALLOC_PERTURB_", "-u", "GLIBC_TUNABLES", SUBJECT, "ledger", 1))


@claim
def reusing_a_block_takes_the_same_instructions_as_before_attach():
    with Place() as place, Bare() as subject:
        paths_between_marks(subject)  # the loader binds functions when they are called first
        before, _ = paths_between_marks(subject)
        assert paths_between_marks(subject)[0] == before, "two runs differ already"
        place.attach(subject.pid, "--exact", "-o", "bare.plim")
        during, _ = paths_between_marks(subject)
        place.detach(subject.pid)
        after, _ = paths_between_marks(subject)
        say(f"{len(before)} instructions before, {len(during)} while attached, {len(after)} after")
        assert len(during) > len(before) > 100, (len(during), len(before))
        assert after == before, (len(before), len(after))


@claim
def no_instruction_after_detach_is_outside_of_the_code_from_before_and_that_code_is_unchanged():
    with Place() as place, Bare() as subject:
        code, bytes_before = mapped_code(subject), subject.code()
        place.attach(subject.pid, "--exact", "-o", "bare.plim")
        during = sum(paths_between_marks(subject), [])
        assert outside(during, code), "the hooks are in code from before"
        assert subject.code() != bytes_before, "attach has changed nothing"
        place.detach(subject.pid)
        after = sum(paths_between_marks(subject), [])
        say(f"{len(after)} instructions after; while attached, {len(outside(during, code))} of {len(during)} outside")
        assert len(after) > 500, len(after)
        assert not outside(after, code), outside(after, code)[:12]
        assert subject.code() == bytes_before, "the code of libc is not what it was"


if __name__ == "__main__":
    sys.exit(claims.main())
