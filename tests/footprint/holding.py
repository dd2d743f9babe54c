# SPDX-License-Identifier: MIT
"""holding - processes that hold memory and wait, and what `report` says of them."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["PLIMSOLL_SOURCE"])
BUILD = Path(os.environ["PLIMSOLL_BUILD"])
sys.path.insert(0, str(SOURCE / "tests" / "lib"))

from patience import await_readable

PLIMSOLL = BUILD / "plimsoll"
HOLDS = BUILD / "tests" / "footprint" / "holds"
MIB = 1 << 20
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")} | {
    "PLIMSOLL_CACHE": "off", "LC_ALL": "C.UTF-8", "COLUMNS": "200", "LD_PRELOAD": "", "MALLOC_ARENA_MAX": "",
    "GLIBC_TUNABLES": "", "MALLOC_PERTURB_": "",
}


def plimsoll(*words, **environment):
    command = [str(word) for word in (PLIMSOLL, *words)]
    return subprocess.run(command, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False)


class Held:
    """A program that prints `ready` and waits for the end of its input, under `plimsoll run`."""

    def __init__(self, options, command, **environment):
        self.place = tempfile.TemporaryDirectory(prefix="plimsoll-holds.")
        self.profile = Path(self.place.name) / "holds.plim"
        words = [PLIMSOLL, "run", *options, "-q", "-o", self.profile, "--", *command]
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.place.name,
            env=ENVIRONMENT | environment,
        )
        await_readable(self.process.stdout)
        assert self.process.stdout.readline() == b"ready\n"
        self.pid = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])

    def __enter__(self):
        return self

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def __exit__(self, *_):
        if not self.process.stdin.closed:
            self.end()
        self.process.stdout.close()
        self.place.cleanup()

    def rss(self):
        text = Path(f"/proc/{self.pid}/smaps_rollup").read_text()
        return int(re.search(r"^Rss:\s+(\d+) kB", text, re.MULTILINE)[1]) * 1024


def holds(options, threads=0, also=(), **environment):
    return Held(options, (HOLDS, "holds.bin", threads, *also), **environment)


def number(word):
    return 0 if word == "-" else int(word.replace(",", "").removesuffix(" B"))


def table(text):
    """Of a report with --all-digits: title -> (resident, virtual)."""
    rows = {}
    figure = r"(-|[\d,]+ B)"
    for line in text.splitlines():
        if "RSS" in rows:
            break
        row = re.match(rf"  +(\S.*?)\s+{figure}\s+[\d.]+%\s+{figure}\s+{figure}(?:\s+{figure})?  ", line)
        if row:
            rows[row[1]] = number(row[2]), number(row[3])
    return rows


def memory(subject):
    done = plimsoll("report", "--memory", "--all-digits", subject)
    assert done.returncode == 0, done.stderr
    rows = table(done.stdout)
    assert "RSS" in rows, done.stdout
    return rows, done.stdout
