# SPDX-License-Identifier: MIT
"""plim - reads a profile file with nothing but format.h, and lists what is wrong with it.

It shares no code with the reader in src/reader, so the two can be compared. It is written for tests: it trusts the
file's layout, never repairs anything, and reports every violation of format.h as one line of text.

A live file is copied in the order that format.h implies: first the frees by other threads, then rows and tallies, then
the records that they refer to. A row is consistent if its sequence word is even and the same before and after.

A tally counts where a row samples, and a small record is a tally of few calls. All have the same interface:
`allocated`, `freed` and `remote` are Sums. The Sums of a tally are those of samples with weight 1.
shares() returns all.

usage: plim.py FILE...     prints the problems of each; exit status 1 if there are any
"""

import math
import os
import struct
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

HEADER_BYTES = 4096
CHUNK_BYTES = 16384
DIRECTORY_CHUNKS = 16384
DIRECTORIES = 4
CHUNKS_OFFSET = HEADER_BYTES + DIRECTORY_CHUNKS

VERSION = 5
(TEXT, MODULE, FRAME, THREAD, SITE, ROW, SYMBOL, TALLY, REMOTE, MOMENT, SNAPSHOT, TAG, SCOPE, DIRECTORY,
 SMALL, HEAP, LEDGER) = range(1, 18)
RECORD_BYTES = {
    TEXT: 1,
    MODULE: 128,
    FRAME: 16,
    THREAD: 256,
    SITE: 16,
    ROW: 640,
    SYMBOL: 64,
    TALLY: 448,
    REMOTE: 256,
    SMALL: 64,
    MOMENT: 64,
    SNAPSHOT: 16384,
    TAG: 32,
    SCOPE: 128,
    HEAP: 128,
    LEDGER: 584,
}
NAMING_FIRST = (SNAPSHOT, REMOTE, TALLY, SMALL, ROW, MOMENT, LEDGER, HEAP, SCOPE, THREAD, SITE, TAG, SYMBOL, FRAME, MODULE,
                TEXT)

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
    "tags",
    "pops",
    "tag_names",
    "mappings",
)
ENDS = ("none", "exit", "quick", "exec")

MODULE_UNKNOWN = 1
SITE_OVERFLOW = 1
SITE_STACK, SITE_OTHER_SIZES = range(2)
TAG_NAMED, TAG_OFF, TAG_PAUSED, TAG_REST = range(4)
TAG_PIECE = 4096
FLAG_SNAPSHOT = 1 << 6
ADDRESS_MASK = (1 << 56) - 1
FRAME_EXACT, FRAME_GUESS, FRAME_GAP, FRAME_CUT = (1 << bit for bit in range(56, 60))

SUMS = struct.Struct("=4dQ")
MODULE_STRUCT = struct.Struct("=II32sQQQQII")
FRAME_STRUCT = struct.Struct("=IIQ")
THREAD_STRUCT = struct.Struct("=IIII16sQQ8QQII8QQ56x")
SITE_STRUCT = struct.Struct("=IIII")
ROW_STRUCT = struct.Struct("=IIII4dQII4dQ3d4dQII16x4dQ3d4dQdd8x22f32f8f8fI36x")
TALLY_STRUCT = struct.Struct("=IIIIQQII22IIIQQQ32I5Q8I8IQQBBHIQQQQ")
REMOTE_STRUCT = struct.Struct("=II6Q8I32III32x")
SMALL_STRUCT = struct.Struct("=9I3H4B9H")
SMALL_MARK = 1 << 31
MOMENT_STRUCT = struct.Struct("=8Q")
SNAPSHOT_STRUCT = struct.Struct("=3QII2Q16x")
ENTRY_STRUCT = struct.Struct("=IIQQQ")
TAG_STRUCT = struct.Struct("=6I8x")
SCOPE_STRUCT = struct.Struct("=4IQ8QQ32x")
ENTRY_KINDS = ("tally", "small", "site", "nothing", "row", "nothing", "nothing", "nothing")  # by 3 bits of `who`
assert ROW_STRUCT.size == 640 and TALLY_STRUCT.size == 448 and REMOTE_STRUCT.size == 256 and MOMENT_STRUCT.size == 64
assert THREAD_STRUCT.size == 256 and TAG_STRUCT.size == 32 and SCOPE_STRUCT.size == 128

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
    ("clock_start_ticks", 864, "Q"),
    ("clock_last_ticks", 872, "Q"),
    ("clock_last_ns", 880, "Q"),
    ("peak_bytes", 888, "Q"),
    ("peak_units", 896, "Q"),
    ("peak_era", 904, "I"),
    ("peaks", 908, "I"),
    ("overhead_ppm", 912, "I"),
    ("exact_now", 916, "I"),
    ("auto_interval_bytes", 920, "Q"),
    ("auto_interval_max", 928, "Q"),
    ("spent_ns", 936, "Q"),
    ("cpu_ns", 944, "Q"),
    ("exact_calls", 952, "Q"),
    ("exact_ns", 960, "Q"),
    ("left_exact", 968, "I"),
    ("returned_to_exact", 972, "I"),
    ("exit_ns", 976, "Q"),
    ("timeline_shift", 984, "I"),
    ("batch_bytes", 988, "I"),
    ("snapshot_ns", 1000, "Q"),
    ("size_from", 1008, "Q"),
    ("size_to", 1016, "Q"),
    ("reset_ns", 1024, "Q"),
    ("resets", 1032, "I"),
    ("merged", 1036, "I"),
    ("allocator", 1040, "I"),
)
HEADER_TEXTS = {
    "executable": 128,
    "command": 136,
    "directory": 144,
    "destination": 152,
    "snapshot_name": 992,
    "bypass_malloc": 1072,
    "bypass_scope": 1080,
    "bypass_linked": 1088,
}


