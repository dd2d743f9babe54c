# SPDX-License-Identifier: MIT
"""hostile - makes nonsense of each thing that a profiler reads: hostile.py LIBRARY"""

import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])
library.mangle.restype = ctypes.c_long
library.mangle.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p

runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
state = ctypes.pythonapi.PyThreadState_Get()
frame = sys._getframe()


def deep(depth, *what):
    return deep(depth - 1, *what) if depth else library.mangle(*what)


code = deep.__code__
lines = getattr(code, "co_linetable", code.co_code)
targets = [(runtime, 400, 22), (state, 30, 44), (id(frame), 14, 44), (id(code), 24, 66), (id(code.co_filename), 10, 66),
           (id(code.co_name), 6, 66), (id(lines), 8, 66)]  # fmt: skip
if sys.version_info >= (3, 11):
    targets.append((ctypes.cast(id(frame) + 24, ctypes.POINTER(ctypes.c_uint64))[0], 10, 66))
for target in targets:
    assert deep(3, *target) == target[1] * target[2]
place = state + {9: 24, 10: 24, 11: 56, 12: 56}.get(sys.version_info.minor, 72)
if sys.version_info.minor in (11, 12):
    cframe = ctypes.cast(place, ctypes.POINTER(ctypes.c_uint64))[0]
    place = cframe + (8 if sys.version_info.minor == 11 else 0)
library.vanish.argtypes = [ctypes.c_void_p]
library.vanish(place)
print("survived")
