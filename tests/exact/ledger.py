# SPDX-License-Identifier: MIT
"""ledger - reads the account that a program kept of itself (programs/ledger.h), and compares a profile with it.

Every figure of every site in every thread must be the same, to the call and to the byte. Only if the program was killed
may the profile have more than the ledger: the one call of a thread that had begun and was not booked yet.
"""

import re
import struct
from collections import Counter, namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = (HERE / "programs" / "ledger.h").read_text()


def constant(name):
    return int(re.search(rf"#define {name} (\w+?)u?\b", HEADER).group(1), 0)


def fields(struct_name):
    """The names of a struct's 64-bit fields, in order. So a new field is checked automatically."""
    body = re.search(rf"struct {struct_name} {{(.*?)\n}};", HEADER, re.DOTALL).group(1)
    declared = re.findall(r"uint64_t ([\w, ]+);", body)
    return [name.strip() for names in declared for name in names.split(",")]


MAGIC, THREADS, SITES = (constant(name) for name in ("LEDGER_MAGIC", "LEDGER_THREADS", "LEDGER_SITES"))
NAME_BYTES, POINTS = constant("LEDGER_NAME"), constant("LEDGER_POINTS")
CELL = fields("ledger_cell")
NOTHING, ALLOCATING, FREEING, MOVING = range(4)

HEAD = struct.Struct("=4I3Q")
THREAD = struct.Struct("=6I2Q")
Thread = namedtuple("Thread", "tid doing site old_thread old_site reserved bytes old_bytes")


class Figures(Counter):
    """Figures by name. A missing figure is 0."""

    @property
    def live_calls(self):
        return self["calls"] - self["freed_calls"]

    @property
    def live_bytes(self):
        return self["bytes"] - self["freed_bytes"]


def add_up(table):
    """The sum over the values of a dictionary of figures."""
    total = Figures()
    for figures in table.values():
        total.update(figures)
    return total


class Ledger:
    """cell[thread, site], peak[thread, site] -> Figures; sites by their names, threads by their numbers."""

    def __init__(self, path):
        raw = Path(path).read_bytes()
        magic, _, sites, points, self.live_bytes, self.peak_bytes, self.peak_ns = HEAD.unpack_from(raw)
        assert magic == MAGIC, f"{path} is not a ledger, or was never started"
        at = HEAD.size
        self.names = [raw[at + i * NAME_BYTES :][:NAME_BYTES].split(b"\0")[0].decode() for i in range(sites)]
        at += SITES * NAME_BYTES
        self.threads = [Thread(*THREAD.unpack_from(raw, at + i * THREAD.size)) for i in range(THREADS)]
        at += THREADS * THREAD.size
        self.cell, at = self.read_table(raw, at, CELL)
        self.peak, at = self.read_table(raw, at, ["blocks", "bytes"])
        self.points = [struct.unpack_from("=QQ", raw, at + 16 * i) for i in range(points)]

    def read_table(self, raw, at, names):
        row = struct.Struct(f"={len(names)}Q")
        table = {}
        for thread in range(THREADS):
            for site in range(SITES):
                figures = Figures(dict(zip(names, row.unpack_from(raw, at))))
                at += row.size
                if site < len(self.names) and any(figures.values()):
                    table[thread, self.names[site]] = figures
        return table, at

    def number_of(self, tid):
        """The thread's number; None if the program booked nothing under it."""
        return next((n for n, thread in enumerate(self.threads) if thread.tid == tid and tid), None)

    def by_site(self):
        table = {}
        for (_, site), figures in self.cell.items():
            table.setdefault(site, Figures()).update(figures)
        return table

    def in_flight(self):
        """(thread, site) -> by how much its figures in a profile may exceed these."""
        ahead = {}
        for number, thread in enumerate(self.threads):
            if thread.doing in (ALLOCATING, MOVING):
                more = Figures(calls=1, bytes=thread.bytes, temporaries=1)
                if thread.doing == MOVING:
                    more.update(realloc_calls=1, realloc_in_place=1, realloc_moved=thread.bytes)
                ahead.setdefault((number, self.names[thread.site]), Figures()).update(more)
            if thread.doing in (FREEING, MOVING):
                key = thread.old_thread, self.names[thread.old_site]
                more = Figures(freed_calls=1, freed_bytes=thread.old_bytes, temporaries=1)
                ahead.setdefault(key, Figures()).update(more)
        return ahead


def compare(truth, seen, ahead=None, without=()):
    """Every figure in which two tables of Figures differ, as text. `ahead`: how much more `seen` may have, per key."""
    found = []
    for key in sorted(set(truth) | set(seen), key=str):
        true, profiled = truth.get(key, Figures()), seen.get(key, Figures())
        more = (ahead or {}).get(key, Figures())
        for name in CELL:
            if name not in without and not true[name] <= profiled[name] <= true[name] + more[name]:
                allowed = f" (and at most {more[name]} more)" if more[name] else ""
                found.append(f"{key} {name}: {profiled[name]} in the profile, should be {true[name]}{allowed}")
    return found
