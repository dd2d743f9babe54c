# SPDX-License-Identifier: MIT
"""known - profiles of programs/known.c, whose figures are known, and the output of `plimsoll check` for them."""

import functools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from built import BUILD, PLIMSOLL, environment
from patience import PATIENCE_S

KNOWN = BUILD / "tests" / "check" / "known"
SAMPLED = ("--sample", "8K", "--seed")
scratch = tempfile.TemporaryDirectory(prefix="plimsoll-check-")
HERE = Path(scratch.name)
OK, FAILED, USAGE = 0, 1, 2


def command(*words):
    settings = {"XDG_CONFIG_HOME": HERE / "none", "DEBUGINFOD_URLS": "", "LSAN_OPTIONS": None, "COLUMNS": 1000}
    return subprocess.run([PLIMSOLL, *map(str, words)], capture_output=True, text=True, errors="replace", cwd=HERE,
                          env=environment(**settings), timeout=PATIENCE_S)


@functools.cache
def profile(how="", *options):
    """The profile of a run. `options` are options of `plimsoll run`; without them it is exact."""
    options = options or ("--exact",)
    path = HERE / ("-".join([KNOWN.name, how, *options]).replace("--", "") + ".plim")
    command("run", "-q", "--keep-all", *options, "-o", path, "--", KNOWN, *how.split())
    assert path.exists(), path
    return path


def sampled(seed, how=""):
    return profile(how, *SAMPLED, str(seed))


def written(name, text):
    path = HERE / name
    path.write_text(text)
    return path


def check(*words, status=None):
    """Its output. Its exit status must be `status`, if that is given."""
    done = command("check", *words)
    text = done.stdout + done.stderr
    assert done.returncode >= 0 and status in (None, done.returncode), f"status {done.returncode}: {text}"
    return text


def outcomes(text):
    """The first word of each line of the table."""
    return re.findall(r"^(ok|unsure|FAIL)\b", text, re.MULTILINE)


def outcome(profile, *rules, options=()):
    """The outcome of a single rule: (ok, unsure or FAIL; the whole text)."""
    text = check(profile, *rules, *options)
    found = outcomes(text)
    assert len(found) == 1, text
    return found[0], text
