# SPDX-License-Identifier: MIT
"""service - profiles of tests/cli/programs/service.c, in which time passed as the program meant it to.

What a leak is goes by when its blocks were made, and a program does not know what else a machine has to do. A run in
which the program, or `plimsoll run` behind it, was kept waiting for a good part of it shows other growth than it was
written for. Such a run is made again, twice as long: what a machine does to it is then half as much of it.

usage: service.py OUT [killed]     prints for how many seconds it ran; PLIMSOLL_BUILD names the build
"""

import subprocess
import sys
from pathlib import Path

from built import BUILD, PLIMSOLL, environment, export

SERVICE = BUILD / "tests" / "cli" / "cli-service"
SECONDS = (2.5, 5, 10, 20, 40)
LONGEST_WAIT = 0.05  # of the run, from one turn of the program to the next, and before the first and after the last


def is_steady(said, path, seconds):
    longest_s, process = float(said.split()[-1]), export(path)["process"]
    return longest_s < LONGEST_WAIT * seconds and process["duration_s"] < (1 + 2 * LONGEST_WAIT) * seconds


def serve(out, *how):
    """Runs it, leaves its profile in `out`, and returns for how many seconds it was to run."""
    live = Path(out).parent / "live"
    live.mkdir(exist_ok=True)
    for seconds in SECONDS:
        Path(out).unlink(missing_ok=True)
        command = [PLIMSOLL, "run", "-q", "--exact", "-o", out, "--", SERVICE, seconds, *how]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                              env=environment(DEBUGINFOD_URLS="", PLIMSOLL_LIVE_DIR=live))
        if is_steady(done.stdout, out, seconds):
            return seconds
    raise AssertionError(f"not even {seconds} s passed without a long wait: {done.stdout}")


if __name__ == "__main__":
    print(serve(*sys.argv[1:]))
