# SPDX-License-Identifier: MIT
"""dhat - real programs, counted by us and by valgrind's DHAT, have the same blocks and bytes. See docs/truth.md.

Two profilers in two runs can agree only if the program does the same in both. So both runs have the same environment,
down to the length of LD_PRELOAD: valgrind adds its own variables, and programs copy their environment.
"""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# First, because it adds tests/lib to the path.
from profiles import RUNTIME, Profile
import claims
from claims import Skip, say
from patience import PATIENCE_S

VALGRIND = ["valgrind", "--tool=dhat", "--run-libc-freeres=no", "--run-cxx-freeres=no"]

PERL = 'my %h; $h{$_ % 97} .= "x$_" for 1 .. 3000; print scalar(keys %h), "\\n"'
PYTHON = 'import json; print(len(json.dumps([{"a": i} for i in range(300)])))'
SQL = (
    "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) "
    "insert into t select i, i || 'x' from n; create index k on t(b); select count(*), sum(a), max(b) from t;"
)
SHELL = 'for i in 1 2 3 4 5 6 7 8 9; do x="$x $i"; done; echo ${x// /-}'

PROGRAMS = {
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", SQL],
    "perl": ["/usr/bin/perl", "-e", PERL],
    "python3": ["/usr/bin/python3", "-S", "-E", "-c", PYTHON],
    "git": ["/usr/bin/git", "-C", "repository", "--no-pager", "log", "-p"],
    "bash": ["/bin/bash", "-c", SHELL],
}


def make_repository(place):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(place), "GIT_CONFIG_NOSYSTEM": "1"}
    git = ["git", "-C", "repository", "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["git", "init", "--quiet", "repository"], *([*git, "commit", "--quiet", "--allow-empty", "-m", text]
                                                                for text in ("one", "two", "three"))):
        subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True)


class Runs:
    """One program in one directory, under either profiler."""

    def __init__(self, command):
        self.command = command
        self.place = Path(tempfile.mkdtemp(prefix="plimsoll-test."))
        self.out, self.dhat = self.place / "out.plim", self.place / "dhat.json"
        self.variables = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.place),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONHASHSEED": "0",
            "PERL_HASH_SEED": "0",
            "PLIMSOLL_SAMPLE": "exact",
            "PLIMSOLL_OUT": str(self.out),
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.place, ignore_errors=True)

    def run(self, words, variables):
        done = subprocess.run([str(word) for word in words], env=variables, cwd=self.place, capture_output=True,
                              timeout=PATIENCE_S)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def under_dhat(self, command):
        return self.run([*VALGRIND, f"--dhat-out-file={self.dhat}", *command], self.variables)

    def under_plimsoll(self):
        """Uses the environment that valgrind makes. Slashes give LD_PRELOAD the same length."""
        listed = self.under_dhat(["/usr/bin/env", "-0"]).decode().split("\0")
        variables = dict(line.split("=", 1) for line in listed if line)
        runtime = str(RUNTIME).rjust(len(variables["LD_PRELOAD"]), "/")
        assert len(runtime) == len(variables["LD_PRELOAD"]), f"{RUNTIME} is too long a path for this test"
        return self.run(self.command, {**variables, "LD_PRELOAD": runtime})


def sum_of(points, key):
    return sum(point[key] for point in points)


def check_same(name):
    command = PROGRAMS[name]
    for needed in ("valgrind", command[0]):
        if not shutil.which(needed):
            raise Skip(f"{needed} is not installed")
    with Runs(command) as runs:
        if name == "git":
            make_repository(runs.place)
        printed = runs.under_plimsoll()
        assert runs.under_dhat(command) == printed, "the two runs printed different output"
        profile, points = Profile(runs.out), json.loads(runs.dhat.read_text())["pps"]
    assert not profile.losses(), profile.losses()
    totals = {metric: profile.json["totals"][metric]["value"] for metric in
              ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space")}
    theirs = dict(zip(totals, (sum_of(points, key) for key in ("tbk", "tb", "ebk", "eb", "gbk", "gb"))))
    say(f"{name}: {totals}")
    assert theirs["alloc_objects"] > 200, f"it hardly allocates: {theirs}"
    assert totals == theirs, f"DHAT says {theirs}"


for a_program in PROGRAMS:
    claims.add(f"{a_program}: DHAT counts the same blocks and bytes, in all, at the end and at the peak",
               functools.partial(check_same, a_program))


if __name__ == "__main__":
    sys.exit(claims.main())
