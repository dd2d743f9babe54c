# SPDX-License-Identifier: MIT
"""pythons - the interpreters that the package is tested with: the system's, and others of this machine."""

import functools
import json
import os
import subprocess
from pathlib import Path

from built import BUILD, PLIMSOLL, RUNTIME, SOURCE, environment
from claims import Skip
from patience import PATIENCE_S

PACKAGE = SOURCE / "python"
PROGRAMS = Path(__file__).resolve().parent / "programs"
SYSTEM = Path("/usr/bin/python3")
OLDEST = (3, 9)
PLACES = ("/usr/bin", "/usr/local/bin", *sorted(map(str, Path.home().glob(".pyenv/versions/*/bin"))))


def variables(**settings):
    """An environment in which the package is found in the tree, and nothing is written there."""
    path = f"{PLIMSOLL.parent}:{os.environ['PATH']}"
    unwanted = {name: None for name in os.environ if name.startswith(("PYTHON", "PYTEST", "PIP_", "VIRTUAL_ENV"))}
    return environment(**{**unwanted, "PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": 1, "PATH": path,
                          "PIP_NO_INDEX": 1, "PIP_DISABLE_PIP_VERSION_CHECK": 1, "DEBUGINFOD_URLS": "",
                          "COLUMNS": 200, **settings})


def run(*command, status=0, where=None, **settings):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=where,
                          env=variables(**settings), stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    said = f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert status is None or done.returncode == status, said
    return done


@functools.lru_cache(maxsize=None)
def found():
    """(major, minor, micro) -> path of an interpreter that the package is for; the system's is preferred."""
    pythons = {}
    names = ["python3", *(f"python3.{minor}" for minor in range(OLDEST[1], 30))]
    for path in [SYSTEM, *(Path(place) / name for place in PLACES for name in names)]:
        if not os.access(path, os.X_OK):
            continue
        code = "import ctypes, sys; print(*sys.version_info[:3])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, env=variables())
        version = tuple(map(int, done.stdout.split())) if done.returncode == 0 else (0, 0)
        if version >= OLDEST:
            pythons.setdefault(version, path)
    return pythons


def system():
    if SYSTEM not in found().values():
        raise Skip(f"there is no {SYSTEM} of version {'.'.join(map(str, OLDEST))} or later")
    return SYSTEM


def other():
    """The oldest of the others."""
    others = [path for _, path in sorted(found().items()) if path != SYSTEM]
    if not others:
        raise Skip("there is only one Python on this machine")
    return others[0]


@functools.lru_cache(maxsize=None)
def pytest_version(python):
    done = run(python, "-c", "import pytest; print(pytest.__version__)", status=None)
    return done.stdout.strip()


def profiled(python, place, *words, preload=RUNTIME, sample="exact", **settings):
    """Runs a Python program in a directory under the runtime. Returns its output, and the profile as JSON or None."""
    live = Path(place) / "live"
    live.mkdir(exist_ok=True)
    out = Path(place) / "out.plim"
    done = run(python, "-W", "error", *words, where=place, LD_PRELOAD=preload, PLIMSOLL_SAMPLE=sample,
               PLIMSOLL_LIVE_DIR=live, PLIMSOLL_OUT=out, PLIMSOLL_SEED=1, **settings)
    profile = json.loads(run(PLIMSOLL, "export", "--format", "json", out).stdout) if out.exists() else None
    return done.stdout, profile


__all__ = ["BUILD", "PACKAGE", "PROGRAMS", "SOURCE", "found", "other", "profiled", "pytest_version", "run", "system"]
