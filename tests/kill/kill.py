# SPDX-License-Identifier: MIT
"""kill - kill -9 at random times of a program with many threads: every file can be read and is right.

Each run is a new process, killed after a random time from a seeded generator: one in four counts from its start, the
others from their first allocations. The first claim makes the runs, and all claims share them. Of a run only its
problems are kept. KILLS is the number of runs.
"""

import functools
import os
import random
import sys
import time

# First, because it adds tests/lib to the path.
from victims import Place, agree, compare, expect, export, turns
import claims
import plim
from claims import claim, say
from patience import await_true

KILLS = int(os.environ.get("KILLS", "50"))
LATEST_MS = 400
SAMPLED_SHARE = 5  # every fifth run is sampled, the others record every allocation
EARLY_SHARE = 4  # every fourth run may be killed before it allocates
BEGUN_CALLS = 1000
SEED = int(os.environ.get("SEED", "1"))


class Death:
    """One run, and the problems of its profile."""

    def __init__(self, number, generator):
        self.after_ms = generator.uniform(0, LATEST_MS)
        self.early = number % EARLY_SHARE == 0
        self.sample = "16K" if number % SAMPLED_SHARE == SAMPLED_SHARE - 1 else "1"
        when = "its start" if self.early else "it had begun"
        self.name = f"run {number} of seed {SEED}, killed {self.after_ms:.1f} ms after {when}, sample {self.sample}"
        self.promises, self.figures, self.reader, self.calls = [], [], [], 0
        with Place() as place:
            self.die(place)
            self.examine(place)

    def die(self, place):
        process = place.start_victim("never", 0, sample=self.sample)
        if not self.early:
            await_true(lambda: place.ledger() and place.ledger().calls > BEGUN_CALLS, "an allocation")
        time.sleep(self.after_ms / 1000)  # any time is good
        process.kill()
        self.status = process.wait()

    def examine(self, place):
        ledger = place.ledger()
        self.calls = ledger.calls if ledger else 0
        try:
            profiles = [plim.Profile(path) for path in place.files()]
        except plim.NotAProfile as why:
            profiles = []
            self.promises += [f"main had begun, but {why}"] if ledger and ledger.begun else []
        if not profiles:
            self.promises += ["main had begun, but there is no file"] if ledger and ledger.begun else []
            return
        self.promises += profiles[0].problems()
        if self.sample == "1" and ledger:
            self.figures += compare(profiles[0], ledger, turns)
        self.figures += self.compare_visits(profiles[0])
        self.reader += agree(profiles[0], export(profiles[0].path))

    @staticmethod
    def compare_visits(profile):
        """The header counts a sample before the row does: one more for each thread, at most."""
        alive = sum(thread.alive for thread in profile.threads.values())
        ahead = profile.visits_of_samples() - profile.total("allocated").samples
        if not 0 <= ahead <= alive:
            yield f"{profile.visits_of_samples()} visits, {profile.total('allocated').samples} samples, {alive} threads"


@functools.lru_cache(maxsize=None)
def deaths():
    generator = random.Random(SEED)
    found = [Death(number, generator) for number in range(KILLS)]
    say(f"{KILLS} processes were killed, {sum(d.calls for d in found)} calls had been made")
    return found


def all_problems(kind):
    expect((f"{death.name}: {problem}" for death in deaths() for problem in getattr(death, kind)), f"in {kind}")


@claim
def every_process_was_killed_by_sigkill_and_most_had_allocated():
    assert all(death.status == -9 for death in deaths())
    assert all(death.calls > BEGUN_CALLS for death in deaths() if not death.early)


@claim
def every_file_can_be_read_and_fulfils_the_format():
    all_problems("promises")


@claim
def every_row_and_total_agrees_with_the_ledger_except_for_calls_in_progress():
    all_problems("figures")


@claim
def the_reader_opens_every_file_and_discards_nothing():
    all_problems("reader")


if __name__ == "__main__":
    sys.exit(claims.main())
