# SPDX-License-Identifier: MIT
"""_figures - statistics of the heap, for the program itself."""

import ctypes
import errno
import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

from . import _library


class Sizes(NamedTuple):
    """Blocks of one range of sizes."""

    blocks: int
    bytes: int


class Stats(NamedTuple):
    """Figures of the process, a thread or a tag.

    `calls` and `allocated_bytes` are always exact. The others are exact if `exact` is true, and estimates otherwise.
    Blocks of malloc: Python keeps most objects of up to 512 bytes in arenas of its own, which are not among them.
    """

    calls: int
    calls_of: Dict[str, int]  #: malloc, calloc, realloc, aligned, new
    allocated_bytes: int
    freed_blocks: int
    freed_bytes: int
    live_blocks: int
    live_bytes: int
    peak_bytes: int  #: live when the whole heap was largest
    entered: int  #: how often tags were entered
    threads: int
    tags: int
    exact: bool
    vm_bytes: int  #: of the process only, and the next one, too
    rss_bytes: int
    allocated_sizes: Tuple[Sizes, ...]  #: [0] blocks of up to 15 bytes, [1] 16 to 31, [2] 32 to 63, ...
    live_sizes: Tuple[Sizes, ...]  #: of the process only


_spare = [_library.RawStats()] if _library.loaded else []  # it comes from malloc, so who asks would be counted
_FUNCTIONS = ("malloc", "calloc", "realloc", "aligned", "new")


def check(result: int, path: Optional[str] = None) -> int:
    """Raises the error that a function has returned."""
    if result < 0:
        raise OSError(-result, os.strerror(-result), path)
    return result


def _readable(raw: _library.RawStats) -> Stats:
    def buckets(table: Any) -> Tuple[Sizes, ...]:
        return tuple(Sizes(row.blocks, row.bytes) for row in table)

    figures = {name: getattr(raw, name) for name in Stats._fields}
    figures["calls_of"] = dict(zip(_FUNCTIONS, raw.calls_of))
    figures["exact"] = bool(raw.exact)
    figures["allocated_sizes"], figures["live_sizes"] = buckets(raw.allocated_sizes), buckets(raw.live_sizes)
    return Stats(**figures)


def figures_of(function: Optional[Any], *subject: int) -> Optional[Stats]:
    """None if there is no profiler, or if it does not record this process."""
    if not function:
        return None
    raw = _spare.pop() if _spare else _library.RawStats()
    try:
        result = function(*subject, ctypes.byref(raw), ctypes.sizeof(raw))
        return None if result == -errno.ENODATA or check(result) else _readable(raw)
    finally:
        _spare.append(raw)


def stats() -> Optional[Stats]:
    """Figures of the process. None without the profiler."""
    return figures_of(_library.stats)


def thread_stats() -> Optional[Stats]:
    """Figures of the calling thread. Blocks that it has allocated are its own even if another thread frees them."""
    return figures_of(_library.thread_stats)


def pairs() -> Dict[str, int]:
    """All figures by their keys: `process.live_bytes`, `worker-1.request/parse.calls` (thread.tag.metric), and so on.
    Threads of the same name are added up, except in `process` figures, which occur once. Empty without the profiler."""
    found: Dict[str, int] = {}

    def see(_: Any, key: bytes, number: int) -> int:
        name = key.decode("utf-8", "replace")
        found[name] = found.get(name, 0) + number
        return 0

    if _library.pairs:
        result = _library.pairs(_library.SEE(see), None)
        if result != -errno.ENODATA:
            check(result)
    return found
