# SPDX-License-Identifier: MIT
"""leaks - `plimsoll leaks PID` says of each block what has become of it, and leaves no trace in the process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from looking import KEEPS, PLIMSOLL, Process, check_verdicts, children, exactly, leaks, plimsoll, python, tables

import claims
from claims import claim


@claim
def every_block_gets_its_verdict():
    with exactly(KEEPS) as process:
        text = leaks(process.pid)
        check_verdicts(text)
        assert "from a copy" in text, text
        found = tables(text)
        assert found["lost"]["lost_huge"] == ("600 KiB", 1), found
        assert found["with"]["with_head"] == ("560 B", 10), found
        assert found["with"]["ring_of_lost"] == ("168 B", 3), found


@claim
def the_process_goes_on_as_before_and_the_copy_is_gone():
    with exactly(KEEPS) as process:
        before = sorted(os.listdir(f"/proc/{process.pid}/task")), sorted(os.listdir(f"/proc/{process.pid}/fd"))
        for _ in range(3):
            leaks(process.pid)
        assert children(process.pid) == []
        after = sorted(os.listdir(f"/proc/{process.pid}/task")), sorted(os.listdir(f"/proc/{process.pid}/fd"))
        assert before == after, (before, after)
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "TracerPid:\t0" in status and "State:\tS" in status, status
    assert process.process.returncode == 0


def wiped_by_fork(pid):
    """The mappings that fork wipes, and their sizes."""
    found, mapping = [], ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0]:
            mapping = line.split(" ")[0]
        elif line.startswith("VmFlags:") and " wf" in line:
            found.append(mapping)
    return found


@claim
def the_copy_has_the_table_of_blocks_and_later_children_have_not():
    with exactly(KEEPS) as process:
        before = wiped_by_fork(process.pid)
        text = leaks(process.pid)
        assert "of which the kernel took" in text, text
        assert before and wiped_by_fork(process.pid) == before, (before, wiped_by_fork(process.pid))


@claim
def a_program_that_waits_for_its_children_does_not_see_the_copy():
    script = (
        "import os,threading,time\n"
        "child=os.fork()\n"
        "if not child: time.sleep(1000); os._exit(0)\n"
        "def reap():\n"
        "  global seen; seen=os.waitpid(-1,0)[0]\n"
        "waiter=threading.Thread(target=reap,daemon=True); waiter.start()\n"
    )
    with python(script + "import signal,atexit\n"
                "def finish():\n"
                "  os.kill(child,9); waiter.join(); os._exit(0 if seen==child else 9)\n"
                "atexit.register(finish)\n") as process:
        for _ in range(2):
            done = plimsoll("leaks", process.pid)
            assert done.returncode == 0, done.stderr
    assert process.process.returncode == 0, process.process.returncode


@claim
def an_interrupt_ends_the_look_and_the_copy():
    script = (
        "import ctypes\n"
        "libc=ctypes.CDLL(None); libc.malloc.restype=ctypes.c_void_p\n"
        "room=libc.malloc(100<<20); ctypes.memset(ctypes.c_void_p(room),1,100<<20)\n"
    )
    with python(script) as process:
        look = subprocess.Popen([PLIMSOLL, "leaks", str(process.pid)], stdout=subprocess.PIPE, text=True)
        while not children(process.pid) and look.poll() is None:
            pass
        look.send_signal(signal.SIGINT)
        said = look.communicate()[0]
        assert look.returncode == -signal.SIGINT and not said, (look.returncode, said)
        assert children(process.pid) == []
        done = plimsoll("leaks", process.pid)
        assert done.returncode == 0, done.stderr


@claim
def memory_that_forks_leave_out_is_read_while_the_process_stands_still():
    script = (
        "import ctypes,mmap\n"
        "libc=ctypes.CDLL(None); libc.malloc.restype=ctypes.c_void_p\n"
        "room=mmap.mmap(-1,65536)\n"
        "room.madvise(mmap.MADV_DONTFORK)\n"
        "block=libc.malloc(54321)\n"
        "room[64:72]=block.to_bytes(8,'little')\n"
        "del block\n"
    )
    with python(script) as process:
        done = plimsoll("leaks", process.pid, "--all-digits")
        assert "MADV_DONTFORK" in done.stdout and "54,321" not in done.stdout, done.stdout + done.stderr


def leaks_and_faults(pid):
    """What `plimsoll leaks` says, and how often the kernel had to provide a page for it."""
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_PERTURB_"}
    with subprocess.Popen([str(PLIMSOLL), "leaks", str(pid)], stdout=subprocess.PIPE, text=True,
                          env=environment | {"PLIMSOLL_CACHE": "off", "COLUMNS": "200"}) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, text
    return text, usage.ru_minflt


@claim
def terabytes_that_are_only_reserved_cost_nothing_and_pages_of_the_heap_are_not_copied():
    with exactly(KEEPS.parent / "wide") as process:
        text, faults = leaks_and_faults(process.pid)
        found = tables(text)
        assert found["lost"] == {"lose_one": ("104 B", 1)}, text
        assert not found.get("with") and not found.get("inner"), text
        read = re.search(r"([\d.]+) MiB were read, from a copy", text)
        assert read and 64 <= float(read[1]) < 128, text
        # The heap has 16,384 pages. The kernel would copy each, if it were asked to pin it.
        assert faults < 12000, (faults, text)


@claim
def blocks_from_before_attach_are_roots():
    with Process(KEEPS) as process:
        done = plimsoll("attach", process.pid, "--exact", "-q")
        assert done.returncode == 0, done.stderr
        text = leaks(process.pid)
        assert "lost: nothing" in text and "the profiler does not know" in text, text
        assert plimsoll("detach", process.pid, "-q").returncode == 0


@claim
def clean_programs_lose_nothing():
    with python("import json,re,threading,collections\nd={i:[str(i)] for i in range(20000)}") as process:
        text = leaks(process.pid)
        assert "lost: nothing" in text, text


@claim
def a_process_that_cannot_be_asked_is_refused_with_the_reason():
    refusals = []

    def expect_refusal(status, words, *arguments):
        done = plimsoll("leaks", *arguments)
        line = done.stderr.strip()
        if done.returncode != status or words not in line or "\n" in line or done.stdout:
            refusals.append(f"leaks {arguments}: status {done.returncode}: {done.stdout}{line}")

    expect_refusal(2, "needs the PID")
    expect_refusal(1, "there is no file", "nothing.plim")
    expect_refusal(2, "takes one", "1", "2")
    expect_refusal(1, "was started without Plimsoll", str(os.getpid()))
    ended = subprocess.Popen(["true"])
    ended.wait()
    expect_refusal(1, "there is no process", str(ended.pid))
    claims.expect(refusals)


if __name__ == "__main__":
    sys.exit(claims.main())
