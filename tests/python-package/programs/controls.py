# SPDX-License-Identifier: MIT
"""controls - calls every function of the package that controls the profiler, and prints the results as JSON."""

import ctypes
import json

import plimsoll

aligned_alloc = ctypes.PyDLL(None).aligned_alloc
aligned_alloc.restype, aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
told = {}


def tell(name, function, *arguments):
    try:
        result = function(*arguments)
    except (OSError, ValueError) as error:
        result = type(error).__name__
    told[name] = result


def take(count):
    for _ in range(count):
        aligned_alloc(16, 1008)


take(1)
plimsoll.reset()
told["loaded"] = plimsoll.loaded()
plimsoll.stop()
told["active when stopped"] = plimsoll.active()
with plimsoll.tag("stopped"):
    take(1)
plimsoll.start()
told["active when started"] = plimsoll.active()
with plimsoll.pause():
    told["active in a pause"] = plimsoll.active()
with plimsoll.tag("figures"):
    take(3)
    of_tag = plimsoll.capture().stats()
told["tag"] = of_tag and [of_tag.calls, of_tag.allocated_bytes, of_tag.freed_blocks, of_tag.live_blocks,
                          of_tag.live_bytes, of_tag.entered]
tell("snapshot", plimsoll.snapshot, "warm")
tell("snapshot if due", plimsoll.snapshot_if_due)
tell("write", plimsoll.write, "now.plim")
tell("write again", plimsoll.write, "now.plim")
tell("write to nowhere", plimsoll.write, "nowhere/now.plim")
tell("negative interval", plimsoll.sample, -1)
tell("interval too large", plimsoll.sample, 2**41)
tell("sizes", plimsoll.sizes, 16, 4096)
tell("no sizes", plimsoll.sizes, 10, 5)
tell("all sizes", plimsoll.sizes)
figures = plimsoll.stats()
told["stats"] = figures and [figures.exact, figures.calls_of["aligned"], figures.live_bytes >= 3 * 1008,
                             sum(row.blocks for row in figures.live_sizes) == figures.live_blocks]
told["thread stats"] = bool(plimsoll.thread_stats())
told["pairs"] = sum(number for key, number in plimsoll.pairs().items() if key.endswith(".figures.calls"))
heap = plimsoll.Heap("gpu")
below = plimsoll.Heap("gpu", heap)
heap.allocated(0x1000, 50)
heap.allocated(0x2000, 70)
heap.reallocated(0x2000, 0x3000, 90)
heap.took(0x10000, 4096)
below.allocated(0x4000, 5)
heap.clear()
below.allocated(0x5000, 1000)  # destroyed with the clearing of the heap above it: does nothing
heap.allocated(0x6000, 11)
heap.freed(0x7000)
heap.gave(0x10000)
print(json.dumps(told))
