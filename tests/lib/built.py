# SPDX-License-Identifier: MIT
"""built - what is tested: the build directory, the files in it, and an environment without the caller's settings.

PLIMSOLL_BUILD names the directory; without it, it is `build` in the tree.
"""

import json
import os
import platform
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("PLIMSOLL_BUILD", SOURCE / "build")).resolve()
RUNTIME = BUILD / "libplimsoll.so"
PLIMSOLL = Path(os.environ.get("PLIMSOLL_COMMAND", BUILD / "plimsoll"))
SYSROOT = os.environ.get("PLIMSOLL_SYSROOT")  # has the libraries of programs for another processor
EMULATOR = os.environ.get("PLIMSOLL_EMULATOR", "").split()  # for a build for another processor
MACHINE = "aarch64" if EMULATOR else platform.machine()
SYSTEM_LOADER = Path({"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}[MACHINE])


def environment(**settings):
    """The caller's environment without our variables and without a cache, plus `settings`. Settings that are None are
    left out."""
    words = {k: v for k, v in os.environ.items() if not k.startswith("PLIMSOLL_") and k != "LD_PRELOAD"}
    words.update({"PLIMSOLL_CACHE": "off", **settings})
    return {k: str(v) for k, v in words.items() if v is not None}


def runnable(command, variables):
    """The same, or command and environment of the emulator: it must not obey LD_PRELOAD itself, but pass it on."""
    command = [str(word) for word in command]
    if not EMULATOR:
        return command, variables
    variables = dict(variables)
    preload = variables.pop("LD_PRELOAD", None)
    return [*EMULATOR, *(["-E", f"LD_PRELOAD={preload}"] if preload else []), *command], variables


def finish(process, timeout_s, kill=subprocess.Popen.kill):
    """Waits for a process whose output is piped to us. A process that hangs is killed and is a failure."""
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        kill(process)
        stdout, stderr = process.communicate()
        raise AssertionError(f"{' '.join(map(str, process.args))} hangs\n{stdout}\n{stderr}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def export(path, *options):
    """The JSON export of a profile."""
    where = ["--sysroot", SYSROOT] if SYSROOT else []
    command = [PLIMSOLL, "export", *where, "--format", "json", *options, path]
    done = subprocess.run(command, capture_output=True, env=environment())
    assert done.returncode == 0, f"export: status {done.returncode}: {done.stderr.decode()}"
    return json.loads(done.stdout)


def stand_in_for_ninja(directory):
    """A PATH on which ninja does nothing: the build is under test and must not change."""
    program = Path(directory) / "bin" / "ninja"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$1" != --version ] || echo 1.11.1\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"
