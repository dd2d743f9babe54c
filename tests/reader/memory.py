# SPDX-License-Identifier: MIT
"""memory - how much memory commands need to read a profile of many stacks: at most 1,000 bytes for each.

When each stack took a tally, it had 525 bytes in the file, and three times as many were allowed. Since most take a small
record, the file has a quarter of that, but the figures in memory are the same.

The profile is of bench/stacks.c: exact, and most stacks are called one to three times. What a command needs for a
profile of a few stacks is subtracted: the program itself, and the libraries that read symbols. That is bytes, not time,
so it does not depend on how busy the machine is.
"""

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

import claims  # noqa: E402
from built import BUILD, PLIMSOLL, environment  # noqa: E402

STACKS, FEW = 60_000, 100
BYTES_MAX = 1000  # per stack and profile
FILE_BYTES_MAX = 150  # the same: a million stacks in 150 MB
ONE = {
    "report": ["report"],
    "report --leaks": ["report", "--leaks"],
    "report --focus": ["report", "--focus", "l5"],
    "check": ["check", "--max-peak", "1T"],
    "export": ["export", "--format", "json"],
    "html": ["html", "-o", "-"],
}
TWO = {
    "diff": ["diff"],
    "html of two profiles": ["html", "-o", "-"],
    "merge": ["merge", "--force", "-q", "-o", "merged.plim"],
}


@functools.cache
def place():
    path = Path(tempfile.mkdtemp(prefix="plimsoll-test."))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def profile(stacks, number):
    path = place() / f"{stacks}.{number}.plim"
    subprocess.run([PLIMSOLL, "run", "-q", "--exact", "-o", path, "--", BUILD / "bench/stacks", str(stacks)],
                   check=True, env=environment())
    return path


def peak_bytes(words, files):
    """The largest resident set of a command that reads these files. A child of Python would begin with that of Python."""
    done = subprocess.run([BUILD / "bench/measure", "used", "--", PLIMSOLL, *words, *files], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, cwd=place(), env=environment())
    assert done.returncode == 0, done.stderr
    _, _, rss_kib, status = map(int, (place() / "used").read_text().split())
    assert status == 0, f"wait status {status}: {done.stderr}"
    return rss_kib * 1024


def check(words, count):
    many, few = ([profile(stacks, number) for number in range(count)] for stacks in (STACKS, FEW))
    size = sum(path.stat().st_size for path in many)
    needed = (peak_bytes(words, many) - peak_bytes(words, few)) / (STACKS * count)
    claims.say(f"{needed:.0f} bytes per stack, which has {size / (STACKS * count):.0f} in the files")
    assert needed <= BYTES_MAX, f"{needed} bytes per stack"


def check_file():
    size = profile(STACKS, 0).stat().st_size / STACKS
    claims.say(f"{size:.0f} bytes per stack")
    assert size <= FILE_BYTES_MAX, f"{size} bytes per stack"


claims.add(f"a stack that is used a few times takes at most {FILE_BYTES_MAX} bytes of the file", check_file)
for name, words in ONE.items():
    claims.add(f"{name} needs at most {BYTES_MAX} bytes per stack", functools.partial(check, words, 1))
for name, words in TWO.items():
    claims.add(f"{name} needs at most {BYTES_MAX} bytes per stack of both profiles",
               functools.partial(check, words, 2))

if __name__ == "__main__":
    sys.exit(claims.main())
