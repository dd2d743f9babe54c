# SPDX-License-Identifier: MIT
"""top - what `plimsoll top` costs while it watches a process with many stacks: the table `top`.

bench/stacks.c keeps 10,000 stacks busy. top runs on a pseudo-terminal at one refresh a second. Its CPU time is a share
of the time that passes. If a reading took more than 30 ms of it, top would refresh less often to stay within its 3%, so
the refreshes are counted, too: top waits once for each.
"""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
import time

from tables import table

STACKS = 10_000
SHARE_MAX = 0.03
WATCHED_S = 20


def drain(descriptor):
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError:
        pass


def watch(place, pid, by):
    """A running top, on a terminal of 120 columns."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.environ.update(TERM="xterm-256color", LANG="C.UTF-8")
        os.execv(place.build / "plimsoll", ["plimsoll", "top", str(pid), "--by", by])
    threading.Thread(target=drain, args=(terminal,), daemon=True).start()
    return child


def cpu_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waits(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("voluntary_ctxt_switches"))


def measure_one(place, pid, by, seconds):
    """CPU time and refreshes by elapsed time, after the first readings, which look names up."""
    child = watch(place, pid, by)
    time.sleep(3)
    cpu, waited, began = cpu_s(child), waits(child), time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    cpu, waited = (cpu_s(child) - cpu) / elapsed, (waits(child) - waited) / elapsed
    os.kill(child, 15)
    os.waitpid(child, 0)
    return cpu, waited


def measure_top(place, programs, options, targets):
    del programs
    # It calls each of its stacks from two places.
    stacks, seconds = STACKS // options.shrink, 5 if options.quick else WATCHED_S
    process = subprocess.Popen([place.build / "bench/stacks", str(stacks // 2), "hold"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, cwd=place.scratch,
                               env={**os.environ, "LD_PRELOAD": str(place.build / "libplimsoll.so"),
                                    "PLIMSOLL_SAMPLE": "exact", "PLIMSOLL_OUT": str(place.scratch / "held.%p.plim")})
    process.stdout.readline()
    rows = []
    for by in ("site", "function", "thread"):
        share, refreshes = measure_one(place, process.pid, by, seconds)
        rows.append([by, f"{100 * share:.2f}%", f"{refreshes:.2f}"])
        targets.add(f"top by {by}, {stacks:,} stacks, one refresh a second", f"{100 * share:.2f}% of a core",
                    f"at most {100 * SHARE_MAX:.0f}%", share <= SHARE_MAX)
    process.stdin.close()
    process.wait()
    table("Watching", f"plimsoll top on a process with {stacks:,} stacks, all of them in use: its share of one core.",
          ["table by", "share of a core", "refreshes a second"], rows)
