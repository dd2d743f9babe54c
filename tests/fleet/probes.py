# SPDX-License-Identifier: MIT
"""probes - the runtime has the USDT probes of OpenTelemetry's contract otel_memory: a listener finds them, and is told about
every sampled block and its free, with arguments in the registers that the contract names.

The program that is listened to writes down its calls, so we know what must have been told.
"""

import math
import os
import shutil
import struct
import subprocess
import sys

# First, because it adds tests/lib, tests/export and tests/page to the path.
from served import BUILD, PATIENCE_S, RUNTIME, environment, place
import claims
from claims import claim
from built import MACHINE, export
from patience import await_readable
from uprobes import Library, Listener, counter_of, missing

PROGRAM = BUILD / "tests" / "fleet" / "probed"
INTERVAL = 512 << 10
# A copy that only this test's processes use: what other tests do at the same time is not told to our listeners.
LIBRARY = Library(shutil.copy(RUNTIME, place()))
ALLOCATED, FREED, KEPT = 1, 2, 3
WRITABLE, EXECUTABLE = 2, 1
ARGUMENTS = {"x86_64": ("8@%rdi 8@%rsi 8@%rdx", "8@%rdi"), "aarch64": ("8@x0 8@x1 8@x2", "8@x0")}


class Probed:
    """programs/probed.c, being profiled."""

    def __init__(self, calls, threads=1, **settings):
        self.log, self.calls, self.threads = place() / f"{os.urandom(4).hex()}.log", calls, threads
        settings = environment(LD_PRELOAD=LIBRARY.path, PLIMSOLL_LIVE_DIR=place(), PLIMSOLL_OUT=place() / "%p.plim",
                               **settings)
        self.process = subprocess.Popen([PROGRAM, self.log, str(calls), str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=settings)
        self.pid = self.process.pid
        self.hear(b"ready\n")

    def hear(self, line):
        await_readable(self.process.stdout, repr(line))
        assert self.process.stdout.readline() == line

    def go(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self.hear(b"done\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(PATIENCE_S) == 0
        self.process.stdout.close()

    def entries_after(self, listen_to):
        """The calls, which are made now; `events` gets what was heard of them."""
        self.events = listen_to(self)
        return self.entries()

    def entries(self):
        """(what, block, size) of each call of each thread."""
        words = struct.iter_unpack("<QQQ", self.log.read_bytes())
        return [entry for entry in words if entry[0]]


def listen(probed):
    """The events of a process's calls, in their order."""
    with Listener(LIBRARY, "alloc") as allocs, Listener(LIBRARY, "free") as frees:
        probed.go()
        return [(name, *registers) for _, name, registers in sorted(allocs.events() + frees.events())]


def weighted(size):
    return round(size / -math.expm1(-size / INTERVAL))


def replay(entries, events):
    """Follows the log and the events together. Returns the (size, weighted bytes) of each sampled block."""
    told, sampled, next_events = {}, [], iter(events)
    event = next(next_events, None)
    for what, block, size in entries:
        if what == ALLOCATED:
            assert block not in told
            if event and event[:3] == ("alloc", block, size):
                told[block] = event
                sampled.append((size, event[3]))
                event = next(next_events, None)
        elif block in told:
            assert event and event[:2] == ("free", block), f"{event} instead of a free of {block:#x}"
            event = next(next_events, None)
            if what == KEPT:
                assert event == told[block], f"{event}, but the block is there again"
                event = next(next_events, None)
            else:
                del told[block]
    assert event is None, f"nobody did {event}"
    return sampled


@claim
def the_notes_lead_to_two_probes_and_one_counter():
    libraries = [LIBRARY, Library(BUILD / "libplimsoll-cxx.so"), Library(BUILD / "libplimsoll-attach.so")]
    for library in libraries:
        alloc, free = library.probes["alloc"], library.probes["free"]
        assert (alloc["arguments"], free["arguments"]) == ARGUMENTS[MACHINE], (alloc, free)
        assert alloc["semaphore"] == free["semaphore"] and alloc["semaphore"] % 2 == 0
        flags, offset = library.segment_of(alloc["semaphore"])
        assert flags & WRITABLE and library.bytes[offset:offset + 2] == b"\0\0"
        for probe in (alloc, free):
            assert probe["base"] == library.sections[".stapsdt.base"][3]
            flags, offset = library.segment_of(probe["location"])
            assert flags & EXECUTABLE
            if MACHINE == "x86_64":
                assert library.bytes[offset:offset + 5] == b"\x0f\x1f\x44\x00\x00", "not a nop of 5 bytes"


def need_a_listener():
    if missing():
        raise claims.Skip(missing())


def check_profile(probed):
    """Nobody's figures change because somebody listens."""
    totals = export(str(probed.pid))["totals"]
    blocks = [size for what, _, size in probed.entries() if what == ALLOCATED]
    freed = sum(what == FREED for what, _, _ in probed.entries())
    found = totals["alloc_objects"]["value"] - len(blocks)
    assert 0 <= found < 100, f"{found} calls more than the program made"  # of the loader, and of threads
    assert 0 <= totals["alloc_space"]["value"] - sum(blocks) < 1 << 20
    assert 0 <= totals["inuse_objects"]["value"] - (len(blocks) - freed) < 100


def check_sum(probed, sampled, chance):
    """What the samples stand for is what was allocated; the tolerance is five standard deviations."""
    sizes = [size for what, _, size in probed.entries() if what == ALLOCATED and size]
    deviation = math.sqrt(sum(size * size * (1 / chance(size) - 1) for size in sizes))
    estimate = sum(bytes_ for _, bytes_ in sampled)
    assert len(sampled) > 100, len(sampled)
    assert abs(estimate - sum(sizes)) < 5 * deviation, (estimate, sum(sizes), deviation)


@claim
def exact_mode_samples_for_a_listener_who_sees_every_free_of_a_sample():
    need_a_listener()
    with Probed(200000, PLIMSOLL_SAMPLE="exact", PLIMSOLL_SEED=1) as probed:
        sampled = replay(probed.entries_after(listen), probed.events)
        assert all(bytes_ == weighted(size) for size, bytes_ in sampled), "not the formula of the contract"
        check_sum(probed, sampled, lambda size: -math.expm1(-size / INTERVAL))
        check_profile(probed)


@claim
def samples_are_told_with_the_weight_that_they_have():
    need_a_listener()
    interval, charge = 64 << 10, 64
    with Probed(60000, PLIMSOLL_SAMPLE=interval, PLIMSOLL_SEED=1) as probed:
        sampled = replay(probed.entries_after(listen), probed.events)
        for size, bytes_ in sampled:
            assert abs(bytes_ - size / -math.expm1(-(size + charge) / interval)) < 1, (size, bytes_)
        check_sum(probed, sampled, lambda size: -math.expm1(-(size + charge) / interval))


@claim
def what_threads_allocate_at_the_same_time_is_told_in_order():
    need_a_listener()
    for mode in ("exact", "16K"):
        with Probed(30000, threads=4, PLIMSOLL_SAMPLE=mode, PLIMSOLL_SEED=1) as probed:
            made = {(block, size) for what, block, size in probed.entries_after(listen) if what == ALLOCATED}
            live, allocs = set(), 0
            for name, block, size, _ in probed.events:
                if name == "alloc":
                    assert block not in live, f"{block:#x} was allocated twice ({mode})"
                    live.add(block)
                    allocs += (block, size) in made
                else:
                    assert block in live, f"{block:#x} was not allocated ({mode})"
                    live.remove(block)
            assert allocs > 20, (mode, allocs)
            assert not live & {block for block, _ in made}, mode


@claim
def the_kernel_counts_the_listeners_and_nobody_is_told_without_one():
    need_a_listener()
    with Probed(20000, PLIMSOLL_SAMPLE="exact") as probed:
        counter = LIBRARY.probes["alloc"]["semaphore"]
        counts = [counter_of(probed.pid, LIBRARY, counter)]
        with Listener(LIBRARY, "alloc"):
            counts.append(counter_of(probed.pid, LIBRARY, counter))
            with Listener(LIBRARY, "free"):
                counts.append(counter_of(probed.pid, LIBRARY, counter))
        counts.append(counter_of(probed.pid, LIBRARY, counter))
        one = counts[1]  # the kernel counts once for each processor
        assert counts == [0, one, 2 * one, 0] and one > 0, counts
        probed.go()


if __name__ == "__main__":
    sys.exit(claims.main())
