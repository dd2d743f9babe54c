# SPDX-License-Identifier: MIT
"""leaks - `plimsoll leaks PID` says of each block what has become of it, and leaves no trace in the process."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["PLIMSOLL_SOURCE"])
BUILD = Path(os.environ["PLIMSOLL_BUILD"])
sys.path.insert(0, str(SOURCE / "tests" / "lib"))

import claims
from claims import claim
from patience import await_readable

PLIMSOLL = BUILD / "plimsoll"
KEEPS = BUILD / "tests" / "reach" / "keeps"
SECTIONS = {"Lost": "lost", "Lost with those": "with", "Probably held": "inner"}


def plimsoll(*words):
    command = [str(word) for word in (PLIMSOLL, *words)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
    return subprocess.run(
        command, env=environment | {"PLIMSOLL_CACHE": "off", "LC_ALL": "C.UTF-8", "COLUMNS": "200"},
        capture_output=True, text=True, check=False,
    )


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


class Process:
    """A command that prints `ready`, and the pid of the process that did."""

    def __init__(self, *words):
        self.place = tempfile.TemporaryDirectory(prefix="plimsoll-reach.")
        command = [str(word) for word in words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.place.name)
        await_readable(self.process.stdout)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = int(children(self.process.pid)[0]) if words[0] == PLIMSOLL else self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.place.cleanup()


def exactly(*words):
    return Process(PLIMSOLL, "run", "--exact", "-q", "-o", "keeps.plim", "--", *words)


def python(script):
    return exactly("python3", "-c", f"import sys\n{script}\nprint('ready', flush=True)\nsys.stdin.read()")


def tables(text):
    """The figures of each function, by section: (bytes, blocks)."""
    found, section = {word: {} for word in SECTIONS.values()}, None
    for line in text.splitlines():
        titles = [title for title in SECTIONS if re.match(rf"{title}(  |$)", line)]
        section = SECTIONS[max(titles, key=len)] if titles else section if line.strip() else None
        row = re.match(r"  [\u2580-\u259f ]*\s([\d,.]+ (?:B|KiB|MiB))\s+([\d,]+)\s.*0x[0-9a-f]+\s+(\w+)", line)
        if section and row:
            found[section][row[3]] = (row[1], int(row[2].replace(",", "")))
    return found


def leaks(pid, *words):
    done = plimsoll("leaks", pid, "--inner", "--depth", "1", "--top", "100", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kinds(name):
    """In which sections a function of keeps.cpp belongs."""
    return {"lost": {"lost"}, "with": {"with"}, "inner": {"inner"}, "held": set()}.get(
        name.split("_")[0], {"lost", "with"} if name.endswith("of_lost") else None
    )


def functions():
    text = (SOURCE / "tests/reach/keeps.cpp").read_text()
    names = re.findall(r"^MAKES\((\w+),|^APART \w+ \*?(inner_\w+|shared_\w+)\(", text, re.MULTILINE)
    return {name for pair in names for name in pair if name} - {"freed_holder"}


def check_verdicts(text):
    found, problems = tables(text), []
    for name in sorted(functions()):
        sections = {section for section in found if name in found[section]}
        if sections != kinds(name):
            problems.append(f"{name} is in {sorted(sections)}, not in {sorted(kinds(name))}")
    known = functions()
    for section, rows in found.items():
        problems += [f"{name} is {section}: {row}" for name, row in rows.items() if name not in known]
    claims.expect(problems, f"in\n{text}")


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
    expect_refusal(2, "not a PID", "nothing.plim")
    expect_refusal(2, "takes one", "1", "2")
    expect_refusal(1, "was started without Plimsoll", str(os.getpid()))
    ended = subprocess.Popen(["true"])
    ended.wait()
    expect_refusal(1, "there is no process", str(ended.pid))
    with Process(PLIMSOLL, "run", "--sample", "1M", "-q", "-o", "s.plim", "--", KEEPS) as process:
        expect_refusal(1, "is sampled", str(process.pid))
    claims.expect(refusals)


if __name__ == "__main__":
    sys.exit(claims.main())
