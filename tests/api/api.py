# SPDX-License-Identifier: MIT
"""api - shared by the tests of the API: compiles a program as its authors might, and runs it with and without us."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

from built import BUILD, PLIMSOLL, RUNTIME, environment  # noqa: E402, F401
from claims import Skip, add, claim, main, say  # noqa: E402, F401
from patience import PATIENCE_S  # noqa: E402

SOURCE = Path(os.environ.get("PLIMSOLL_SOURCE", HERE.parent.parent)).resolve()
INCLUDE = SOURCE / "include"
EXAMPLES = BUILD / "examples"
STUB = BUILD / "libplimsoll-stub.so"

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


def linked(name):
    """Linker options for a library of the build directory. Weak symbols alone would not make the linker need it."""
    return [f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-Wl,--push-state,--no-as-needed", f"-l{name}", "-Wl,--pop-state"]


def scratch():
    return tempfile.TemporaryDirectory(prefix="plimsoll-api-")


def have(program):
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")


def run(*command, cwd=None, **variables):
    """Runs a command that must succeed, with an environment that has nothing of ours but `variables`."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment(**variables),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=PATIENCE_S)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compile_program(compiler, source, program, *options, libraries=()):
    have(compiler)
    run(compiler, f"-I{INCLUDE}", *options, source, "-o", program, *libraries)


def compare(expected, found, what):
    wrong = {key: (found.get(key), value) for key, value in expected.items() if found.get(key) != value}
    for key, (is_, should_be) in wrong.items():
        say(f"{what}: {key} is {is_}, not {should_be}")
    assert not wrong, f"{what}: {len(wrong)} of {len(expected)} wrong"
