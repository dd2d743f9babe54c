# SPDX-License-Identifier: MIT
"""mixed - makes small objects, large ones, and blocks of C libraries, and keeps them. Prints a line of JSON at the end.

usage: mixed.py            under Plimsoll: ends at once, so that what is live then is what was kept
       mixed.py traced     with -X tracemalloc: the line has [line, size of a block, blocks] for all that is live
       mixed.py memray     under memray: just returns
"""

import ctypes
import json
import os
import sys
import tracemalloc
import zlib
from collections import Counter

libc = ctypes.CDLL(None)
for name in ("malloc", "calloc"):
    getattr(libc, name).restype = ctypes.c_void_p
sys.kept = kept = []


class Row:
    def __init__(self, number):
        self.name = "row %d" % number
        self.pair = (number + 0.5, self.name)
        self.data = bytes(100 + number % 50)


def rows():
    kept.append([Row(number) for number in range(3000)])


def texts():
    table = {}
    for number in range(4000):
        table["key %d" % number] = [number, "a text that is a little longer, number %d" % number]
    kept.append(table)


def grown():
    for _ in range(200):
        line = []
        for number in range(40):
            line.append(number)
        kept.append(line)


def blobs():
    for number in range(300):
        kept.append(bytes(5000 + number))
        kept.append(bytearray(20000))


def zipped():
    for _ in range(20):
        kept.append(zlib.compressobj())


def by_c():
    for number in range(100):
        libc.malloc(3000 + number)
        libc.calloc(10, 1000)


def passing():
    for number in range(2000):
        bytes(300 + number % 900)


def everything():
    rows()
    texts()
    grown()
    blobs()
    zipped()
    by_c()
    passing()


def live():
    counts = Counter()
    for trace in tracemalloc.take_snapshot().traces:
        if trace.traceback[-1].filename == __file__:
            counts[trace.traceback[-1].lineno, trace.size] += 1
    return [[line, size, count] for (line, size), count in sorted(counts.items())]


everything()
if "traced" in sys.argv:
    print(json.dumps(live()))
if "memray" not in sys.argv:
    sys.stdout.flush()
    os._exit(0)