class NotAProfile(Exception):
    """The file does not begin like a profile. str() says how it begins."""


class Sums:
    """One struct pl_sums: the same names, and arithmetic by component."""

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


class Share:
    """The common part of a row and a tally. `freed` counts frees by the owner, `remote` frees by all other threads."""

    kind = "share"
    torn = False

    @property
    def gone(self):
        return self.freed + self.remote

    def __str__(self):
        return f"{self.kind} {self.number} (site {self.site}, thread {self.thread})"


class Row(Share):
    """One struct pl_row."""

    kind = "row"

    def __init__(self, number, raw, torn=False):
        fields = ROW_STRUCT.unpack_from(raw)
        self.number = number
        self.site, self.thread, self.sequence, self.era = fields[:4]
        self.allocated = Sums(*fields[4:9])
        self.smallest, self.largest = fields[9:11]
        self.freed = Sums(*fields[11:16])
        self.temporaries, self.realloc_calls, self.realloc_moved = fields[16:19]
        self.remote = Sums(*fields[19:24])
        self.remote_era, self.reset = fields[24:26]
        self.peak = Sums(*fields[26:31])
        self.realloc_in_place = fields[31]
        self.objects_skew, self.space_skew = fields[32:34]
        self.peak_remote = Sums(*fields[34:39])
        self.exit_objects, self.exit_space = fields[39:41]
        self.sizes, self.lives = fields[41:63], fields[63:95]
        self.made, self.cohorts_gone = fields[95:103], fields[103:111]
        self.cohort_shift = fields[111]
        self.torn = torn or self.sequence % 2 == 1


def counted(calls, size):
    return Sums(float(calls), float(size), 0.0, 0.0, calls)


class Tally(Share):
    """One struct pl_tally, and the frees of its blocks by other threads."""

    kind = "tally"

    def __init__(self, number, raw, remotes):
        fields = TALLY_STRUCT.unpack_from(raw)
        self.number = number
        self.site, self.thread, self.era, self.smallest, self.calls, self.bytes = fields[:6]
        self.largest, self.remote_number = fields[6:8]
        self.sizes = fields[8:30]
        self.owner, self.freed_era, self.freed_calls, self.freed_bytes, self.temporaries = fields[30:35]
        self.lives = fields[35:67]
        self.realloc_calls, self.realloc_moved, self.realloc_in_place = fields[67:70]
        self.exit_calls, self.exit_bytes = fields[70:72]
        self.made, self.cohorts_gone = fields[72:80], fields[80:88]
        self.made_calls, self.gone_calls, self.cohort, self.cohort_shift, self.reset, self.own_number = fields[88:94]
        self.peak_calls, self.peak_bytes, self.peak_freed_calls, self.peak_freed_bytes = fields[94:98]
        self.remotes = remotes
        self.allocated = counted(self.calls, self.bytes)
        self.freed = counted(self.freed_calls, self.freed_bytes)
        self.remote = counted(sum(r.calls for r in self.remotes), sum(r.bytes for r in self.remotes))


