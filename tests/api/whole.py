# SPDX-License-Identifier: MIT
"""whole - the expected output of whole.c, with the profiler and without, and how such programs are run."""

import errno

from api import run

# The expected output of whole.c. Without us every function does nothing and returns that.
ABSENT = {
    "loaded": 0,
    "prepared": 0,
    "calls.pushed": -1,
    "calls.prepared": -1,
    "calls.formatted": -1,
    "calls.adopted": -1,
    "balanced": 1,
    "balanced.still": 1,
    "active": 0,
    "active.paused": 0,
    "active.stopped": 0,
    "active.started": 0,
    "sample": -errno.ENOSYS,
    "sample.too_coarse": -errno.ENOSYS,
    "sample.as_started": -errno.ENOSYS,
    "sizes": -errno.ENOSYS,
    "sizes.crossed": -errno.ENOSYS,
    "sizes.all": -errno.ENOSYS,
    "heap": 0,
    "snapshot": -errno.ENOSYS,
    "snapshot.numbered": -errno.ENOSYS,
    "snapshot.if_due": 0,
    "write": -errno.ENOSYS,
    "write.again": -errno.ENOSYS,
    "stats": -errno.ENOSYS,
    "stats.thread": -errno.ENOSYS,
    "stats.tag": -errno.ENOSYS,
    "stats.calls": 0,
    "stats.bytes": 0,
    "pairs": -errno.ENOSYS,
    "pairs.any": 0,
}
PRESENT = {
    "loaded": 1,
    "prepared": 1,
    "calls.pushed": 3,
    "calls.prepared": 6,
    "calls.formatted": 3,
    "calls.adopted": 4,
    "balanced": 1,
    "balanced.still": 1,
    "active": 1,
    "active.paused": 0,
    "active.stopped": 0,
    "active.started": 1,
    "sample": 0,
    "sample.too_coarse": -errno.EINVAL,
    "sample.as_started": 0,
    "sizes": 0,
    "sizes.crossed": -errno.EINVAL,
    "sizes.all": 0,
    "heap": 1,
    "snapshot": 0,
    "snapshot.numbered": 0,
    "snapshot.if_due": 0,
    "write": 0,
    "write.again": -errno.EEXIST,
    "stats": 0,
    "stats.thread": 0,
    "stats.tag": 0,
    "stats.calls": 1,
    "stats.bytes": 1,
    "pairs": 0,
    "pairs.any": 1,
}


def said(text):
    lines = text.splitlines()
    assert not [line for line in lines if line.startswith("wrong:")], text
    return {key: int(number) for key, number in (line.rsplit(" ", 1) for line in lines)}


def run_in(directory, program, *words, preload=(), **settings):
    """The output of the program. Its profiles stay in the directory."""
    place = directory / ("preloaded" if preload else "bare")
    place.mkdir()
    variables = {"PLIMSOLL_LIVE_DIR": place, "PLIMSOLL_OUT": place / "out.plim", "PLIMSOLL_SAMPLE": "exact", **settings}
    if preload:
        variables["LD_PRELOAD"] = ":".join(map(str, preload))
    found = said(run(program, *words, cwd=place, **variables))
    return found, sorted(path.name for path in place.glob("*.plim"))
