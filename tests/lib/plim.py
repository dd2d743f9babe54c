# SPDX-License-Identifier: MIT
"""plim - reads a profile file with nothing but format.h in hand, and says what is wrong with it.

It shares no code with the reader in src/reader, so the two can be held against each other. It is written for tests: it
trusts the file's layout, never repairs anything, and reports every broken promise of format.h as one line of text.

A live file is copied in the order that format.h implies: rows first, then what rows name. A row is believed when its
sequence word is even and the same before and after.

usage: plim.py FILE...     prints the problems of each; exit status 1 if there are any
"""

import math
import os
import struct
import sys
import time
from collections import Counter
from pathlib import Path

HEADER_BYTES = 4096
CHUNKS_MAX = 16384
CHUNK_BYTES = 16384
CHUNKS_OFFSET = HEADER_BYTES + CHUNKS_MAX

TEXT, MODULE, FRAME, THREAD, SITE, ROW, SYMBOL = range(1, 8)
RECORD_BYTES = {TEXT: 1, MODULE: 128, FRAME: 16, THREAD: 256, SITE: 16, ROW: 256, SYMBOL: 64}
NAMING_FIRST = (ROW, THREAD, SITE, SYMBOL, FRAME, MODULE, TEXT)

FUNCTIONS = ("malloc", "calloc", "realloc", "aligned", "new")
LOSSES = (
    "nested",
    "file_full",
    "table_full",
    "live_full",
    "missed_free",
    "threads",
    "memory",
    "sandbox",
    "stale_busy",
    "dead_thread",
)
ENDS = ("none", "exit", "quick", "exec")

MODULE_UNKNOWN = 1
SITE_OVERFLOW = 1
ADDRESS_MASK = (1 << 56) - 1
FRAME_EXACT, FRAME_GUESS, FRAME_GAP, FRAME_CUT = (1 << bit for bit in range(56, 60))

SUMS = struct.Struct("=4dQ")
MODULE_STRUCT = struct.Struct("=II32sQQQQII")
FRAME_STRUCT = struct.Struct("=IIQ")
THREAD_STRUCT = struct.Struct("=IIII16sQQ8QQ")
SITE_STRUCT = struct.Struct("=IIII")
ROW_STRUCT = struct.Struct("=IIII4dQQ4dQ24x4dQ")

HEADER_FIELDS = (
    ("version", 8, "I"),
    ("byte_order", 12, "I"),
    ("chunk_bytes", 16, "I"),
    ("machine", 20, "I"),
    ("flags", 24, "I"),
    ("end", 28, "I"),
    ("pid", 32, "I"),
    ("parent_pid", 36, "I"),
    ("uid", 40, "I"),
    ("exit_status", 44, "I"),
    ("wait_status", 48, "I"),
    ("bad_settings", 52, "I"),
    ("start_realtime_ns", 56, "Q"),
    ("start_monotonic_ns", 64, "Q"),
    ("end_monotonic_ns", 72, "Q"),
    ("start_ticks", 80, "Q"),
    ("mode", 88, "I"),
    ("call_charge", 92, "I"),
    ("interval_bytes", 96, "Q"),
    ("seed", 104, "Q"),
    ("chunks", 160, "Q"),
    ("visits", 808, "Q"),
    ("frames_walked", 816, "Q"),
    ("unloads", 824, "Q"),
)
HEADER_TEXTS = {"executable": 128, "command": 136, "directory": 144, "destination": 152}


class NotAProfile(Exception):
    """The file does not begin as a profile does. str() says how it begins."""


class Sums:
    """One struct pl_sums: the same names, and arithmetic component by component."""

    FIELDS = ("objects", "space", "objects_variance", "space_variance", "samples")
    __slots__ = FIELDS

    def __init__(self, *values):
        for field, value in zip(self.FIELDS, values or (0.0, 0.0, 0.0, 0.0, 0)):
            setattr(self, field, value)

    def values(self):
        return tuple(getattr(self, field) for field in self.FIELDS)

    def __add__(self, other):
        return Sums(*(a + b for a, b in zip(self.values(), other.values())))

    def __repr__(self):
        return f"Sums(objects={self.objects}, space={self.space}, samples={self.samples})"


class Row:
    """One struct pl_row. `freed` is the owner's part, `remote` everybody else's."""

    __slots__ = ("number", "site", "thread", "sequence", "allocated", "freed", "remote", "torn")

    def __init__(self, number, raw, torn=False):
        fields = ROW_STRUCT.unpack_from(raw)
        self.number = number
        self.site, self.thread, self.sequence = fields[:3]
        self.allocated = Sums(*fields[4:9])
        self.freed = Sums(*fields[10:15])
        self.remote = Sums(*fields[15:20])
        self.torn = torn or self.sequence % 2 == 1

    @property
    def gone(self):
        return self.freed + self.remote


