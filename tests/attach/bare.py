# SPDX-License-Identifier: MIT
"""bare - after detach, a process executes the instructions that it executed before attach, one by one."""

import ctypes
import os
import platform
import signal
import sys

from subjects import Place, Subject
import claims
from claims import Skip, claim, say

ATTACH, DETACH, PEEKUSER, SYSCALL, SINGLESTEP = 16, 17, 3, 24, 9
RIP, CALL = 16 * 8, 15 * 8  # in struct user
GETPPID = 110
MOST = 20000  # instructions: enough to see that it is not bare

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


def path_between_marks(subject):
    """Where the program counter of the first thread is, instruction by instruction, between two calls of getppid."""
    pid, path = subject.pid, []
    ptrace(ATTACH, pid)
    os.waitpid(pid, 0)
    subject.process.stdin.write(b"bare\n")
    for _ in range(2):  # before the call, and after it
        go(pid, SYSCALL)
        while ptrace(PEEKUSER, pid, CALL) != GETPPID:
            go(pid, SYSCALL)
    while len(path) < MOST:
        go(pid, SINGLESTEP)
        if path and ptrace(PEEKUSER, pid, CALL) == GETPPID:
            break
        path.append(ptrace(PEEKUSER, pid, RIP))
    ptrace(DETACH, pid)
    assert subject.line() == "done"
    return path


@claim
def allocating_and_freeing_take_the_same_instructions_as_before_attach():
    if platform.machine() != "x86_64":
        raise Skip("it reads registers of x86_64")
    with Place() as place, Subject("ledger", 1) as subject:
        before = path_between_marks(subject)
        assert path_between_marks(subject) == before, "two runs differ already"
        place.attach(subject.pid, "--exact", "-o", "bare.plim")
        during = path_between_marks(subject)
        place.detach(subject.pid)
        after = path_between_marks(subject)
        say(f"{len(before)} instructions before, {len(during)} or more while attached, {len(after)} after")
        assert len(during) > len(before) > 500, (len(during), len(before))
        assert after == before, (len(before), len(after))


if __name__ == "__main__":
    sys.exit(claims.main())
