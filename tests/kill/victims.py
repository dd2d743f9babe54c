# SPDX-License-Identifier: MIT
"""victims - starts the victim under the profiler, and reads what it leaves behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import plim  # noqa: E402
from ledger import Ledger, Turns, compare  # noqa: E402

BUILD = Path(os.environ.get("PLIMSOLL_BUILD", HERE.parent.parent / "build")).resolve()
PROGRAMS = BUILD / "tests" / "kill"
RUNTIME = BUILD / "libplimsoll.so"
PLIMSOLL = BUILD / "plimsoll"
VICTIM = PROGRAMS / "victim"
PLUGIN = PROGRAMS / "plugin.so"
PLUGINS = 6
TIMEOUT_S = 120

turns = Turns(VICTIM)


def environment(**settings):
    """The caller's, without anything of ours in it but `settings`; those that are None are left out."""
    words = {k: v for k, v in os.environ.items() if not k.startswith("PLIMSOLL_") and k != "LD_PRELOAD"}
    words.update(settings)
    return {k: str(v) for k, v in words.items() if v is not None}


class Place:
    """A directory on tmpfs in which one program lives, dies, and leaves its files."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm"))
        self.live = self.path / "live"
        self.live.mkdir()
        self.ledger_path = self.path / "ledger"
        self.plugins = []

    def copy_plugins(self):
        """The same code under several names: each is a module of its own."""
        for i in range(PLUGINS):
            self.plugins.append(self.path / f"plugin-{i}.so")
            shutil.copy(PLUGIN, self.plugins[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    # ---- running ----

    def settings(self, sample):
        return {
            "LD_PRELOAD": RUNTIME,
            "PLIMSOLL_SAMPLE": sample,
            "PLIMSOLL_LIVE_DIR": self.live,
            "PLIMSOLL_OUT": self.path / "out.plim",
        }

    def start_victim(self, ending, after_ms, sample="1", before=(), **options):
        self.copy_plugins()
        words = [*before, VICTIM, self.ledger_path, ending, after_ms, *self.plugins]
        return subprocess.Popen(
            [str(word) for word in words],
            env=environment(**({} if before else self.settings(sample))),
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,
        )

    def run_victim(self, ending, after_ms, **options):
        """The status as waitpid gives it to Python: negative for a signal."""
        process = self.start_victim(ending, after_ms, **options)
        try:
            return process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the victim does not end by {ending}") from None

    # ---- reading ----

    def ledger(self):
        return Ledger(self.ledger_path) if self.ledger_path.exists() else None

    def files(self):
        return plim.find(self.path)

    def victim_profile(self):
        """The one profile of the victim that has anything in it: forks and execs leave others."""
        profiles = [plim.Profile(path) for path in self.files()]
        chosen = [p for p in profiles if p.comm == "victim" and p.rows]
        assert len(chosen) == 1, f"{[(p.path, p.comm, len(p.rows)) for p in profiles]}"
        return chosen[0]


def export(path):
    """What the reader makes of a profile."""
    done = subprocess.run([PLIMSOLL, "export", "--format", "json", path], capture_output=True, env=environment())
    assert done.returncode == 0, f"export: status {done.returncode}: {done.stderr.decode()}"
    return json.loads(done.stdout)


def agree(profile, exported):
    """The reader in C and the one in tests/lib must see the same, but for rows that were caught in a change."""
    found = []
    in_flight = sum(row.torn for row in profile.rows.values())
    if exported["reading"]["damage"]:
        found.append(f"the reader says: {exported['reading']}")
    for what, ours in {
        "alloc_objects": profile.calls,
        "alloc_space": profile.bytes,
    }.items():
        if exported["totals"][what]["value"] != ours:
            found.append(f"{what}: the reader says {exported['totals'][what]['value']}, the file {ours}")
    samples = profile.total("allocated").samples
    if abs(exported["sampling"]["samples"] - samples) > in_flight:
        found.append(f"the reader sees {exported['sampling']['samples']} samples, the file has {samples}")
    return found


def status_of(name):
    return -int(getattr(signal, name))


def expect(problems, said=""):
    """Fails with the first few of them."""
    problems = list(problems)
    assert not problems, "\n".join([f"{len(problems)} problems {said}:", *problems[:12]])
