# SPDX-License-Identifier: MIT
"""uprobes - finds USDT probes in a library, and listens to them as a profiler of the host does: by perf_event_open."""

import ctypes
import errno
import mmap
import os
import platform
import struct
import time
from pathlib import Path

SOURCE = Path("/sys/bus/event_source/devices/uprobe")
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
# The registers that the contract names, by their bits in sample_regs_user, and their order among the registers found.
REGISTERS = {"x86_64": (1 << 5 | 1 << 4 | 1 << 3, (2, 1, 0)), "aarch64": (7, (0, 1, 2))}.get(platform.machine())
SAMPLE_TIME, SAMPLE_REGS_USER = 1 << 2, 1 << 12
USE_CLOCK = 1 << 25
RECORD_SAMPLE = 9
MOST_BYTES = 64  # of a record
PAGES = 256

libc = ctypes.CDLL(None, use_errno=True)


class Library:
    """The sections and segments of an ELF file of 64 bits, and its probes of one provider."""

    def __init__(self, path, provider="otel_memory"):
        self.path, self.bytes = Path(path), Path(path).read_bytes()
        assert self.bytes[:5] == b"\x7fELF\x02"
        segments, sections = struct.unpack_from("<QQ", self.bytes, 0x20)
        segment_bytes, segment_count, section_bytes, section_count, names = struct.unpack_from("<HHHHH", self.bytes, 0x36)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.bytes, segments + i * segment_bytes)
                         for i in range(segment_count)]
        headers = [struct.unpack_from("<IIQQQQ", self.bytes, sections + i * section_bytes) for i in range(section_count)]
        texts = headers[names][4]
        self.sections = {self.text(texts + header[0]): header for header in headers}
        self.probes = {name: found for name, found in self.notes() if found["provider"] == provider}

    def text(self, offset):
        return self.bytes[offset:self.bytes.index(b"\0", offset)].decode()

    def notes(self):
        if ".note.stapsdt" not in self.sections:
            return
        _, _, _, _, offset, size = self.sections[".note.stapsdt"]
        end = offset + size
        while offset < end:
            name_bytes, bytes_, kind = struct.unpack_from("<III", self.bytes, offset)
            at = offset + 12 + (name_bytes + 3 & ~3)
            assert self.text(offset + 12) == "stapsdt" and kind == 3
            location, base, semaphore = struct.unpack_from("<QQQ", self.bytes, at)
            provider, name, arguments = self.bytes[at + 24:at + bytes_].decode().split("\0")[:3]
            yield name, {"provider": provider, "location": location, "base": base, "semaphore": semaphore,
                         "arguments": arguments}
            offset = at + (bytes_ + 3 & ~3)

    def segment_of(self, address):
        """(flags, offset in the file) of an address; fails if the file does not have it."""
        for kind, flags, offset, start, _, in_file, _, _ in self.segments:
            if kind == 1 and start <= address < start + in_file:
                return flags, offset + address - start
        raise AssertionError(f"{self.path}: the file has nothing for {address:#x}")


class Attributes(ctypes.Structure):
    """struct perf_event_attr, as far as it is needed here."""

    _fields_ = [("type", ctypes.c_uint32), ("size", ctypes.c_uint32), ("config", ctypes.c_uint64),
                ("period", ctypes.c_uint64), ("sample_type", ctypes.c_uint64), ("read_format", ctypes.c_uint64),
                ("flags", ctypes.c_uint64), ("wakeup", ctypes.c_uint32), ("bp_type", ctypes.c_uint32),
                ("path", ctypes.c_uint64), ("offset", ctypes.c_uint64), ("branches", ctypes.c_uint64),
                ("registers", ctypes.c_uint64), ("stack", ctypes.c_uint32), ("clock", ctypes.c_int32),
                ("intr", ctypes.c_uint64), ("aux", ctypes.c_uint32), ("max_stack", ctypes.c_uint16),
                ("reserved", ctypes.c_uint16)]


def missing():
    """Why nobody can listen here; None: it works."""
    if not PERF_EVENT_OPEN or not REGISTERS:
        return f"perf_event_open is not known for {platform.machine()}"
    if not (SOURCE / "type").exists() or not (SOURCE / "format/ref_ctr_offset").exists():
        return "the kernel has no uprobes with counters (/sys/bus/event_source/devices/uprobe)"
    if os.geteuid() != 0:
        return "uprobes need root"
    return None


class Listener:
    """Listens to a probe of a library in all processes. events() gives (time, name, registers) of what came.

    The kernel writes to one buffer for each processor. Times are of a clock that all processors share, so events can be
    put in order.
    """

    def __init__(self, library, name):
        self.name, self.buffers = name, []
        _, offset = library.segment_of(library.probes[name]["location"])
        _, counter = library.segment_of(library.probes[name]["semaphore"])
        self.path = ctypes.create_string_buffer(str(library.path).encode())
        mask, self.order = REGISTERS
        for cpu in range(os.cpu_count()):
            attributes = Attributes(type=int((SOURCE / "type").read_text()), size=ctypes.sizeof(Attributes),
                                    config=counter << 32, period=1, wakeup=1, path=ctypes.addressof(self.path),
                                    offset=offset, registers=mask, flags=USE_CLOCK,
                                    clock=time.CLOCK_MONOTONIC_RAW, sample_type=SAMPLE_TIME | SAMPLE_REGS_USER)
            event = libc.syscall(PERF_EVENT_OPEN, ctypes.byref(attributes), -1, cpu, -1, 8)
            if event < 0:
                raise OSError(ctypes.get_errno(), f"perf_event_open: {errno.errorcode.get(ctypes.get_errno())}")
            self.buffers.append((event, mmap.mmap(event, (1 + PAGES) * mmap.PAGESIZE)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for event, memory in self.buffers:
            memory.close()
            os.close(event)

    def records(self, memory):
        """What came since the listener was opened. The kernel reports a lost record only together with the next one, so
        a full buffer says nothing about it; but as long as nobody empties the buffer, it stays full."""
        head, = struct.unpack_from("<Q", memory, 1024)
        data = memory[mmap.PAGESIZE:]
        assert head + MOST_BYTES < len(data), "the buffer is too small for this test"
        at = 0
        while at < head:
            kind, _, size = struct.unpack_from("<IHH", data, at)
            yield kind, data[at + 8:at + size]
            at += size

    def events(self):
        found = []
        for _, memory in self.buffers:
            for kind, record in self.records(memory):
                if kind == RECORD_SAMPLE:
                    when, abi = struct.unpack_from("<QQ", record)
                    registers = struct.unpack_from("<QQQ", record, 16) if abi else (0, 0, 0)
                    found.append((when, self.name, tuple(registers[i] for i in self.order)))
        return found


def counter_of(pid, library, address):
    """The 16 bits at an address of a library that a process has mapped."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        if line.endswith(str(library.path)):
            start = int(line.split("-")[0], 16)
            break
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(start + address)
        return struct.unpack("<H", memory.read(2))[0]
