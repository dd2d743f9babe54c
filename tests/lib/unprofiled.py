# SPDX-License-Identifier: MIT
"""unprofiled - a process that runs without Plimsoll, and that no profile is known of.

An earlier process with the same PID may have left a profile in /dev/shm. A command would name that one instead.
"""

import contextlib
import subprocess
from pathlib import Path


def start():
    process = subprocess.Popen(["sleep", "600"])
    if not list(Path("/dev/shm").glob(f"*.{process.pid}.*")):
        return process
    end(process)
    return start()


def end(process):
    process.kill()
    process.wait()


@contextlib.contextmanager
def unprofiled():
    """The PID of such a process."""
    process = start()
    try:
        yield process.pid
    finally:
        end(process)
