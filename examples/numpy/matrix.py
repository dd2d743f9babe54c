# SPDX-License-Identifier: MIT
"""matrix - what numpy allocates, with the frames of its native code, and tags from Python.

    plimsoll run --exact -o matrix.plim -- /usr/bin/python3 examples/numpy/matrix.py
    plimsoll report --by tag matrix.plim

A profiler of Python sees the lines of this file; this one sees what is below them: numpy's C code, down to malloc. Tags
say which step it was for. They need no module of their own: if the profiler is preloaded, its functions are found among
those of the process; otherwise they are not found, and nothing happens.
"""

import contextlib
import ctypes

import numpy

SIDE = 400


def find(name):
    """A function of the profiler; one that does nothing if it is not there."""
    return getattr(ctypes.CDLL(None), name, lambda *_: None)


push, pop = find("plimsoll_push"), find("plimsoll_pop")


@contextlib.contextmanager
def tag(name):
    push(name.encode())
    try:
        yield
    finally:
        pop()


def main():
    with tag("input"):
        a = numpy.arange(SIDE * SIDE, dtype=numpy.float64).reshape(SIDE, SIDE)
        b = numpy.ones((SIDE, SIDE))
    with tag("in steps"):
        slow = a + b
        for _ in range(10):
            slow = slow * 0.5 + b  # a new matrix each time
    with tag("in place"):
        fast = a + b
        for _ in range(10):
            fast *= 0.5
            fast += b
    print("the same" if numpy.array_equal(slow, fast) else "different")


main()
