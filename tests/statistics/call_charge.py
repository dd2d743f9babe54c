#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""call_charge.py - prints the table of docs/decisions/call-charge.md from recordings of real programs.

    heaptrack -r -o NAME COMMAND...      (writes NAME.raw.zst, one line per allocation)
    call_charge.py NAME.raw.zst...

For n samples of a program with charges c = size + K, the relative standard error of its calls is sqrt(h/n) with
h = E[c] E[1/c], that of its bytes sqrt(h/n) with h = E[c] E[size^2/c] / E[size]^2. h is 1 when all sizes are equal.
"""

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

INTERVAL = 512 << 10
CHARGES = [1, 16, 32, 64, 128, 256, 512, 1024]


def read(path):
    """Size -> calls for each stack. In a raw recording an allocation is "+ <size> <stack> <address>", in hex."""
    stacks = defaultdict(Counter)
    with subprocess.Popen(["zstdcat", path], stdout=subprocess.PIPE, text=True) as recording:
        for line in recording.stdout:
            if line.startswith("+ "):
                _, size, stack, _ = line.split()
                stacks[stack][int(size, 16)] += 1
    return stacks


def mean(sizes, of):
    return sum(of(size) * calls for size, calls in sizes.items()) / sum(sizes.values())


def unevenness(sizes, charge):
    """h of calls and of bytes."""
    cost = mean(sizes, lambda size: size + charge)
    size_mean = mean(sizes, lambda size: size)
    calls = cost * mean(sizes, lambda size: 1 / (size + charge))
    space = cost * mean(sizes, lambda size: size * size / (size + charge))
    return calls, space / size_mean**2 if size_mean else 1


def print_program(path):
    stacks = read(path)
    everything = sum(stacks.values(), Counter())
    total = sum(everything.values())
    sizes = sorted(everything.elements())
    name = Path(path).name.split(".")[0]
    print(f"\n{name}: {total:,} calls, {len(stacks):,} stacks, median {sizes[total // 2]}, "
          f"99% up to {sizes[total * 99 // 100]:,}, mean {sum(sizes) / total:.0f} bytes\n")
    print("| K | samples per million calls | h calls | h bytes | h calls within a stack | mean weight of a call |")
    print("|---|---|---|---|---|---|")
    for charge in CHARGES:
        rate = mean(everything, lambda size: size + charge) / INTERVAL
        calls, space = unevenness(everything, charge)
        within = sum(sum(s.values()) * unevenness(s, charge)[0] for s in stacks.values()) / total
        weight = mean(everything, lambda size: INTERVAL / (size + charge))
        print(f"| {charge} | {rate * 1e6:,.0f} | {calls:.2f} | {space:.2f} | {within:.2f} | {weight:,.0f} |")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print_program(argument)
