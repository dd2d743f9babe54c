# SPDX-License-Identifier: MIT
"""Sorts, groups and sums columns of a table with numpy. usage: arrays_job.py ROUNDS"""

import sys

import numpy

random = numpy.random.default_rng(1)
keys, prices = random.integers(0, 500, 60_000), random.random(60_000)
total = 0.0
for _ in range(int(sys.argv[1])):
    order = numpy.argsort(keys, kind="stable")
    groups = numpy.split(prices[order], numpy.flatnonzero(numpy.diff(keys[order])) + 1)
    total += sum(float((group * 1.2 - group.mean()).sum()) for group in groups)
    total += float(numpy.cumsum(prices * keys)[-1])
print(total)
