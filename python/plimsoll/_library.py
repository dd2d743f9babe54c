# SPDX-License-Identifier: MIT
"""_library - the functions of plimsoll.h in this process, or None for each of them if the profiler is not there.

`plimsoll run` preloads the profiler, so its functions are among the global symbols of the process before Python starts.
They are looked for once, when this package is imported.

Functions of PyDLL keep the interpreter's lock: a call is short, and no other thread may run between a tag and the
allocations that it is for. Functions of CDLL release it: they write files.
"""

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, Optional

SIZES = 22


class Bucket(ctypes.Structure):
    _fields_ = [("blocks", c_uint64), ("bytes", c_uint64)]


class RawStats(ctypes.Structure):
    """struct plimsoll_stats"""

    _fields_ = [
        ("calls", c_uint64),
        ("calls_of", c_uint64 * 5),
        ("allocated_bytes", c_uint64),
        ("freed_blocks", c_uint64),
        ("freed_bytes", c_uint64),
        ("live_blocks", c_uint64),
        ("live_bytes", c_uint64),
        ("peak_bytes", c_uint64),
        ("entered", c_uint64),
        ("threads", c_uint64),
        ("tags", c_uint64),
        ("exact", c_uint64),
        ("vm_bytes", c_uint64),
        ("rss_bytes", c_uint64),
        ("allocated_sizes", Bucket * SIZES),
        ("live_sizes", Bucket * SIZES),
    ]


SEE = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64)


def _open(kind: Any) -> Any:
    """The process as a library, if it has the profiler. The stub, which a program may be linked with, is none."""
    try:
        process = kind(None)
        return process if process.plimsoll_loaded() else None
    except (AttributeError, OSError, TypeError):
        return None


_QUICK = _open(ctypes.PyDLL)
_WAITING = _open(ctypes.CDLL) if _QUICK else None


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Optional[Any]:
    found = getattr(library, "plimsoll_" + name, None) if library else None
    if found:
        found.restype, found.argtypes = result, arguments
    return found


loaded = _QUICK is not None

push = _function(_QUICK, "push", None, c_char_p)
pop = _function(_QUICK, "pop", None)
prepare = _function(_QUICK, "prepare", c_void_p, c_char_p)
enter = _function(_QUICK, "enter", None, c_void_p)
capture = _function(_QUICK, "capture", c_uint64)
adopt = _function(_QUICK, "adopt", c_uint64, c_uint64)

active = _function(_QUICK, "active", c_int)
start = _function(_QUICK, "start", None)
stop = _function(_QUICK, "stop", None)
pause = _function(_QUICK, "pause", None)
resume = _function(_QUICK, "resume", None)
reset = _function(_QUICK, "reset", None)
sample = _function(_QUICK, "sample", c_int, c_uint64)
sizes = _function(_QUICK, "sizes", c_int, c_uint64, c_uint64)
output = _function(_QUICK, "output", None, c_int)
snapshot = _function(_WAITING, "snapshot", c_int, c_char_p)
snapshot_if_due = _function(_WAITING, "snapshot_if_due", c_int)
write = _function(_WAITING, "write", c_int, c_char_p)

stats = _function(_QUICK, "stats", c_int, POINTER(RawStats), c_size_t)
thread_stats = _function(_QUICK, "thread_stats", c_int, POINTER(RawStats), c_size_t)
tag_stats = _function(_QUICK, "tag_stats", c_int, c_uint64, POINTER(RawStats), c_size_t)
pairs = _function(_QUICK, "pairs", c_int, SEE, c_void_p)

heap_create = _function(_QUICK, "heap_create", c_void_p, c_char_p, c_void_p)
heap_clear = _function(_QUICK, "heap_clear", None, c_void_p)
heap_destroy = _function(_QUICK, "heap_destroy", None, c_void_p)
heap_allocated = _function(_QUICK, "heap_allocated", None, c_void_p, c_void_p, c_size_t)
heap_reallocated = _function(_QUICK, "heap_reallocated", None, c_void_p, c_void_p, c_void_p, c_size_t)
heap_freed = _function(_QUICK, "heap_freed", None, c_void_p, c_void_p)
heap_took = _function(_QUICK, "heap_took", None, c_void_p, c_void_p, c_size_t)
heap_gave = _function(_QUICK, "heap_gave", None, c_void_p, c_void_p)