class Ledger:
    """One struct pl_ledger: calls of a heap beside malloc's, each of which had its stack walked."""

    def __init__(self, number, raw):
        self.number = number
        self.site, self.thread, self.heap = struct.unpack_from("=III", raw)
        self.calls, self.bytes = struct.unpack_from("=QQ", raw, 24)


class Small(Share):
    """One struct pl_small, as the tally that it stands for, and the frees of its blocks by other threads."""

    kind = "small"
    # What cells count, in the order of the format: (name, how many of them).
    CELLS = (("nothing", 1), ("sizes", 22), ("lives", 32), ("made", 8), ("cohorts_gone", 8), ("temporaries", 1),
             ("exit_calls", 1), ("realloc_calls", 1), ("realloc_in_place", 1))

    def __init__(self, number, raw):
        fields = SMALL_STRUCT.unpack_from(raw)
        self.number = number
        self.site, self.thread, self.era, self.grown, self.remote_number = fields[:5]
        self.marked, self.site = bool(self.site & SMALL_MARK), self.site & ~SMALL_MARK
        self.bytes, self.freed_bytes, self.peak_bytes, self.exit_bytes = fields[5:9]
        self.smallest, self.largest, self.reset = fields[9:12]
        self.calls, self.freed_calls, self.peak_calls, self.cohort_shift = fields[12:16]
        self.cells = fields[16:]
        self.owner, self.freed_era, self.realloc_moved = self.thread, self.era, 0
        self.peak_freed_calls = self.peak_freed_bytes = 0
        self.made_calls, self.gone_calls, self.cohort = self.calls, self.freed_calls, 0
        count = Counter()
        for cell in self.cells:
            count[cell >> 8] += cell & 255
        first = 0
        for name, many in self.CELLS:
            values = tuple(count[first + i] for i in range(many))
            setattr(self, name, values if many > 1 else values[0])
            first += many
        self.unknown = sum(n for what, n in count.items() if what >= first)
        self.allocated = counted(self.calls, self.bytes)
        self.freed = counted(self.freed_calls, self.freed_bytes)
        self.belongs([])

    def belongs(self, remotes):
        self.remotes = remotes
        self.remote = counted(sum(r.calls for r in self.remotes), sum(r.bytes for r in self.remotes))


class Remote:
    """One struct pl_remote."""

    def __init__(self, number, raw):
        fields = REMOTE_STRUCT.unpack_from(raw)
        self.number = number
        self.tally, self.era, self.calls, self.bytes, self.peak_calls, self.peak_bytes = fields[:6]
        self.exit_calls, self.exit_bytes = fields[6:8]
        self.cohorts_gone, self.lives = fields[8:16], fields[16:48]
        self.thread, self.next = fields[48:]


class Moment:
    """One struct pl_moment."""

    FIELDS = ("time_ns", "live_bytes", "live_objects", "allocated_bytes", "allocated_calls", "rss_bytes")

    def __init__(self, number, raw):
        fields = MOMENT_STRUCT.unpack_from(raw)
        self.number = number
        for name, value in zip(self.FIELDS, fields):
            setattr(self, name, value)
        self.interval_bytes, self.file_bytes = fields[6:]


class Snapshot:
    """One struct pl_composition_record; entries are (kind, number, objects, bytes, calls, allocated)."""

    def __init__(self, number, raw):
        self.number = number
        fields = SNAPSHOT_STRUCT.unpack_from(raw)
        self.time_ns, self.live_bytes, self.live_objects, entries, self.left_out = fields[:5]
        self.allocated_bytes, self.allocated_calls = fields[5:]
        self.entries = []
        for i in range(min(entries, 510)):
            who, *figures = ENTRY_STRUCT.unpack_from(raw, 64 + ENTRY_STRUCT.size * i)
            self.entries.append((ENTRY_KINDS[who >> 29], who & (1 << 29) - 1, *figures))


