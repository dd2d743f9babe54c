#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_programs - the intervals of real programs contain the truth: a smaller version of bench/run --table coverage.

    check_programs.py SOURCE BUILD [SEEDS]

Sampled mode only: its seeds are fixed, so a result can be repeated. Figures of one run are not independent (they share
the moment of the peak), so the limit is that of the documented table with a margin: 90% instead of 93%. Before
intervals allowed for what samples do not show, peaks at 16K had 80 to 90% in four of these programs.

Prints TAP.
"""

import sys
import tempfile
from pathlib import Path

source, build = (Path(argument).resolve() for argument in sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, str(source / "bench"))

from check import report  # noqa: E402
from coverage import METRICS, available, measure  # noqa: E402

SEEDS = int(sys.argv[3]) if len(sys.argv) > 3 else 20
LEAST = 90.0
ENOUGH = 100  # fewer figures say nothing


def main():
    checks = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in available():
            for mode in ("16K", "512K"):
                covered = measure(build, Path(scratch), name, mode, SEEDS)
                for metric, each in covered.items():
                    if each.shown >= ENOUGH:
                        checks.append((each.sites_percent >= LEAST,
                                       f"{name} {mode} {METRICS[metric]}: {each.held} of {each.shown} figures hold"))
                    checks.append((each.falsely_exact == 0,
                                   f"{name} {mode} {METRICS[metric]}: no estimate is called exact"))
    return report(checks)


if __name__ == "__main__":
    sys.exit(main())
