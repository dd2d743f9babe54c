# SPDX-License-Identifier: MIT
"""interpreters - the Pythons that are here, and how tests run them under Plimsoll."""

import os
import subprocess
from pathlib import Path

from built import PLIMSOLL, environment
from claims import Skip
from patience import PATIENCE_S

DEBIAN = "/usr/bin/python3"
OLDEST, NEWEST = (3, 9), (3, 14)
VERSIONS = [*[(3, minor) for minor in range(9, 15)], (3, 13, "t"), (3, 14, "t")]  # t: without a GIL


def version_of(python):
    code = "import sys; print(*sys.version_info[:2], sys.abiflags)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    major, minor, *flags = done.stdout.split()
    return int(major), int(minor), *flags


def interpreters():
    """Debian's; those of pyenv; and those that PLIMSOLL_TEST_PYTHONS names, with colons between them."""
    others = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    named = os.environ.get("PLIMSOLL_TEST_PYTHONS", "").split(":")
    found = {(DEBIAN, version_of(DEBIAN))}
    for python in filter(None, [*map(str, others), *named]):
        version = version_of(python)
        if version and OLDEST <= version[:2] <= NEWEST:
            found.add((python, version))
    return sorted(found)


def run(place, mode, *command):
    done = subprocess.run(
        [PLIMSOLL, "run", *mode, "--output", Path(place) / "%p.plim", "--", *command], cwd=place, env=environment(),
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, sorted(Path(place).glob("*.plim"))


def ask(*words):
    done = subprocess.run([PLIMSOLL, *map(str, words)], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def missing(name):
    raise Skip(f"there is no Python {name} here: PLIMSOLL_TEST_PYTHONS=/path/to/python{name} names one")


def name_of(version):
    return ".".join(map(str, version[:2])) + "".join(version[2:])
