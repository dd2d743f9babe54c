# SPDX-License-Identifier: MIT
"""depth - how many bytes of the program's stack the cold path inside libc.so.6 needs at most.

Programs give threads stacks of 16 KiB, and handlers less, so the profiler's share must be small and known. For
libplimsoll.so tests/layers/stack.py asks the compiler. Here everything comes from the disassembly of the library: how
much a function pushes and reserves, how much of the red zone it uses, and which functions it calls. The deepest chain
from an entry is a longest path in a graph.

The allocator itself, its locks and its error messages are not followed: they happen without us, too. A call through a
pointer cannot be followed: POINTERS lists the functions that it may reach.

usage: depth.py [WORD...]
"""

import re
import subprocess
import sys

from front import *

from deepest import Deepest, functions_of_settings

LIMIT_BYTES = 1024
DEEPER = {"malloc_prof_realloc": 1072}  # it keeps the records of the old block until the new one is recorded
ENTRIES = [f"malloc_prof_{name}" for name in ("malloc", "calloc", "realloc", "memalign", "posix_memalign", "free")]
ALLOCATOR = re.compile(
    r"__libc_(malloc|calloc|realloc|free|memalign|message\w*|assert_fail)|__lll_lock_(wait|wake)_private|.*@plt"
)
ALLOCATORS_FILE = "malloc.c"
WORD_BYTES = 8

# The functions that calls through pointers may reach, by caller.
POINTERS = {
    "__pl_config_read": functions_of_settings(SOURCE),
    "__pl_modules_find": ("main_header",),
    "__pl_process_start": ("unwanted", "environment", "configure", "program"),
    "__pl_stack_number": ("allocator",),
    "__pl_own_measure": ("page_bytes",),
    "__pl_memory_each": ("count_pages",),
    "__pl_block_each_slab": ("count_pages",),
    "read_resident": ("page_bytes",),
    "__pl_process_open": (),  # describe is not used here
    "__pl_thread_register": (),  # thread_started is not used here
    "no_slab": ("granule_shift",),
    "search_key": ("self", "specific"),
    "__pl_python_hash": ("self", "specific"),
    "__pl_python_weave": ("self", "specific"),
}

FUNCTION = re.compile(r"([0-9a-f]+) <(.+)>:$")
STEP = re.compile(r" *[0-9a-f]+:\t(.*)")
ROOM = re.compile(r"(sub|add) +(?:\$0x([0-9a-f]+)|%\w+),%rsp")
RED_ZONE = re.compile(r"(?!lea).*-0x([0-9a-f]+)\(%rsp[,)]")
BRANCH = re.compile(r"(?:notrack |bnd )?(call|j[a-z]+) +(?:([0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>|(\*.*))")
SYMBOL = re.compile(r" *\d+: [0-9a-f]+ +\S+ (FILE|FUNC) +LOCAL +\S+ +\S+ (\S+)$")


def lines_of(*command):
    return subprocess.run([*command, LIBC], capture_output=True, text=True, check=True).stdout.splitlines()


class Function:
    """Its address, the size of its frame, and its calls. Several functions may have the same name."""

    def __init__(self, start, name):
        self.start, self.name = start, name
        self.pushed, self.room, self.red_zone = WORD_BYTES, 0, 0  # the return address
        self.branches = []
        self.unknown = False

    @property
    def plain(self):
        return self.name.split(".")[0]

    @property
    def frame(self):
        """The unlikely part of a function, which the compiler has moved away, adds to its frame."""
        return self.pushed + self.room - (WORD_BYTES if self.name.endswith(".cold") else 0)

    def add(self, step):
        if branch := BRANCH.match(step):
            self.branches.append(branch.groups())
        elif step.startswith("push "):
            self.pushed += WORD_BYTES
        elif room := ROOM.match(step):
            self.make_room(*room.groups())
        elif zone := RED_ZONE.match(step):
            self.red_zone = max(self.red_zone, int(zone[1], 16))

    def make_room(self, operation, number):
        """Compilers reserve 128 bytes by adding -128, which has a shorter encoding."""
        self.unknown |= number is None
        value = int(number or "0", 16)
        if operation == "add":
            value = (1 << 64) - value
        if value < 1 << 63:
            self.room = max(self.room, value)


def functions_of_the_allocator():
    """The static functions of malloc.c. In the symbol table they follow the name of their file."""
    found, file = set(), ""
    for line in lines_of("readelf", "-sW"):
        if match := SYMBOL.match(line):
            if match[1] == "FILE":
                file = match[2]
            elif file == ALLOCATORS_FILE and not match[2].startswith("malloc_prof_"):
                found.add(match[2])
    return found


def disassembled():
    """start -> Function"""
    functions, current = {}, None
    for line in lines_of("objdump", "-d", "--no-show-raw-insn"):
        if match := FUNCTION.match(line):
            current = functions[int(match[1], 16)] = Function(int(match[1], 16), match[2])
        elif current and (match := STEP.match(line)):
            current.add(match[1])
    return functions


class Walk(Deepest):
    def __init__(self):
        super().__init__(disassembled())
        self.allocator = functions_of_the_allocator()

    def own(self, function):
        if function.unknown:
            self.problems.append(f"{function.name}: the size of its frame is not known")
        return function.frame + function.red_zone

    def called(self, name):
        return [function.start for function in self.functions.values() if function.name == name]

    def calls(self, function):
        """(bytes of its frame that are in use, start of the callee) of each call that is followed."""
        for kind, address, name, inside, pointer in function.branches:
            if pointer and kind != "call":
                continue  # a switch
            if pointer:
                yield from self.by_pointer(function)
                continue
            start = int(address, 16) - int(inside or "0", 16)
            part = name.endswith(".cold")
            if start == function.start or (inside and not part) or self.is_allocator(name):
                continue  # a loop, or the jump back from an unlikely part
            yield function.frame if kind == "call" or part else 0, start

    def by_pointer(self, function):
        if function.plain not in POINTERS:
            self.problems.append(f"{function.name} calls through a pointer: list it in POINTERS")
        for name in POINTERS.get(function.plain, ()):
            for start in self.called(name):
                yield function.frame, start

    def is_allocator(self, name):
        return name in self.allocator or ALLOCATOR.fullmatch(name)


@claim
def the_cold_path_uses_at_most_1_kib_of_the_stack():
    walk = Walk()
    problems = walk.problems
    for entry in ENTRIES:
        starts = walk.called(entry)
        if not starts:
            problems.append(f"there is no {entry}")
        for start in starts:
            total, chain = walk.deepest(start)
            say(f"{total:5} bytes: " + " -> ".join(f"{function.name} {used}" for function, used in chain))
            limit = DEEPER.get(entry, LIMIT_BYTES)
            if total > limit:
                problems.append(f"{entry}: {total} bytes, more than {limit}")
    problems += [f"{name} is in POINTERS, but does not exist"
                 for names in POINTERS.values() for name in names if not walk.called(name)]
    expect(problems)


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