class Thread:
    """One struct pl_thread_record."""

    def __init__(self, number, raw):
        fields = THREAD_STRUCT.unpack_from(raw)
        self.number = number
        self.valid, self.tid, self.threads, self.alive = fields[:4]
        self.name = fields[4].split(b"\0")[0].decode(errors="replace")
        self.start_ns, self.end_ns = fields[5:7]
        self.calls = dict(zip(FUNCTIONS, fields[7:15]))
        self.bytes, self.tag, self.reset = fields[15:18]
        self.reset_calls = dict(zip(FUNCTIONS, fields[18:26]))
        self.reset_bytes = fields[26]

    @property
    def all_calls(self):
        return sum(self.calls.values())


class Tag:
    """One struct pl_tag_record. `path` has all of its names from the outermost on, each with its kind."""

    def __init__(self, number, raw):
        self.number = number
        _, self.parent, self.offset, self.size, self.rest, self.kind = TAG_STRUCT.unpack_from(raw)
        self.path = None


class Scope:
    """One struct pl_scope_record."""

    def __init__(self, number, raw):
        fields = SCOPE_STRUCT.unpack_from(raw)
        self.number = number
        self.thread, self.tag, self.reset, self.entered = fields[1:5]
        self.calls = dict(zip(FUNCTIONS, fields[5:13]))
        self.bytes = fields[13]


class Module:
    """One struct pl_module, with its path."""

    def __init__(self, number, raw, text):
        fields = MODULE_STRUCT.unpack_from(raw)
        self.number = number
        self.valid, build_id_bytes, build_id = fields[:3]
        self.build_id = build_id[:build_id_bytes].hex()
        self.bias, self.start, self.end, self.fingerprint = fields[3:7]
        self.path_range = fields[7:9]
        self.path = text(*self.path_range)


