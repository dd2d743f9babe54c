# SPDX-License-Identifier: MIT
"""discoveries - a sampled program compared with itself has no more changes than the stated rate.

    discoveries.py [PAIRS]

Every change in such a pair is a false discovery, so the rate of false discoveries is the share of pairs with a change.
This runs PAIRS pairs with fixed seeds and a deterministic program, so the result is always the same. It must not exceed
the rate, here 5%. For few pairs it must not exceed what a rate of 5% exceeds once in 10,000 times.
"""

import math
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims
from runs import changes, diff, sampled

RATE = 0.05
MANY = 200
CHANCE = 1e-4


def most_allowed(pairs):
    if pairs >= MANY:
        return math.floor(RATE * pairs)
    below = 0.0
    for count in range(pairs + 1):
        below += math.comb(pairs, count) * RATE**count * (1 - RATE) ** (pairs - count)
        if below >= 1 - CHANCE:
            return count
    return pairs


def check(metric, pairs):
    found, sites = 0, 0
    for pair in range(pairs):
        before, after = sampled("sites", 1000 + 2 * pair), sampled("sites", 1001 + 2 * pair)
        text = diff("--metric", metric, "--top", "1000", before, after)
        found += bool(changes(text))
        sites += len(changes(text))
    claims.say(f"{metric}: {found} of {pairs} pairs with a false discovery, {sites} sites in all")
    assert found <= most_allowed(pairs), f"{found} of {pairs} pairs have changes, {most_allowed(pairs)} may"


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for metric in ["allocated", "live", "calls"]:
        claims.add(f"{pairs} pairs of the same program have few false discoveries in {metric}",
                   partial(check, metric, pairs))
    return claims.main([])


if __name__ == "__main__":
    sys.exit(main())
