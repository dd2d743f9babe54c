# SPDX-License-Identifier: MIT
"""packaged - shared by the tests of releases, installations and packages."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from built import BUILD, PLIMSOLL, SOURCE, environment, stand_in_for_ninja  # noqa: E402, F401
from claims import Skip, claim, expect, main  # noqa: E402, F401

VERSION = (SOURCE / "VERSION").read_text().strip()

# The variables of the make that has started us are not for the one that we start.
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR", "PREFIX", "BUILD", "GLIBC")


def run(*command, cwd=SOURCE, **settings):
    """The output of the command, which must succeed."""
    chosen = environment(**{**dict.fromkeys(OF_MAKE), **settings})
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=chosen, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def scratch():
    return tempfile.TemporaryDirectory(prefix="plimsoll-test.")


def contents(directory):
    """The relative paths of everything in a directory. Directories end with a slash."""
    paths = [(path, path.relative_to(directory)) for path in Path(directory).rglob("*")]
    return {f"{name}/" if path.is_dir() and not path.is_symlink() else str(name) for path, name in paths}
