#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check - the claims of docs/maths.md, tested through the preload, the file, the reader and the JSON export.

    check.py PLIMSOLL LIBRARY PROGRAM [RUNS]

Runs PROGRAM under the runtime RUNS times, each time with another PLIMSOLL_SEED, and compares the figures of each site
in `plimsoll export` with those that the program prints. Seeds are fixed and the program's threads run one after the
other, so that a run can be repeated.

Tolerances. Bias: the mean error over the runs is within 4 of its standard errors (exceeded by chance once in 16,000
checks). Coverage: if each of RUNS intervals contains the true value with 94%, fewer than the limit do once in 100,000
checks. A site that allocates in many threads has an interval per thread and none as a whole, so only its bias is
checked.

Prints TAP.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

INTERVAL = "32K"
METRICS = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
MANY_THREADS = {"site_threads"}
BIAS_LIMIT = 4
COVERAGE = 0.94
CHANCE = 1e-5


def run_program(library, program, seed, profile):
    environment = dict(os.environ, LD_PRELOAD=str(library), PLIMSOLL_SEED=str(seed), PLIMSOLL_SAMPLE=INTERVAL,
                       PLIMSOLL_OUT=str(profile))
    text = subprocess.run([program], env=environment, check=True, capture_output=True, text=True).stdout
    truth = {}
    for line in text.splitlines():
        site, *figures = line.split()
        truth[site] = dict(zip(METRICS, map(int, figures)))
    return truth


def export(plimsoll, profile):
    text = subprocess.run([plimsoll, "export", "--format", "json", profile], check=True, capture_output=True).stdout
    return json.loads(text)


def site_of(profile, entry):
    """The site function of the program in the stack of this entry."""
    stack = entry["stack"]
    if stack is None:
        return None
    for frame in profile["stacks"][stack]:
        function = profile["frames"][frame]["function"]
        if function.startswith("site_"):
            return function
    return None


def entries_by_site(profile):
    sites = {}
    for entry in profile["sites"]:
        sites.setdefault(site_of(profile, entry), []).append(entry)
    return sites


def covers(entry, metric, truth):
    return entry[metric]["low"] <= truth <= entry[metric]["high"]


def observe(plimsoll, library, program, runs):
    """(site, metric) -> the errors and, for sites of one thread, whether the interval contains the true value."""
    errors, covered, truth_of = {}, {}, {}
    for seed in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "run.plim"
            truth = run_program(library, program, seed, path)
            profile = export(plimsoll, path)
        lost = {name: count for name, count in profile["losses"].items() if count}
        if lost:
            sys.exit(f"Bail out! seed {seed}: losses {lost}")
        sites = entries_by_site(profile)
        for site, figures in truth.items():
            entries = sites.get(site, [])
            for metric, value in figures.items():
                estimate = sum(entry[metric]["value"] for entry in entries)
                errors.setdefault((site, metric), []).append(estimate - value)
                truth_of[site, metric] = value
                if site not in MANY_THREADS:
                    held = len(entries) == 1 and covers(entries[0], metric, value)
                    covered.setdefault((site, metric), []).append(held)
    return errors, covered, truth_of


def standard_errors(values):
    n = len(values)
    mean = sum(values) / n
    variance = sum((value - mean) ** 2 for value in values) / (n - 1)
    if variance == 0:
        return 0.0 if mean == 0 else math.inf
    return mean / math.sqrt(variance / n)


def fewest_covered(runs):
    """The smallest count that is less unlikely than CHANCE."""
    below = 0.0
    for count in range(runs + 1):
        below += math.comb(runs, count) * COVERAGE**count * (1 - COVERAGE) ** (runs - count)
        if below >= CHANCE:
            return count
    return runs


def report(checks):
    """Prints (whether it holds, the claim) of each as TAP. Returns the exit status."""
    print(f"1..{len(checks)}")
    for number, (good, words) in enumerate(checks, 1):
        print("ok" if good else "not ok", number, "-", words)
    return 0 if all(good for good, _ in checks) else 1


def main():
    plimsoll, library, program = (Path(argument).resolve() for argument in sys.argv[1:4])
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 60
    errors, covered, truth = observe(plimsoll, library, program, runs)
    checks = []
    for (site, metric), values in errors.items():
        bias = standard_errors(values)
        share = sum(values) / len(values) / truth[site, metric]
        checks.append((abs(bias) <= BIAS_LIMIT,
                       f"{site} {metric} is unbiased: {share:+.2%}, {bias:+.2f} standard errors"))
    least = fewest_covered(runs)
    for (site, metric), held in covered.items():
        checks.append((sum(held) >= least,
                       f"{site} {metric} is covered in {sum(held)} of {runs} runs, at least {least}"))
    return report(checks)


if __name__ == "__main__":
    sys.exit(main())
