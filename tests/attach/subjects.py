# SPDX-License-Identifier: MIT
"""subjects - processes to attach to, and what is asked about them."""

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ["PLIMSOLL_SOURCE"])
BUILD = Path(os.environ["PLIMSOLL_BUILD"])
sys.path.insert(0, str(SOURCE / "tests" / "lib"))

from patience import PATIENCE_S, await_readable, await_true

PLIMSOLL = BUILD / "plimsoll"
SUBJECT = BUILD / "tests" / "attach" / "subject"
PLUGIN = BUILD / "tests" / "attach" / "attach-plugin.so"
WAIT = f"{PATIENCE_S}s"  # for a safe moment: only a hang takes so long


def environment():
    """Without settings of the caller's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")} | {
        "PLIMSOLL_CACHE": "off",
        "LC_ALL": "C.UTF-8",
    }


class Place:
    """A directory for the profiles of one claim."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-attach."))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def plimsoll(self, *words, **how):
        command = [str(word) for word in (PLIMSOLL, *words)]
        return subprocess.run(command, cwd=self.path, env=environment(), capture_output=True, text=True, **how)

    def attach(self, pid, *words):
        done = self.plimsoll("attach", pid, "--wait", WAIT, *words)
        assert done.returncode == 0, f"attach: status {done.returncode}: {done.stderr}"
        return done.stderr

    def detach(self, pid, *words):
        done = self.plimsoll("detach", pid, "--wait", WAIT, *words)
        assert done.returncode == 0, f"detach: status {done.returncode}: {done.stderr}"
        return done.stderr

    def cycle(self, pid, name="cycle.plim"):
        self.attach(pid, "-q", "-o", name)
        self.detach(pid, "-q", "--no-symbols")

    def read(self, name):
        done = self.plimsoll("export", "--format", "json", self.path / name)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


class Subject:
    """A running process of tests/attach/subject.c, or another command that prints `ready`."""

    def __init__(self, *words, command=None, **how):
        command = [str(word) for word in (command or (SUBJECT, *words))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), bufsize=0, **how
        )
        self.pid = self.process.pid
        self.ready = self.line()
        assert self.ready.startswith("ready"), self.ready

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def line(self):
        await_readable(self.process.stdout)
        return self.process.stdout.readline().decode().strip()

    def order(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        answer = self.line()
        assert answer == "done", f"{words}: {answer}"

    def status(self, field):
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return line.split(":", 1)[1].strip()
        return ""

    def is_well(self):
        """It runs, nobody traces it, it is not stopped, and it has found no fault."""
        assert self.process.poll() is None, f"it ended with {self.process.returncode}"
        await_true(lambda: self.status("TracerPid") == "0", "the end of tracing")
        assert self.status("State")[0] not in "Tt", self.status("State")
        readable, _, _ = select.select([self.process.stdout], [], [], 0)
        assert not readable, self.line()

    def progresses(self):
        """Its threads use CPU time."""

        def ticks():
            return sum(map(int, Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))

        before = ticks()
        await_true(lambda: ticks() > before, "progress")

    def code(self, name="libc.so.6"):
        """The bytes of a library's executable mapping, without the padding of its last page."""
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            span, flags, _, _, _, *path = line.split()
            if "x" in flags and path and path[0].endswith("/" + name):
                start, end = (int(part, 16) for part in span.split("-"))
                with open(f"/proc/{self.pid}/mem", "rb") as memory:
                    memory.seek(start)
                    return memory.read(end - start - 4096)
        raise AssertionError(f"{name} is not mapped")


def calls_by_function(profile):
    """Calls for each function that is on a stack, and the live blocks."""
    calls, live = {}, {}
    names = [frame["function"] for frame in profile["frames"]]
    for site in profile["sites"]:
        frames = profile["stacks"][site["stack"]] if site["stack"] is not None else []
        for name in {names[frame] for frame in frames}:
            calls[name] = calls.get(name, 0) + site["alloc_objects"]["value"]
            live[name] = live.get(name, 0) + site["inuse_objects"]["value"]
    return calls, live