class Thread:
    """One struct pl_thread_record."""

    def __init__(self, number, raw):
        fields = THREAD_STRUCT.unpack_from(raw)
        self.number = number
        self.valid, self.tid, self.threads, self.alive = fields[:4]
        self.name = fields[4].split(b"\0")[0].decode(errors="replace")
        self.start_ns, self.end_ns = fields[5:7]
        self.calls = dict(zip(FUNCTIONS, fields[7:15]))
        self.bytes = fields[15]

    @property
    def all_calls(self):
        return sum(self.calls.values())


class Module:
    """One struct pl_module, its path looked up."""

    def __init__(self, number, raw, text):
        fields = MODULE_STRUCT.unpack_from(raw)
        self.number = number
        self.valid, build_id_bytes, build_id = fields[:3]
        self.build_id = build_id[:build_id_bytes].hex()
        self.bias, self.start, self.end, self.fingerprint = fields[3:7]
        self.path_range = fields[7:9]
        self.path = text(*self.path_range)


class Profile:
    """A profile, copied out of its file once. Records are kept by their numbers; unpublished ones are left out."""

    def __init__(self, path):
        self.path = str(path)
        with open(path, "rb") as file:
            self.descriptor = file.fileno()
            self.read_header()
            if self.magic != b"PLIMSOLL":
                raise NotAProfile(f"{path} starts with {self.magic!r}")
            self.table = {kind: self.read_kind(kind) for kind in NAMING_FIRST}
            self.read_header()
        self.parse()

    # ---- copying ----

    def read(self, offset, size):
        return os.pread(self.descriptor, size, offset)

    def read_header(self):
        raw = self.read(0, HEADER_BYTES).ljust(HEADER_BYTES, b"\0")
        self.magic = raw[:8]
        for name, offset, code in HEADER_FIELDS:
            setattr(self, name, struct.unpack_from("=" + code, raw, offset)[0])
        self.comm = raw[112:128].split(b"\0")[0].decode(errors="replace")
        self.text_ranges = {name: struct.unpack_from("=II", raw, at) for name, at in HEADER_TEXTS.items()}
        self.count = struct.unpack_from("=32Q", raw, 168)
        self.losses = dict(zip(LOSSES, struct.unpack_from("=32Q", raw, 424)))
        self.stops = struct.unpack_from("=16Q", raw, 680)

    def read_kind(self, kind):
        """The bytes of all chunks of a kind, cut to the number of its records."""
        self.read_header()
        directory = self.read(HEADER_BYTES, CHUNKS_MAX)
        bytes_there = os.fstat(self.descriptor).st_size
        chunks = [CHUNKS_OFFSET + i * CHUNK_BYTES for i, k in enumerate(directory) if k == kind]
        self.missing = getattr(self, "missing", 0) + sum(at + CHUNK_BYTES > bytes_there for at in chunks)
        read = self.read_rows if kind == ROW else self.read_chunk
        return b"".join(read(at) for at in chunks)[: self.count[kind] * RECORD_BYTES[kind]]

    def read_chunk(self, at):
        return self.read(at, CHUNK_BYTES).ljust(CHUNK_BYTES, b"\0")

    def read_rows(self, at):
        """A chunk of rows, each as it was at one moment where that can be had. Where not, its sequence is left odd.

        `remote` is taken from the first reading: another thread's free may not be seen without its allocation.
        """
        before, body, after = (self.read_chunk(at) for _ in range(3))
        rows = []
        for i in range(0, CHUNK_BYTES, RECORD_BYTES[ROW]):
            one = [copy[i : i + 256] for copy in (before, body, after)]
            for _ in range(50):
                if self.still(*one):
                    break
                time.sleep(0)
                one = [self.read(at + i, 256) for _ in range(3)]
            odd = b"" if self.still(*one) else struct.pack("=I", struct.unpack_from("=I", one[1], 8)[0] | 1)
            row = one[0][:4] + one[1][4:8] + (odd or one[1][8:12]) + one[1][12:128] + one[0][128:192] + one[1][192:]
            rows.append(row)
        return b"".join(rows)

    @staticmethod
    def still(before, body, after):
        return before[8:12] == after[8:12] and before[8] % 2 == 0

    # ---- parsing ----

    def records(self, kind):
        """(number, bytes) of every published record: its first word is not zero."""
        size, raw = RECORD_BYTES[kind], memoryview(self.table[kind])
        for number in range(1, len(raw) // size):
            record = raw[number * size : (number + 1) * size]
            if record[:4] != b"\0\0\0\0":
                yield number, record

    def text(self, offset, size):
        """None when the range is not in the file, or crosses a chunk."""
        if size == 0:
            return ""
        if offset + size > len(self.table[TEXT]) or offset // CHUNK_BYTES != (offset + size - 1) // CHUNK_BYTES:
            return None
        return self.table[TEXT][offset : offset + size].decode(errors="replace")

    def parse(self):
        self.modules = {n: Module(n, raw, self.text) for n, raw in self.records(MODULE)}
        self.frames = {n: FRAME_STRUCT.unpack(raw) for n, raw in self.records(FRAME)}  # (module, parent, where)
        self.threads = {n: Thread(n, raw) for n, raw in self.records(THREAD)}
        self.sites = {n: SITE_STRUCT.unpack(raw) for n, raw in self.records(SITE)}  # (valid, stack, tag, reserved)
        self.rows = {n: Row(n, raw) for n, raw in self.records(ROW)}
        for name, (offset, size) in self.text_ranges.items():
            setattr(self, name, self.text(offset, size))

    # ---- figures ----

    @property
    def calls(self):
        return sum(thread.all_calls for thread in self.threads.values())

    @property
    def bytes(self):
        return sum(thread.bytes for thread in self.threads.values())

    def total(self, part):
        """The sum of a part ("allocated", "freed", "remote", "gone") over all rows."""
        return sum((getattr(row, part) for row in self.rows.values()), Sums())

    def stack(self, number):
        """The frames of a stack, innermost first: (module, address, flags)."""
        frames = []
        while number:
            module, number, where = self.frames[number]
            frames.append((module, where & ADDRESS_MASK, where & ~ADDRESS_MASK))
        return frames

    # ---- what is wrong ----

    def problems(self):
        """Every promise of format.h that this file breaks."""
        found = []
        found += self.problems_of_header()
        found += self.problems_of_names()
        for row in self.rows.values():
            found += self.problems_of_row(row)
        torn = Counter(row.thread for row in self.rows.values() if row.torn)
        found += [f"thread {t} was writing to {n} rows at once" for t, n in torn.items() if n > 1]
        return found

    def problems_of_header(self):
        if (self.version, self.byte_order, self.chunk_bytes) != (1, 0x01020304, CHUNK_BYTES):
            yield f"version {self.version}, byte order {self.byte_order:#x}, chunks of {self.chunk_bytes} bytes"
        if self.missing:
            yield f"{self.missing} chunks lie beyond the end of the file"
        for name in HEADER_TEXTS:
            if getattr(self, name) is None:
                yield f"the text of {name} is not in the file"
        if MODULE_UNKNOWN not in self.modules or SITE_OVERFLOW not in self.sites:
            yield "the reserved module or site is missing"

    def problems_of_names(self):
        for n, (module, parent, _) in self.frames.items():
            if module not in self.modules:
                yield f"frame {n} names module {module}, which does not exist"
            if parent >= n or (parent and parent not in self.frames):
                yield f"frame {n} names parent {parent}"
        for n, (_, stack, _, _) in self.sites.items():
            if stack not in self.frames and n != SITE_OVERFLOW:
                yield f"site {n} names stack {stack}, which does not exist"
        for n, module in self.modules.items():
            if module.path is None:
                yield f"the path of module {n} is not in the file"

    def problems_of_row(self, row):
        where = f"row {row.number} (site {row.site}, thread {row.thread}, sequence {row.sequence})"
        if row.site not in self.sites:
            yield f"{where}: its site does not exist"
        if row.thread not in self.threads:
            yield f"{where}: its thread does not exist"
        for field, allocated, gone in zip(Sums.FIELDS, row.allocated.values(), row.gone.values()):
            if not (math.isfinite(allocated) and math.isfinite(gone) and allocated >= 0 and gone >= 0):
                yield f"{where}: {field} is {allocated}, given back {gone}"
            elif gone > allocated * (1 + 1e-9) and not row.torn:
                yield f"{where}: {field} given back {gone}, but allocated only {allocated}"
        if not row.torn and row.gone.samples > row.allocated.samples:
            yield f"{where}: {row.gone.samples} samples freed of {row.allocated.samples}"


def find(*directories):
    """All profiles below the directories, oldest first."""
    files = [file for directory in directories for file in Path(directory).rglob("*.plim*") if file.is_file()]
    return sorted(files, key=lambda file: file.stat().st_mtime_ns)


def main():
    status = 0
    for path in sys.argv[1:]:
        profile = Profile(path)
        problems = list(profile.problems())
        status |= bool(problems)
        print(f"{path}: {profile.comm} {profile.calls} calls, {profile.bytes} bytes, {len(profile.rows)} rows,")
        allocated, gone = profile.total("allocated"), profile.total("gone")
        print(f"    {allocated}, live {allocated.samples - gone.samples}")
        print("    losses", {name: n for name, n in profile.losses.items() if n})
        print(*(f"    {problem}" for problem in problems), sep="\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
