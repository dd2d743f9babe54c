# SPDX-License-Identifier: MIT
"""victims - starts the victim under the profiler, and reads what it leaves."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import plim  # noqa: E402
from built import BUILD, PLIMSOLL, RUNTIME, environment, export, runnable  # noqa: E402, F401
from claims import expect  # noqa: E402, F401
from kill_ledger import Ledger, Turns, compare  # noqa: E402
from patience import PATIENCE_S  # noqa: E402, F401
from place import LedgerPlace  # noqa: E402

PROGRAMS = BUILD / "tests" / "kill"
VICTIM = PROGRAMS / "victim"
PLUGIN = PROGRAMS / "plugin.so"
PLUGINS = 6

turns = Turns(VICTIM)


class Place(LedgerPlace):
    """A directory on tmpfs in which one program runs and leaves its files."""

    def __init__(self):
        super().__init__()
        self.plugins = []

    def copy_plugins(self):
        """The same code under several names, so that each is a module of its own."""
        for i in range(PLUGINS):
            self.plugins.append(self.path / f"plugin-{i}.so")
            shutil.copy(PLUGIN, self.plugins[-1])

    # ---- running ----

    def settings(self, sample):
        return {
            "LD_PRELOAD": RUNTIME,
            "PLIMSOLL_SAMPLE": sample,
            "PLIMSOLL_LIVE_DIR": self.live,
            "PLIMSOLL_OUT": self.path / "out.plim",
        }

    def start_victim(self, ending, turns_before, sample="1", before=(), **options):
        self.copy_plugins()
        words = [*before, VICTIM, self.ledger_path, ending, turns_before, *self.plugins]
        command, variables = runnable(words, environment(**({} if before else self.settings(sample))))
        return subprocess.Popen(
            command,
            env=variables,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **options,
        )

    def run_victim(self, ending, turns_before, **options):
        """The status as Python's waitpid gives it: negative for a signal."""
        process = self.start_victim(ending, turns_before, **options)
        try:
            return process.wait(PATIENCE_S)
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
        """The only profile of the victim that has samples. Forks and execs leave others, in which the ledger is mapped."""
        profiles = [plim.Profile(path) for path in self.files()]
        chosen = [p for p in profiles if p.comm == "victim" and p.total("allocated").samples]
        assert len(chosen) == 1, f"{[(p.path, p.comm, len(p.rows)) for p in profiles]}"
        return chosen[0]


def agree(profile, exported):
    """The reader in C and the one in tests/lib must agree, except for rows that were being written."""
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
