# SPDX-License-Identifier: MIT
"""kill_ledger - compares a profile of the victim with the victim's own account.

kill_ledger.h explains the account. With every allocation sampled, a row of the profile must agree with it to the call: not
less than was finished, not more than was begun. Nothing else is tolerated, whatever ended the victim.
"""

import re
import struct
import subprocess
from array import array
from collections import defaultdict
from pathlib import Path

import plim

HERE = Path(__file__).resolve().parent


def constant(name):
    return int(re.search(rf"#define {name} (\w+?)u?\b", (HERE / "kill_ledger.h").read_text()).group(1), 0)


WORKERS = constant("LEDGER_WORKERS")
DEPTH = constant("LEDGER_DEPTH")
MAGIC = constant("LEDGER_MAGIC")
SITES = 1 << DEPTH
HEAD = struct.Struct(f"=III{WORKERS + 1}I")


def block_bytes(site):
    return 16 + site % 61 * 24


class Pairs:
    """Calls begun and finished at each site, summed over threads."""

    def __init__(self):
        self.started, self.done = [0] * SITES, [0] * SITES

    def add(self, words):
        self.started = [a + b for a, b in zip(self.started, words[0::2])]
        self.done = [a + b for a, b in zip(self.done, words[1::2])]


class Ledger:
    """`allocated[worker]` and `freed[worker]`: what became of the blocks that this worker allocated."""

    def __init__(self, path):
        raw = Path(path).read_bytes()
        fields = HEAD.unpack_from(raw.ljust(HEAD.size, b"\0"))
        self.begun = fields[0] == MAGIC
        self.tids = fields[3 : 3 + WORKERS]
        self.child = fields[3 + WORKERS]
        self.words = array("I", raw[HEAD.size :])
        self.allocated = [Pairs() for _ in range(WORKERS)]
        self.freed = [Pairs() for _ in range(WORKERS)]
        if self.begun:
            self.add_up()

    def table(self, number):
        return self.words[number * 2 * SITES : (number + 1) * 2 * SITES]

    def add_up(self):
        for worker in range(WORKERS):
            self.allocated[worker].add(self.table(worker))
            for by in range(WORKERS):
                self.freed[worker].add(self.table(WORKERS + by * WORKERS + worker))

    def until(self, later):
        """A ledger with the calls finished in this one and those begun in `later`."""
        for mine, theirs in zip(self.allocated + self.freed, later.allocated + later.freed):
            mine.started = theirs.started
        self.tids = later.tids
        return self

    @property
    def calls(self):
        return sum(sum(pairs.done) for pairs in self.allocated)


class Turns:
    """Finds the site of a stack by the turns of its frames."""

    def __init__(self, victim):
        self.ranges = {}
        symbols = subprocess.run(["nm", "-S", victim], check=True, capture_output=True, text=True).stdout
        for line in symbols.splitlines():
            words = line.split()
            if words[-1] in ("turn_left", "turn_right"):
                start = int(words[0], 16)
                self.ranges[words[-1]] = range(start, start + int(words[1], 16))

    def site(self, profile, stack):
        """None if the stack is not a worker's."""
        bits = []
        for module, address, _ in profile.stack(stack):
            if address - 1 in self.ranges["turn_right"]:
                bits.append(1)
            elif address - 1 in self.ranges["turn_left"]:
                bits.append(0)
        if len(bits) != DEPTH:
            return None
        return sum(bit << (DEPTH - 1 - i) for i, bit in enumerate(bits))


class Figures:
    """The figures of one worker in a profile, by site."""

    def __init__(self):
        self.allocated = defaultdict(plim.Sums)
        self.gone = defaultdict(plim.Sums)
        self.torn = set()


def collect(profile, ledger, turns):
    """The figures of each worker. Frames of other modules cannot be confused: only the victim has turns."""
    worker_of = {tid: worker for worker, tid in enumerate(ledger.tids) if tid}
    thread_of = {n: worker_of.get(thread.tid) for n, thread in profile.threads.items()}
    site_of = {n: turns.site(profile, site[1]) for n, site in profile.sites.items()}
    figures = [Figures() for _ in range(WORKERS)]
    for row in profile.rows.values():
        worker, site = thread_of[row.thread], site_of[row.site]
        if worker is None or site is None:
            continue
        figures[worker].allocated[site] += row.allocated
        figures[worker].gone[site] += row.gone
        if row.torn:
            figures[worker].torn.add(site)
    return figures


def compare_counts(what, sums, pairs, size):
    """A call that was not in progress is in all of the sums or in none."""
    for site in range(SITES):
        started, done, seen = pairs.started[site], pairs.done[site], sums[site] if site in sums else plim.Sums()
        if not (done <= seen.samples <= started and done <= seen.objects <= started):
            yield f"{what} site {site}: {seen}, but {done} finished of {started} begun"
        if not done * size(site) <= seen.space <= started * size(site):
            yield f"{what} site {site}: {seen}, but {done} finished of {started} begun, of {size(site)} bytes"


def compare_rows(worker, figures, ledger):
    allocated, freed = ledger.allocated[worker], ledger.freed[worker]
    yield from compare_counts(f"worker {worker} allocated", figures.allocated, allocated, block_bytes)
    yield from compare_counts(f"worker {worker} freed", figures.gone, freed, block_bytes)
    for site in figures.torn:
        if allocated.started[site] == allocated.done[site] and freed.started[site] == freed.done[site]:
            yield f"worker {worker} site {site}: the row is being written, but no call was in progress"


def compare_thread(worker, profile, ledger):
    """The thread's exact totals are booked in the visit that every call makes in this test."""
    pairs = ledger.allocated[worker]
    record = next((t for t in profile.threads.values() if t.tid and t.tid == ledger.tids[worker]), None)
    done, started = sum(pairs.done), sum(pairs.started)
    if record is None:
        if done:
            yield f"worker {worker} has no thread record, but made {done} calls"
        return
    if not done <= record.all_calls <= started:
        yield f"worker {worker}: {record.all_calls} calls booked, but {done} finished of {started} begun"
    least = sum(n * block_bytes(site) for site, n in enumerate(pairs.done))
    most = sum(n * block_bytes(site) for site, n in enumerate(pairs.started))
    if not least <= record.bytes <= most:
        yield f"worker {worker}: {record.bytes} bytes booked, but between {least} and {most} requested"


def compare(profile, ledger, turns):
    """Everything in which the profile and the ledger disagree."""
    lost = {name: n for name, n in profile.losses.items() if n}
    found = [f"losses {lost}"] if lost else []
    for worker, figures in enumerate(collect(profile, ledger, turns)):
        found += compare_rows(worker, figures, ledger)
        found += compare_thread(worker, profile, ledger)
    return found
