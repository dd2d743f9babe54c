# SPDX-License-Identifier: MIT
"""service - runs tests/cli/programs/service.c until a run was not disturbed, and keeps that profile.

Leak detection depends on when blocks were allocated, and the program cannot know what else the machine does. If the
program, or `plimsoll run`, had to wait for a considerable part of a run, the profile shows other growth than intended.
Such a run is repeated with twice the duration, so that the same disturbance is half as large in relation to it.

usage: service.py OUT [killed]     prints the seconds of the run; PLIMSOLL_BUILD names the build
"""

import subprocess
import sys
from pathlib import Path

from built import BUILD, PLIMSOLL, environment, export

SERVICE = BUILD / "tests" / "cli" / "cli-service"
SECONDS = (2.5, 5, 10, 20, 40)
LONGEST_WAIT = 0.05  # as a share of the run: between two turns, before the first and after the last


def is_steady(said, path, seconds):
    longest_s, process = float(said.split()[-1]), export(path)["process"]
    return longest_s < LONGEST_WAIT * seconds and process["duration_s"] < (1 + 2 * LONGEST_WAIT) * seconds


def serve(out, *how):
    """Runs the service, leaves its profile in `out`, and returns the intended duration of the run in seconds."""
    live = Path(out).parent / "live"
    live.mkdir(exist_ok=True)
    for seconds in SECONDS:
        Path(out).unlink(missing_ok=True)
        command = [PLIMSOLL, "run", "-q", "--exact", "-o", out, "--", SERVICE, seconds, *how]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                              env=environment(DEBUGINFOD_URLS="", PLIMSOLL_LIVE_DIR=live))
        if is_steady(done.stdout, out, seconds):
            return seconds
    raise AssertionError(f"even a run of {seconds} s had to wait too long: {done.stdout}")


if __name__ == "__main__":
    print(serve(*sys.argv[1:]))
