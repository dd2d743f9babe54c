# SPDX-License-Identifier: MIT
"""subjects - programs that run while snapshots of them are taken, and helpers to read those."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import built  # noqa: E402
from built import BUILD, PLIMSOLL, RUNTIME  # noqa: E402
from patience import PATIENCE_S, await_true  # noqa: E402, F401

STEPS = BUILD / "tests" / "snapshots" / "snapshots-steps"
BUSY = BUILD / "tests" / "snapshots" / "snapshots-busy"
COPIES = BUILD / "tests" / "snapshots" / "snapshots-copies"


def environment(**settings):
    """Without servers for debug information."""
    return built.environment(**settings, DEBUGINFOD_URLS="")


class Place:
    """A directory for a test, removed at its end."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-test."))
        self.live = self.path / "live"
        self.live.mkdir()
        self.running = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
        shutil.rmtree(self.path, ignore_errors=True)

    def profiled(self, *words, sample="exact", out="app.plim", **options):
        """Starts a program under the profiler, without `run`, and waits until it is up."""
        settings = {
            "LD_PRELOAD": RUNTIME,
            "PLIMSOLL_SAMPLE": sample,
            "PLIMSOLL_LIVE_DIR": self.live,
            "PLIMSOLL_OUT": self.path / out,
        }
        return self.start(*words, env=environment(**settings), **options)

    def start(self, *words, env=None, **options):
        process = subprocess.Popen(
            [str(word) for word in words],
            env=env or environment(),
            cwd=self.path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )
        self.running.append(process)
        assert process.stdout.readline() == "up\n"
        return process

    def plimsoll(self, *words, status=0, **options):
        """(stdout, stderr). The exit status must be `status`."""
        command = [str(word) for word in (PLIMSOLL, *words)]
        options.setdefault("cwd", self.path)
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), **options)
        assert done.returncode == status, f"{words}: status {done.returncode}: {done.stderr}"
        return done.stdout, done.stderr

    def snapshot(self, process, *words, **options):
        """Takes a snapshot and returns its path."""
        out, _ = self.plimsoll("snapshot", process.pid, *words, **options)
        path = Path(out.rstrip("\n"))
        return path if path.is_absolute() else self.path / path

    def profiles(self):
        return sorted(path.name for path in self.path.glob("*.plim*") if not path.is_symlink())

    def read(self, path, *words):
        return json.loads(self.plimsoll("export", "--format", "json", *words, path)[0])


def ask(process, line):
    """Sends one line to the program and returns its answer."""
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return process.stdout.readline().rstrip("\n")


def kept_by(exported):
    """How many blocks keep_block() of steps.c holds, according to a profile with names."""
    frames = [frame["function"] for frame in exported["frames"]]
    total = 0
    for site in exported["sites"]:
        stack = exported["stacks"][site["stack"]] if site["stack"] is not None else []
        if "keep_block" in (frames[frame] for frame in stack):
            total += site["inuse_objects"]["value"]
    return total


def undisturbed(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert process.poll() is None
    assert "TracerPid:\t0\n" in status and "\nState:\tT" not in status
    assert re.search(r"^SigPnd:\t0+$", status, re.M) and re.search(r"^ShdPnd:\t0+$", status, re.M)
