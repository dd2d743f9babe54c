#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_phases - auto mode while another process (this one) writes T into the profile of the running program.

    check_phases.py PLIMSOLL LIBRARY PROGRAM [RUNS]

T goes up and down by factors of up to 128, with exact counting in between, and each phase has its own site. Figures
must be right per site: code that weighs a sample with the wrong T gets every total right and every phase wrong. The
program waits while T is written, so that a run can be repeated from its seed. Tolerances are those of check.py. A
thread sees a new T at the end of a part of its gap (in auto mode; in sampled mode when the gap ends). Allocations of a
site until then are in the figures only if the gap ended in that very site, so a site that was counted and never sampled
may have done a little more.

Which samples fall where depends on the seed and on every allocation before, so any change of the runtime gives new
random results. Then few runs are not enough: with 40 of them a mean is 4 of its own standard errors off once in some
3,700 checks, not in 16,000.

Prints TAP.
"""

import math
import mmap
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import check

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import plim

CONTROL_AT = 832  # pl_header.control: interval_bytes
LEAVE_IT = 0
KIB, MIB = 1 << 10, 1 << 20

# T, blocks
PHASES = [(LEAVE_IT, 3000), (1 * MIB, 20000), (32 * KIB, 4000), (LEAVE_IT, 3000), (4 * MIB, 40000), (64 * KIB, 6000),
          (LEAVE_IT, 3000), (256 * KIB, 10000)]
BLOCK_BYTES = 4096
RULE_OF_THREE = 3


def may_hide(site, metric):
    """How much of a site that was only counted may be missing: what it did before the current gap ended."""
    phase = site.removeprefix("site_phase_")
    if not phase.isdigit() or int(phase) == 0:
        return 0
    space = RULE_OF_THREE * PHASES[int(phase) - 1][0]
    return space if metric.endswith("_space") else space / BLOCK_BYTES


def set_interval(path, interval):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 4096) as header:
        header[CONTROL_AT:CONTROL_AT + 8] = struct.pack("=Q", interval)


def run_program(library, program, seed, directory):
    """Leaves the profile at directory/run.plim."""
    live = directory / "live"
    live.mkdir()
    environment = dict(os.environ, LD_PRELOAD=str(library), PLIMSOLL_SEED=str(seed), PLIMSOLL_SAMPLE="auto",
                       PLIMSOLL_OUT=str(directory / "run.plim"), PLIMSOLL_LIVE_DIR=str(live))
    command = [program, *(str(blocks) for _, blocks in PHASES)]
    truth = {}
    with subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        phases = iter(PHASES)
        for line in process.stdout:
            if line == "ready\n":
                set_interval(next(live.iterdir()), next(phases)[0])
                process.stdin.write("go\n")
                process.stdin.flush()
            else:
                site, *figures = line.split()
                truth[site] = dict(zip(check.METRICS, map(int, figures)))
    assert process.returncode == 0 and len(truth) == len(PHASES) + 1, (process.returncode, truth)
    return truth


def skew_is_kept(path):
    """Sums of the third order. If all blocks have one size, those of bytes follow from those of blocks. By the
    inequality of Cauchy and Schwarz they are not smaller than the other sums imply, and larger if weights differ."""
    rows = [row for row in plim.Profile(path).rows.values() if row.smallest == row.largest == BLOCK_BYTES]
    return any(row.objects_skew > 0 for row in rows) and all(
        math.isclose(row.space_skew, row.objects_skew * BLOCK_BYTES**3)
        and row.objects_skew * row.allocated.objects >= row.allocated.objects_variance**2 * (1 - 1e-9) for row in rows)


def holds(entry, site, metric, truth):
    figure = entry[metric]
    if figure["low"] == figure["high"]:
        return 0 <= truth - figure["value"] <= may_hide(site, metric)
    return check.covers(entry, metric, truth)


def observe(plimsoll, library, program, runs):
    """(site, metric) -> errors; whether the interval has the true value; that value. And runs with correct skew."""
    errors, held, truth_of, skews = {}, {}, {}, 0
    for seed in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            truth = run_program(library, program, seed, directory)
            profile = check.export(plimsoll, directory / "run.plim")
            skews += skew_is_kept(directory / "run.plim")
        sites = check.entries_by_site(profile)
        for site, figures in truth.items():
            entries = sites.get(site, [])
            assert len(entries) <= 1, f"{site}: {len(entries)} entries for one thread"
            for metric, value in figures.items():
                estimate = sum(entry[metric]["value"] for entry in entries)
                errors.setdefault((site, metric), []).append(estimate - value)
                truth_of[site, metric] = value
                held.setdefault((site, metric), []).append(any(holds(e, site, metric, value) for e in entries))
    return errors, held, truth_of, skews


def main():
    plimsoll, library, program = (Path(argument).resolve() for argument in sys.argv[1:4])
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 120
    errors, held, truth, skews = observe(plimsoll, library, program, runs)
    least = check.fewest_covered(runs)
    checks = [(skews == runs, f"rows keep the sums of the third order: in {skews} of {runs} runs")]
    for (site, metric), values in errors.items():
        bias = check.standard_errors(values)
        share = sum(values) / len(values) / truth[site, metric]
        covered = sum(held[site, metric])
        checks.append((abs(bias) <= check.BIAS_LIMIT and covered >= least,
                       f"{site} {metric}: {share:+.2%}, {bias:+.2f} standard errors; held in {covered} of {runs} runs, "
                       f"at least {least}"))
    return check.report(checks)


if __name__ == "__main__":
    sys.exit(main())
