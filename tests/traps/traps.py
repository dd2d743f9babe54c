# SPDX-License-Identifier: MIT
"""traps - shared by the trap tests: runs a program with and without us, and reads the profile.

A claim is a function, and its name is the sentence that is shown. It fails by raising, is skipped by raising Skip, and
may print what helps. Each file has the claims of one subject and prints TAP:

    python3 startup.py             all of its claims
    python3 startup.py seccomp     those with "seccomp" in their names

A program of programs/ checks its own behaviour and ends with 0 if everything is right. Its stdout and stderr must be
the same with and without us. Its use of the heap is compared with the profile.
"""

import bisect
import contextlib
import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import allocators  # noqa: E402
import built  # noqa: E402
import claims  # noqa: E402
import plim  # noqa: E402
from built import BUILD, RUNTIME  # noqa: E402
from claims import Skip, main  # noqa: E402, F401
from patience import PATIENCE_S  # noqa: E402

PROGRAMS = BUILD / "tests" / "traps"
RUNTIME_CXX = BUILD / "libplimsoll-cxx.so"
ALLOCATORS = {name: path for name in allocators.LIBRARIES if (path := allocators.find(name))}
TIMEOUT_S = int(os.environ.get("TRAPS_TIMEOUT", PATIENCE_S))

# Behaviour is tested in three ways: all sampled, nearly nothing sampled, and all sampled into a file that is soon full.
EVERYTHING = {"PLIMSOLL_SAMPLE": "1"}
RARELY = {"PLIMSOLL_SAMPLE": "512K"}
CRAMPED = {"PLIMSOLL_SAMPLE": "1", "PLIMSOLL_MAX_FILE": "256K"}
WAYS = {"everything": EVERYTHING, "rarely": RARELY, "cramped": CRAMPED}


# ---- running ----


class Run:
    """One run of a program in its own directories."""

    def __init__(self, completed, place):
        self.status = completed.returncode
        self.stdout = completed.stdout
        self.stderr = completed.stderr
        self.place = place

    def files(self):
        """Profiles at their destination."""
        return plim.find(self.place.work)

    def live_files(self):
        """Profiles that have not been moved."""
        return plim.find(self.place.live)

    def profiles(self):
        """All of them, moved or not. Each must fulfil every rule of format.h."""
        return [sound(path) for path in self.files() + self.live_files()]

    def profile(self):
        profiles = self.profiles()
        assert len(profiles) == 1, f"one profile expected: {[p.path for p in profiles]}"
        return profiles[0]

    def outcome(self):
        return self.status, self.stdout, self.stderr

    def succeeds(self):
        assert self.status == 0, f"status {self.status}\n{self.stdout}\n{self.stderr}"
        return self


class Place:
    """Where a program runs (work), and where its live profile is (live, on tmpfs)."""

    def __init__(self):
        self.work = Path(tempfile.mkdtemp(prefix="traps."))
        self.live = Path(tempfile.mkdtemp(prefix="traps.", dir="/dev/shm"))
        self.work.chmod(0o777)
        self.live.chmod(0o777)

    def remove(self):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.live, ignore_errors=True)


places = []


def place():
    """A new place, removed at the end of the claim."""
    places.append(Place())
    return places[-1]


def program(name):
    return str(PROGRAMS / name)


def environment(at, settings, preload):
    """The environment of a profiled program: without the caller's PLIMSOLL_*, and without settings that are None."""
    words = {"PLIMSOLL_LIVE_DIR": at.live, **settings}
    if preload:
        words["LD_PRELOAD"] = " ".join(str(library) for library in preload)
    return built.environment(**words)


def start(command, settings=None, preload=(RUNTIME,), at=None, before=(), **options):
    """Starts `command` (a name of programs/ and its arguments). `before` is a command that starts it."""
    at = at or place()
    words = [*before, program(command[0]), *command[1:]]
    options.setdefault("cwd", at.work)
    options.setdefault("env", environment(at, settings or {}, preload))
    words, options["env"] = built.runnable(words, options["env"])
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, **pipes, **options)
    process.place = at
    return process


