# SPDX-License-Identifier: MIT
"""docs - the documents must be true. usage: docs.py functions | commands

functions   every `name()` in ARCHITECTURE.md is a function of src/
commands    every line of a code block that begins with `$ ` runs, in a scratch directory that looks like the tree; and
            no document records two profiles under one name, because later commands would show the wrong one
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from build import BUILD, SOURCE, verdict

sys.path.insert(0, str(SOURCE / "tests/lib"))

from built import stand_in_for_ninja  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

# Commands that are not run as they are: (pattern, replacement). They contain this very test, change the build under
# test, take minutes or do not end. The replacement still checks that their targets exist.
REPLACED = [
    (r"\bmake (check|soak|bench|clean|format|dist|deb|glibc\b.*|(?:un)?install\b.*)", r"make -n \1"),
    (r"^(tools/check|src/glibc/selftest|src/glibc/build|bench/run|bench/insert)\b.*", r"\1 --help"),
    (r"--for \d+[sm]\b", "--for 200ms"),
    # The process may have to wait for its turn on a busy machine.
    (r"^(\S*plimsoll control PID \w[^#\n]*)", rf"\1 --wait {PATIENCE_S}s "),
    # It needs a terminal.
    (r"^(\S*plimsoll top\b)(?!.*--once)( PID)?", r"\1 --once PID"),
    # They serve, or send to a store, until they are ended.
    (r"^(\S*plimsoll serve\b[^#\n]*).*",
     r"exec 3< <(exec \1 --listen 127.0.0.1:0); read -r url <&3 && kill $! && wait $!"),
    (r"^(\S*plimsoll push\b).*", r"\1 --help"),
    (r"^(\S*plimsoll view [^#\n]*).*", r"exec 3< <(exec \1 --no-open); read -r url <&3 && kill $! && wait $!"),
]

# PID in a command stands for the pid of this program, which is being profiled; after `attach` and `detach`, for that of
# one that is not.
RUNNING = """
import time
kept = [bytes(1000) for _ in range(20000)]
print('up', flush=True)
while True:
    kept[0] = bytes(1000)
    time.sleep(0.001)
"""


def documents():
    return [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").rglob("*.md"))]


def functions():
    names = sorted(set(re.findall(r"`(\w+)\(\)`", (SOURCE / "ARCHITECTURE.md").read_text())))
    code = "\n".join(path.read_text() for path in (SOURCE / "src").rglob("*.[ch]"))
    outside = re.findall(r"^(?!\s)[^\n;=]*\(", code, re.MULTILINE)
    defined = {name for line in outside for name in re.findall(r"\b(\w+) ?\(", line)}
    verdict([f"ARCHITECTURE.md names {name}(), which src/ does not define" for name in names if name not in defined],
            len(names))


def commands_of(document):
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", document.read_text(), re.MULTILINE | re.DOTALL):
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE):
            yield command


def recorded_twice(document):
    """The profiles that commands of this document write more than once."""
    named = [re.search(r"plimsoll run [^#]*-o (\S+\.plim)", command) for command in commands_of(document)]
    names = [match[1] for match in named if match]
    return sorted({name for name in names if names.count(name) > 1})


def make_scratch(directory):
    """A directory in which the tree's paths work, and from which nothing is written into the tree."""
    for entry in SOURCE.iterdir():
        if not entry.name.startswith((".", "build")):
            (directory / entry.name).symlink_to(entry)
    (directory / "build").symlink_to(BUILD)
    stand_in_for_ninja(directory)


def start_running(directory, profiled):
    """A process for commands that need a PID. In auto mode it would be sampled if the machine is busy."""
    settings = {"PLIMSOLL_SAMPLE": "exact", "PLIMSOLL_LIVE_DIR": str(directory),
                "LD_PRELOAD": str(BUILD / "libplimsoll.so")}
    environment = {**os.environ, **(settings if profiled else {})}
    process = subprocess.Popen(["/usr/bin/python3", "-c", RUNNING], cwd=directory, env=environment,
                               stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def run(command, directory, pid, unprofiled_pid):
    for pattern, replacement in REPLACED:
        command = re.sub(pattern, replacement, command)
    command = re.sub(r"\b(attach|detach) PID\b", rf"\1 {unprofiled_pid}", command)
    command = re.sub(r"\bPID\b", str(pid), command)
    path = f"{directory}/bin:{BUILD}:{os.environ['PATH']}"
    environment = {**os.environ, "SETUP": ":", "PATH": path, "DEBUGINFOD_URLS": ""}
    return subprocess.run(["bash", "-c", command], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE_S)


def commands():
    problems, looked_at = [], 0
    for document in documents():
        problems += [f"{document.name}: two commands record {name}" for name in recorded_twice(document)]
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            make_scratch(directory)
            process, unprofiled = start_running(directory, True), start_running(directory, False)
            try:
                for command in commands_of(document):
                    looked_at += 1
                    done = run(command, directory, process.pid, unprofiled.pid)
                    if done.returncode:
                        problems.append(f"{document.name}: $ {command}\nexit {done.returncode}\n{done.stdout}")
            finally:
                for each in (process, unprofiled):
                    each.kill()
                    each.wait()
    verdict(problems, looked_at)


if __name__ == "__main__":
    {"functions": functions, "commands": commands}[sys.argv[1]]()