class Profile:
    """A profile, copied once from its file. Records are kept by their numbers. Unpublished ones are left out."""

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
        """All records of a kind. A chunk may end with a remainder that holds no record."""
        self.read_header()
        directory = self.read_directory()
        bytes_there = os.fstat(self.descriptor).st_size
        chunks = [CHUNKS_OFFSET + i * CHUNK_BYTES for i, k in enumerate(directory) if k == kind]
        self.missing = getattr(self, "missing", 0) + sum(at + CHUNK_BYTES > bytes_there for at in chunks)
        read = {ROW: self.read_rows, TALLY: self.read_tallies, SMALL: self.read_smalls}.get(kind, self.read_chunk)
        used = CHUNK_BYTES // RECORD_BYTES[kind] * RECORD_BYTES[kind]
        return b"".join(read(at)[:used] for at in chunks)[: self.count[kind] * RECORD_BYTES[kind]]

    def read_directory(self):
        """The kinds of all chunks. The last of each 16,384 chunks is the directory of the next."""
        directory = self.read(HEADER_BYTES, DIRECTORY_CHUNKS)
        while len(directory) < DIRECTORIES * DIRECTORY_CHUNKS and directory[-1:] == bytes([DIRECTORY]):
            directory += self.read_chunk(CHUNKS_OFFSET + (len(directory) - 1) * CHUNK_BYTES)
        return directory

    def read_chunk(self, at):
        return self.read(at, CHUNK_BYTES).ljust(CHUNK_BYTES, b"\0")

    def read_rows(self, at):
        """A chunk of rows. Each is consistent if that is possible; if not, its sequence word is left odd.

        `remote` comes from the first reading: a free by another thread must not be seen without its allocation.
        """
        before, body, after = (self.read_chunk(at) for _ in range(3))
        size, rows = RECORD_BYTES[ROW], []
        for i in range(0, CHUNK_BYTES - size + 1, size):
            one = [copy[i : i + size] for copy in (before, body, after)]
            for _ in range(50):
                if self.still(*one):
                    break
                time.sleep(0)
                one = [self.read(at + i, size) for _ in range(3)]
            odd = b"" if self.still(*one) else struct.pack("=I", struct.unpack_from("=I", one[1], 8)[0] | 1)
            row = one[0][:4] + one[1][4:8] + (odd or one[1][8:12]) + one[1][12:128] + one[0][128:192] + one[1][192:]
            rows.append(row)
        return b"".join(rows)

    def read_tallies(self, at):
        """A chunk of tallies. Frees (bytes 128 to 288) come from a reading before that of the allocations."""
        before, body = self.read_chunk(at), self.read_chunk(at)
        size = RECORD_BYTES[TALLY]
        return b"".join(
            before[i : i + 4] + body[i + 4 : i + 128] + before[i + 128 : i + 288] + body[i + 288 : i + size]
            for i in range(0, CHUNK_BYTES - size + 1, size)
        )

    def read_smalls(self, at):
        """A chunk of small records. Each is read until it does not change, if that is possible."""
        before, body = self.read_chunk(at), self.read_chunk(at)
        size, smalls = RECORD_BYTES[SMALL], []
        for i in range(0, CHUNK_BYTES, size):
            one, again = before[i : i + size], body[i : i + size]
            for _ in range(50):
                if one == again:
                    break
                time.sleep(0)
                one, again = again, self.read(at + i, size)
            smalls.append(again)
        return b"".join(smalls)

    @staticmethod
    def still(before, body, after):
        return before[8:12] == after[8:12] and before[8] % 2 == 0

    # ---- parsing ----

    def records(self, kind):
        """(number, bytes) of every published record. Published: its first word, which may be a time, is not zero."""
        size, raw = RECORD_BYTES[kind], memoryview(self.table[kind])
        first = 8 if kind in (MOMENT, SNAPSHOT) else 4
        for number in range(1, len(raw) // size):
            record = raw[number * size : (number + 1) * size]
            if any(record[:first]):
                yield number, record

    def text(self, offset, size):
        """None if the range is not in the file or crosses a chunk."""
        if size == 0:
            return ""
        if offset + size > len(self.table[TEXT]) or offset // CHUNK_BYTES != (offset + size - 1) // CHUNK_BYTES:
            return None
        return self.table[TEXT][offset : offset + size].decode(errors="replace")

    def parse(self):
        self.modules = {n: Module(n, raw, self.text) for n, raw in self.records(MODULE)}
        self.frames = {n: FRAME_STRUCT.unpack(raw) for n, raw in self.records(FRAME)}  # (module, parent, where)
        self.threads = {n: Thread(n, raw) for n, raw in self.records(THREAD)}
        self.sites = {n: SITE_STRUCT.unpack(raw) for n, raw in self.records(SITE)}  # (valid, stack, tag, kind)
        self.rows = {n: Row(n, raw) for n, raw in self.records(ROW)}
        self.ledgers = {n: Ledger(n, raw) for n, raw in self.records(LEDGER)}
        self.remotes = {n: Remote(n, raw) for n, raw in self.records(REMOTE)}
        self.smalls = {n: Small(n, raw) for n, raw in self.records(SMALL)}
        named = {n: TALLY_STRUCT.unpack_from(raw)[:2] for n, raw in self.records(TALLY)}  # (site, thread)
        replaced = {n: small.grown for n, small in self.smalls.items()
                    if named.get(small.grown) == (small.site, small.thread)}
        by_tally = defaultdict(list)
        for remote in self.remotes.values():
            number = remote.tally & ~SMALL_MARK
            small = remote.tally & SMALL_MARK
            by_tally[replaced.get(number, remote.tally) if small else number].append(remote)
        self.tallies = {n: Tally(n, raw, by_tally[n]) for n, raw in self.records(TALLY)}
        for n, small in self.smalls.items():
            if n not in replaced:  # it counts, and is one of the tallies: its number there has the mark
                small.belongs(by_tally[n | SMALL_MARK])
                self.tallies[n | SMALL_MARK] = small
        self.moments = {n: Moment(n, raw) for n, raw in self.records(MOMENT)}
        self.snapshots = {n: Snapshot(n, raw) for n, raw in self.records(SNAPSHOT)}
        self.scopes = {n: Scope(n, raw) for n, raw in self.records(SCOPE)}
        self.tags = {n: Tag(n, raw) for n, raw in self.records(TAG)}
        for tag in self.tags.values():
            tag.path = self.path_of_tag(tag.number)
        for name, (offset, size) in self.text_ranges.items():
            setattr(self, name, self.text(offset, size))

    # ---- tags ----

    def bytes_of_tag(self, tag):
        """Its name, which may continue in other records. Names are bytes, not necessarily UTF-8."""
        name, seen = b"", set()
        while tag and tag.number not in seen:
            seen.add(tag.number)
            name += self.table[TEXT][tag.offset : tag.offset + tag.size]
            tag = self.tags.get(tag.rest)
        return name

    def path_of_tag(self, number):
        """((kind, name), ...) from the outermost on; () for the root, None if the number is not that of a tag."""
        if number == 0:
            return ()
        tag = self.tags.get(number)
        if not tag or tag.kind == TAG_REST:
            return None
        if tag.path is None and tag.parent < number:
            above = self.path_of_tag(tag.parent)
            tag.path = None if above is None else (*above, (tag.kind, self.bytes_of_tag(tag)))
        return tag.path

    # ---- figures ----

    @property
    def calls(self):
        return sum(thread.all_calls for thread in self.threads.values())

    @property
    def bytes(self):
        return sum(thread.bytes for thread in self.threads.values())

    def total(self, part):
        """The sum of a part ("allocated", "freed", "remote", "gone") over all rows and tallies."""
        return sum((getattr(share, part) for share in self.shares()), Sums())

    def visits_of_samples(self):
        """Without the visits of heaps beside malloc's, such as those of mappings."""
        return self.visits - sum(ledger.calls for ledger in self.ledgers.values())

    def shares(self):
        """All rows and all tallies, with the small records that count."""
        return [*self.rows.values(), *self.tallies.values()]

    def stack(self, number):
        """The frames of a stack, innermost first: (module, address, flags)."""
        frames = []
        while number:
            module, number, where = self.frames[number]
            frames.append((module, where & ADDRESS_MASK, where & ~ADDRESS_MASK))
        return frames

    # ---- problems ----

    def problems(self):
        """Every violation of format.h in this file."""
        found = []
        found += self.problems_of_header()
        found += self.problems_of_names()
        for share in self.shares():
            found += self.problems_of_share(share)
        for tally in self.tallies.values():
            found += self.problems_of_tally(tally)
        found += self.problems_of_history()
        found += self.problems_of_tags()
        torn = Counter(row.thread for row in self.rows.values() if row.torn)
        found += [f"thread {t} was writing to {n} rows at once" for t, n in torn.items() if n > 1]
        return found

    def problems_of_header(self):
        if (self.version, self.byte_order, self.chunk_bytes) != (VERSION, 0x01020304, CHUNK_BYTES):
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
        for n, (_, stack, tag, kind) in self.sites.items():
            if kind == SITE_STACK and stack not in self.frames and n != SITE_OVERFLOW:
                yield f"site {n} names stack {stack}, which does not exist"
            if self.path_of_tag(tag) is None:
                yield f"site {n} names tag {tag}, which does not exist"
        for n, module in self.modules.items():
            if module.path is None:
                yield f"the path of module {n} is not in the file"

    def problems_of_share(self, share):
        if share.site not in self.sites:
            yield f"{share}: its site does not exist"
        if share.thread not in self.threads:
            yield f"{share}: its thread does not exist"
        for field, allocated, gone in zip(Sums.FIELDS, share.allocated.values(), share.gone.values()):
            if not (math.isfinite(allocated) and math.isfinite(gone) and allocated >= 0 and gone >= 0):
                yield f"{share}: {field} allocated {allocated}, freed {gone}"
            elif gone > allocated * (1 + 1e-9) and not share.torn:
                yield f"{share}: {field} freed {gone}, but allocated only {allocated}"
        if not share.torn and share.gone.samples > share.allocated.samples:
            yield f"{share}: {share.gone.samples} samples freed of {share.allocated.samples}"

    def problems_of_tally(self, tally):
        """Counters of a tally that must agree once its process has ended."""
        ended = self.end_monotonic_ns or self.end
        if tally.owner & 0xFFFFFF != tally.thread:  # above are the bits of the cohort
            yield f"{tally}: its owner is {tally.owner}"
        copied = self.flags & FLAG_SNAPSHOT  # remotes are copied first, so a tally may name a newer one
        if tally.remote_number and tally.remote_number not in self.remotes and not copied:
            yield f"{tally}: its remote record {tally.remote_number} does not exist"
        if ended and sum(tally.sizes) != tally.calls:
            yield f"{tally}: {sum(tally.sizes)} sizes of {tally.calls} calls"
        if ended and sum(tally.lives) != tally.freed_calls:
            yield f"{tally}: {sum(tally.lives)} lifetimes of {tally.freed_calls} frees"
        if ended and (sum(tally.made) != tally.made_calls or tally.made_calls > tally.calls):
            yield f"{tally}: {sum(tally.made)} in cohorts, {tally.made_calls} of {tally.calls} calls"
        if tally.temporaries > tally.freed_calls or tally.exit_calls > tally.freed_calls:
            yield f"{tally}: {tally.temporaries} temporary, {tally.exit_calls} at exit of {tally.freed_calls} frees"
        if tally.calls and tally.smallest > tally.largest:
            yield f"{tally}: sizes from {tally.smallest} to {tally.largest}"
        if tally.kind == "small":
            yield from self.problems_of_small(tally)

    @staticmethod
    def problems_of_small(small):
        used = [cell >> 8 for cell in small.cells if cell]
        if not small.marked:
            yield f"{small}: its site has no mark"
        if small.unknown or small.nothing or len(used) != len(set(used)) or any(small.cells[len(used) :]):
            yield f"{small}: cells {[hex(cell) for cell in small.cells]}"

    def problems_of_tags(self):
        for n, tag in self.tags.items():
            if tag.rest and getattr(self.tags.get(tag.rest), "kind", None) != TAG_REST:
                yield f"the name in record {n} continues in {tag.rest}, which is not such a record"
            if tag.kind != TAG_REST and tag.path is None:
                yield f"tag {n} names parent {tag.parent}"
            if tag.size > TAG_PIECE or self.text(tag.offset, tag.size) is None:
                yield f"the name of tag {n} is not in the file"
        sums = defaultdict(Counter)
        for n, scope in self.scopes.items():
            if scope.thread not in self.threads or self.path_of_tag(scope.tag) is None:
                yield f"scope {n} names thread {scope.thread} and tag {scope.tag}"
            sums[scope.thread].update({"bytes": scope.bytes, **scope.calls})
        for n, thread in self.threads.items():
            if self.path_of_tag(thread.tag) is None:
                yield f"thread {n} names tag {thread.tag}, which does not exist"
            for name, whole in (("bytes", thread.bytes), *thread.calls.items()):
                if (self.end_monotonic_ns or self.end) and sums[n][name] > whole:
                    yield f"the scopes of thread {n} have {sums[n][name]} {name}, the thread {whole}"

    def problems_of_history(self):
        # A process that was interrupted while it thinned out its timeline may leave a moment in two slots.
        different = {tuple(value for name, value in vars(moment).items() if name != "number")
                     for moment in self.moments.values()}
        if len(different) != len({moment.time_ns for moment in self.moments.values()}):
            yield "two different moments have the same time"
        for n, remote in self.remotes.items():
            of = self.smalls if remote.tally & SMALL_MARK else self.tallies
            if remote.tally & ~SMALL_MARK not in of:
                yield f"remote {n} names tally {remote.tally}, which does not exist"
            if remote.thread and remote.thread not in self.threads:
                yield f"remote {n} is of thread {remote.thread}, which does not exist"
            following = self.remotes.get(remote.next)  # None also if it was made after the copy
            if following and not following.thread:
                yield f"remote {n} is followed by {remote.next}, which is of no thread"
        for n, snapshot in self.snapshots.items():
            for what, number, *_ in snapshot.entries:
                if number not in {"row": self.rows, "tally": self.tallies, "small": self.smalls,
                                  "site": self.sites}.get(what, {}):
                    yield f"snapshot {n} names {what} {number}, which does not exist"


def find(*directories):
    """All profiles below the directories, oldest first."""
    files = [file for directory in directories for file in Path(directory).rglob("*.plim*")]
    files = [file for file in files if file.is_file() and not file.is_symlink()]  # links lead to live profiles
    return sorted(files, key=lambda file: file.stat().st_mtime_ns)


def main():
    status = 0
    for path in sys.argv[1:]:
        profile = Profile(path)
        problems = list(profile.problems())
        status |= bool(problems)
        recorded = f"{len(profile.rows)} rows, {len(profile.tallies)} tallies, {len(profile.smalls)} once small"
        print(f"{path}: {profile.comm} {profile.calls} calls, {profile.bytes} bytes, {recorded},")
        allocated, gone = profile.total("allocated"), profile.total("gone")
        print(f"    {allocated}, live {allocated.samples - gone.samples}")
        print("    losses", {name: n for name, n in profile.losses.items() if n})
        print(*(f"    {problem}" for problem in problems), sep="\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
