# SPDX-License-Identifier: MIT
"""looking - what the tests of `plimsoll leaks` share: processes to look at, and what the tables say."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["PLIMSOLL_SOURCE"])
BUILD = Path(os.environ["PLIMSOLL_BUILD"])
sys.path.insert(0, str(SOURCE / "tests" / "lib"))

import claims
from patience import await_readable

PLIMSOLL = BUILD / "plimsoll"
KEEPS = BUILD / "tests" / "reach" / "keeps"
SECTIONS = {"Lost": "lost", "Lost with those": "with", "Probably held": "inner"}


def plimsoll(*words):
    command = [str(word) for word in (PLIMSOLL, *words)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
    return subprocess.run(
        command, env=environment | {"PLIMSOLL_CACHE": "off", "LC_ALL": "C.UTF-8", "COLUMNS": "200"},
        capture_output=True, text=True, check=False,
    )


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


class Process:
    """A command that prints `ready`, and the pid of the process that did."""

    def __init__(self, *words):
        self.place = tempfile.TemporaryDirectory(prefix="plimsoll-reach.")
        command = [str(word) for word in words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.place.name)
        await_readable(self.process.stdout)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = int(children(self.process.pid)[0]) if words[0] == PLIMSOLL else self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.place.cleanup()


def exactly(*words):
    return Process(PLIMSOLL, "run", "--exact", "-q", "-o", "keeps.plim", "--", *words)


def python(script):
    return exactly("python3", "-c", f"import sys\n{script}\nprint('ready', flush=True)\nsys.stdin.read()")


def tables(text):
    """The figures of each function, by section: (bytes, blocks)."""
    found, section = {word: {} for word in SECTIONS.values()}, None
    for line in text.splitlines():
        titles = [title for title in SECTIONS if re.match(rf"{title}(  |$)", line)]
        section = SECTIONS[max(titles, key=len)] if titles else section if line.strip() else None
        row = re.match(r"  [\u2580-\u259f ]*\s([\d,.]+ (?:B|KiB|MiB))\s+([\d,]+)\s.*(?:0x[0-9a-f]+|-)\s+(\w+)", line)
        if section and row:
            found[section][row[3]] = (row[1], int(row[2].replace(",", "")))
    return found


def leaks(pid, *words):
    done = plimsoll("leaks", pid, "--inner", "--depth", "1", "--top", "100", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kinds(name):
    """In which sections a function of keeps.cpp belongs."""
    return {"lost": {"lost"}, "with": {"with"}, "inner": {"inner"}, "held": set()}.get(
        name.split("_")[0], {"lost", "with"} if name.endswith("of_lost") else None
    )


def functions():
    text = (SOURCE / "tests/reach/keeps.cpp").read_text()
    names = re.findall(r"^MAKES\((\w+),|^APART \w+ \*?(inner_\w+|shared_\w+)\(", text, re.MULTILINE)
    return {name for pair in names for name in pair if name} - {"freed_holder"}


def check_verdicts(text, undecided=frozenset()):
    found, problems = tables(text), []
    for name in sorted(functions() - undecided):
        sections = {section for section in found if name in found[section]}
        if sections != kinds(name):
            problems.append(f"{name} is in {sorted(sections)}, not in {sorted(kinds(name))}")
    known = functions()
    for section, rows in found.items():
        problems += [f"{name} is {section}: {row}" for name, row in rows.items() if name not in known]
    claims.expect(problems, f"in\n{text}")
