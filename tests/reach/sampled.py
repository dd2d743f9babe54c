# SPDX-License-Identifier: MIT
"""sampled - `plimsoll leaks` in sampled mode: verdicts on samples, by way of blocks that are in none.

`--seeds=N` runs N seeds instead of 20: the soak suite has 200.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from looking import BUILD, KEEPS, PLIMSOLL, Process, check_verdicts, leaks, plimsoll

import claims
from claims import claim
from patience import await_readable

CHAINS = BUILD / "tests" / "reach" / "chains"
SEEDS = 20


class Run:
    """A run of chains.c: its ledger, and what its profile says is lost, by function."""

    def __init__(self, *options, environment=None):
        with tempfile.TemporaryDirectory(prefix="plimsoll-sampled.") as place:
            path = Path(place) / "chains.plim"
            clean = {name: value for name, value in os.environ.items() if not name.startswith("PLIMSOLL_")}
            done = subprocess.run(
                [PLIMSOLL, "run", "--leaks", "-o", path, *options, "--", CHAINS], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
                env=clean | {"LC_ALL": "C.UTF-8", "PLIMSOLL_CACHE": "off"} | (environment or {}))
            assert done.returncode == 0, done.stderr
            self.ledger = {"lost_space": {}, "lost_objects": {}}
            for line in done.stdout.splitlines()[:-1]:
                function, space, objects = line.split()
                self.ledger["lost_space"][function] = int(space)
                self.ledger["lost_objects"][function] = int(objects)
            exported = plimsoll("export", "--format", "json", path)
            assert exported.returncode == 0, exported.stderr
            self.json = json.loads(exported.stdout)
            self.text = plimsoll("leaks", path).stdout
        self.totals = self.json["totals"]

    def lost(self, metric):
        found = {}
        for site in self.json["sites"]:
            names = [self.json["frames"][frame]["function"] for frame in self.json["stacks"][site["stack"]]]
            function = [name for name in names if name.startswith(("lost_", "held_"))]
            if function and site[metric]["value"] > 0:
                found.setdefault(function[0], []).append(site[metric])
        return found


@claim
def if_every_block_is_a_sample_the_verdicts_are_those_of_exact_mode():
    run = Run("--sample", "1")
    for metric, ledger in run.ledger.items():
        found = {function: sum(site["value"] for site in sites) for function, sites in run.lost(metric).items()}
        assert found == ledger, (metric, found, ledger)


@claim
def every_sampled_block_of_a_running_process_gets_its_verdict():
    with Process(PLIMSOLL, "run", "--sample", "1", "-q", "-o", "keeps.plim", "--", KEEPS) as process:
        text = leaks(process.pid)
        check_verdicts(text)
        assert "from a copy" in text, text


def judge(name, truth, figures):
    """Is the mean of these estimates the truth, and do their intervals cover it?"""
    values = [figure["value"] for figure in figures]
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    error = deviation / math.sqrt(len(values))
    covered = sum(figure["low"] - 1e-6 <= truth <= figure["high"] + 1e-6 for figure in figures)
    z = (mean - truth) / error if error > 0 else 0 if abs(mean - truth) < 1e-6 * truth else math.inf
    print(f"# {name}: {mean:.6g} of {truth}, z {z:+.2f}, covered {covered} of {len(figures)}")
    # 3.9 standard errors: once in 10,000 figures. Coverage is 95%, so 85% of 20 and 90% of 200 leave room for chance.
    least = 0.95 * len(figures) - 3.3 * math.sqrt(0.95 * 0.05 * len(figures))
    return [f"{name}: {z:+.1f} standard errors off"] * (abs(z) > 3.9) + [
        f"{name}: covered in {covered} of {len(figures)} runs"] * (covered < least)


@claim
def what_is_lost_is_estimated_without_bias_and_the_intervals_cover_it():
    none = [{"value": 0, "low": 0, "high": 0}]
    runs = [Run("--sample", "8K", "--seed", str(1000 + seed)) for seed in range(SEEDS)]
    problems = []
    for metric, ledger in runs[0].ledger.items():
        problems += judge(f"{metric} in all", sum(ledger.values()), [run.totals[metric] for run in runs])
        found = [run.lost(metric) for run in runs]
        for function in ("lost_alone", "lost_list", "lost_of_other_arena"):
            problems += judge(f"{metric} of {function}", ledger[function],
                              [each.get(function, none)[0] for each in found])
        problems += [f"{metric}: {function} is lost" for each in found for function in each
                     if function.startswith("held_")]
    claims.expect(problems)


LOSES_ON_DEMAND = (
    "import ctypes,sys\n"
    "libc=ctypes.CDLL(None); libc.malloc.restype=ctypes.c_void_p\n"
    "def lose(n,size):\n"
    "  for i in range(n): libc.malloc(size)\n"
    "  libc.malloc(8); libc.malloc(8)\n"
    "  print('ready',flush=True)\n"
    "lose(100,4321)\n"
    "sys.stdin.readline()\n"
    "lose(50,6543)\n"
    "sys.stdin.read()\n"
)


@claim
def blocks_that_were_counted_before_sampling_began_are_exact():
    with Process(PLIMSOLL, "run", "--exact", "-q", "-o", "p.plim", "--", "python3", "-c", LOSES_ON_DEMAND) as process:
        done = plimsoll("control", process.pid, "sample", "1", "--quiet", "--wait", "0")
        assert done.returncode in (0, 3), done.stderr
        process.process.stdin.write(b"\n")
        process.process.stdin.flush()
        await_readable(process.process.stdout)
        assert process.process.stdout.readline() == b"ready\n"
        path = Path(process.place.name) / "lost.plim"
        done = plimsoll("leaks", process.pid, "--output", path)
        assert done.returncode == 0, done.stderr
        exported = json.loads(plimsoll("export", "--format", "json", path).stdout)
        lost, sampling = exported["totals"]["lost_space"], exported["sampling"]
        assert sampling["exact_calls"] > 1000 and sampling["samples"] >= 50, sampling
        # Python may still have the last block of each loop in a register.
        assert 99 * 4321 + 49 * 6543 <= lost["value"] <= 100 * 4321 + 50 * 6543 + 64, lost


def allocator(name):
    found = sorted(Path("/usr/lib").glob(f"*/lib{name}.so*"))
    return found[0] if found else None


@claim
def with_another_allocator_only_what_nothing_points_to_is_lost_and_the_output_says_so():
    library = allocator("jemalloc") or allocator("mimalloc")
    if not library:
        raise claims.Skip("neither jemalloc nor mimalloc is installed")
    run = Run("--sample", "1", environment={"LD_PRELOAD": str(library)})
    found = {function: sites[0]["value"] for function, sites in run.lost("lost_objects").items()}
    assert not [function for function in found if function.startswith("held_")], found
    assert 500 < found["lost_alone"] <= 5000, found
    assert "only if nothing at all points to it" in run.text, run.text


if __name__ == "__main__":
    for word in [word for word in sys.argv if word.startswith("--seeds=")]:
        SEEDS = int(word.removeprefix("--seeds="))
        sys.argv.remove(word)
    sys.exit(claims.main())
