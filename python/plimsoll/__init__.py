# SPDX-License-Identifier: MIT
"""plimsoll - tells the heap profiler Plimsoll what a program's memory is for, and controls it.

    with plimsoll.tag("load"):
        rows = load()

`plimsoll run -- python3 job.py` profiles the program, and `plimsoll report --by tag` shows who holds what. Without the
profiler all of this does nothing.
"""

from ._control import (active, loaded, output, pause, reset, sample, sizes, snapshot, snapshot_if_due, start, stop,
                       write)
from ._figures import Sizes, Stats, pairs, stats, thread_stats
from ._heaps import Heap
from ._scopes import Context, capture, follow, follow_tasks, tag, tagged

__all__ = [
    "Context", "Heap", "Sizes", "Stats", "active", "capture", "follow", "follow_tasks", "loaded", "output", "pairs",
    "pause", "reset", "sample", "sizes", "snapshot", "snapshot_if_due", "start", "stats", "stop", "tag", "tagged",
    "thread_stats", "write",
]