def run(*command, **options):
    process = start(command, **options)
    return Run(built.finish(process, TIMEOUT_S), process.place)


def bare(*command, preload=(), **options):
    return run(*command, preload=preload, **options)


def behaves(*command, ways=WAYS, over=(), runtime=RUNTIME, **options):
    """Runs the program without us and in each way. It must succeed and print the same. Returns the runs by way.

    `over` are libraries behind us, such as another allocator. Without us they are preloaded alone.
    """
    without = bare(*command, preload=over, **options).succeeds()
    runs = {}
    for name, settings in ways.items():
        with_us = run(*command, settings=settings, preload=(runtime, *over), **options)
        assert with_us.outcome() == without.outcome(), f"{name}: {with_us.outcome()} and not {without.outcome()}"
        with_us.profiles()
        runs[name] = with_us
    return runs


def sampled(*command, **options):
    """The profile of a well-behaved program with every allocation sampled."""
    return behaves(*command, **options)["everything"].profile()


def sound(path):
    profile = plim.Profile(path)
    problems = list(profile.problems())
    assert not problems, f"{path}:\n" + "\n".join(problems)
    return profile


# ---- who allocated ----


@functools.lru_cache(maxsize=None)
def symbols(path):
    """Functions of an ELF file: sorted (start, end, name)."""
    output = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in output.splitlines()]
    code = [(int(w[0], 16), int(w[1], 16), w[3]) for w in words if len(w) == 4 and w[2] in "tTiIwW"]
    return sorted((start, start + size, name) for start, size, name in code)


def function_at(path, address):
    if not os.path.exists(path):
        return None
    table = symbols(path)
    i = bisect.bisect(table, (address, float("inf"), "")) - 1
    return table[i][2] if i >= 0 and table[i][0] <= address < table[i][1] else None


def names(profile, stack):
    """The functions of a stack, innermost first; None for those without a symbol."""
    frames = []
    for module, address, flags in profile.stack(stack):
        exact = flags & plim.FRAME_EXACT
        frames.append(function_at(profile.modules[module].path or "", address - (0 if exact else 1)))
    return frames


class Figures:
    """The figures of all stacks that contain a function."""

    def __init__(self, profile, function):
        chosen = [row for row in profile.rows.values() if function in names(profile, profile.sites[row.site][1])]
        self.rows = chosen
        self.allocated = sum((row.allocated for row in chosen), plim.Sums())
        self.freed = sum((row.freed for row in chosen), plim.Sums())
        self.remote = sum((row.remote for row in chosen), plim.Sums())
        self.gone = self.freed + self.remote

    @property
    def live(self):
        return self.allocated.samples - self.gone.samples

    @property
    def live_bytes(self):
        return self.allocated.space - self.gone.space


def lost(profile):
    """The losses that are not zero."""
    return {name: n for name, n in profile.losses.items() if n}


# ---- the machine ----


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


@contextlib.contextmanager
def small_tmpfs(options):
    """A file system that is mounted during a claim."""
    need_root()
    at = Path(tempfile.mkdtemp(prefix="traps.mount."))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "traps", at], capture_output=True).returncode:
        at.rmdir()
        raise Skip("cannot mount")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", at], check=True)
        at.rmdir()


def limited(**limits):
    """An option for run(): the limits that the program starts with."""

    def set_limits():
        for name, value in limits.items():
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))

    return {"preexec_fn": set_limits}


def signalled(number):
    return -int(getattr(signal, number))


# ---- claims ----


def claim(function):
    """A claim that leaves no directory behind."""

    @functools.wraps(function)
    def tidy():
        try:
            function()
        finally:
            while places:
                places.pop().remove()

    return claims.claim(tidy)
