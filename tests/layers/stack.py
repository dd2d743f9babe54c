# SPDX-License-Identifier: MIT
"""stack - how many bytes of the program's stack the cold path needs at most.

The compiler reports the frame of each function (-fstack-usage, with the runtime's own compile commands, and without a
red zone, which would hide a leaf's locals). The linked library's disassembly shows which function calls which. The
deepest chain from any entry into the cold path is then a longest path in a graph.

A call through a pointer cannot be followed: TABLES and INDIRECT list the functions that it may reach.
Calls into other libraries (the real allocator, the loader) are not followed: they happen without us, too.

usage: stack.py [--show]
"""

import functools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from build import BUILD, EXPORT_MAPS, SOURCE, output_of, runtime_commands, verdict

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from deepest import Deepest, functions_of_settings  # noqa: E402

LIMIT_BYTES = 1024
DEEPER = {"pl_slow_realloc": 1072, "pl_slow_move": 1096}  # it keeps the records of the old block until the new one is recorded

# The entries: the cold halves of the hooks (preload/slow.c, and cold_* of preload/new.c), the functions that they call
# in the core, and the API for tags and control. The API's other functions (snapshots and statistics) are not called inside
# an allocation, and have no limit.
ENTRY = re.compile(r"pl_(slow|cold|exact)_\w+|cold_\w+|"
                   r"plimsoll_(push|pop|prepare|enter|capture|adopt|active|start|stop|pause|resume|reset|sample|sizes)")

# The functions that a call through a pointer may reach: by the table that holds the pointer, or else by the caller.
TABLES = {
    "pl_next": (),  # the real allocator, and its operator new
    "pl_beside_next": (),  # that of an allocator which is linked into the program
    "next": (),
    "real": (),
    "pl_front": ("environment", "pl_front_secure", "pl_front_main_header", "started", "pl_front_thread_started",
                 "pl_front_granule_shift", "pl_libc_owns"),
}
INDIRECT = {
    "pl_config_set": functions_of_settings(SOURCE),
    "pl_process_start": ("environment", "pl_front_secure", "started"),
    "pl_process_open": ("describe_attached", "describe"),
    "pl_thread_register": ("pl_front_thread_started",),
    "pl_stack_number": ("pl_front_allocator", "pl_libc_owns"),
    "pl_find_module": ("ask_glibc", "ask_list"),
    "pl_libc_has": ("ask_glibc", "ask_list"),
    "pl_linked_each": ("pl_linked_count", "note_function"),
    "read_resident": ("pl_front_page_bytes",),
    "pl_memory_each": ("count_pages",),
    "pl_block_each_slab": ("count_pages",),
    "pl_slow_realloc": (),  # the real allocator's malloc_usable_size
    "pl_entries_usable_bytes": (),  # likewise
    "pl_entries_call": (),  # the real allocator
}

# Written in assembly: the return address is all that they have on the stack.
ASSEMBLED = {"pl_probe_alloc": 8, "pl_probe_free": 8}

# Only in a runtime that is preloaded, or only in one that is attached.
ONE_WAY = {"started", "describe", "describe_attached"}

# gcc 12 expands these where they are called, gcc 14 does not.
EXPANDED = {"pl_linked_each", "pl_linked_count", "note_function"}

FUNCTION = re.compile(r"^([0-9a-f]+) <(.+)>:$")
BRANCH = re.compile(r"^\s+[0-9a-f]+:\t(?:notrack |bnd )?(call|j[a-z]+)\s+(?:([0-9a-f]+) <([^>+]+)(\+0x\w+)?>|(\*.*))")


@functools.cache
def usage_of(command):
    """What the compiler says of each function of one object: lines `place TAB bytes TAB kind`."""
    with tempfile.TemporaryDirectory() as directory:
        made = Path(directory) / "object.o"
        subprocess.run(re.sub(r" -o \S+", f" -o {made}", command) + " -fstack-usage -mno-red-zone -g0", shell=True,
                       check=True, cwd=BUILD)
        return made.with_suffix(".su").read_text().splitlines()


def frame_bytes(library):
    """function -> size of its frame, return address included. Where names repeat across files, the largest."""
    frames = dict(ASSEMBLED)
    for entry in runtime_commands(library):  # most objects are in every library, and are compiled once
        for line in usage_of(entry["command"]):
            where, size, kind = line.split("\t")
            name = where.split(":")[-1]
            size = int(size) if kind in ("static", "dynamic,bounded") else LIMIT_BYTES * 1000
            frames[name] = max(size, frames.get(name, 0))
    return frames


def plain(name):
    """A symbol's name as -fstack-usage spells it: without the suffixes of a clone or a part."""
    return re.sub(r"(\.(part|isra|constprop))?\.\d+$", "", name)


class Function:
    """A function of the library; several may have the same name."""

    def __init__(self, name):
        self.name = name
        self.calls = {}  # start address -> True if it is a tail call, which has no caller's frame below it
        self.may_call = set()  # names, through pointers of a table
        self.indirect = False  # through other pointers

    @property
    def plain(self):
        return self.name.split(".")[0]

    @property
    def part(self):
        """The unlikely part of a function, which the compiler has moved away. It has no frame of its own."""
        return self.name.endswith(".cold")


def add_branch(caller, functions, match):
    kind, address, name, inside, pointer = match.groups()
    if pointer:
        table = re.search(r"<(\w+)", pointer)
        if table and table[1] in TABLES:
            caller.may_call.update(TABLES[table[1]])
        else:
            caller.indirect = True
        return
    start = int(address, 16) - int(inside or "0", 16)
    part = name.endswith(".cold")
    if "@" in name or functions.get(start) is caller or (inside and not part):
        return  # another library, a loop, or the jump back from an unlikely part
    caller.calls[start] = kind != "call" and not part


def call_graph(library):
    """start address -> Function, read from the disassembly."""
    lines = output_of("objdump", "-d", "--no-show-raw-insn", library).splitlines()
    functions = {int(match[1], 16): Function(match[2]) for line in lines if (match := FUNCTION.match(line))}
    caller = None
    for line in lines:
        if match := FUNCTION.match(line):
            caller = functions[int(match[1], 16)]
        elif match := BRANCH.match(line):
            add_branch(caller, functions, match)
    for caller in functions.values():
        for start, function in functions.items():
            if function.plain in caller.may_call or function.plain in INDIRECT.get(caller.plain, ()):
                caller.calls[start] = False
    return functions


class Walk(Deepest):
    def __init__(self, functions, frames):
        super().__init__(functions)
        self.frames = frames

    def own(self, function):
        if function.part:
            return 0
        for name in (function.name, re.sub(r"\.\d+$", "", function.name), function.plain):
            if name in self.frames:
                return self.frames[name]
        self.problems.append(f"{function.name}: no frame size known")
        return 0

    def calls(self, function):
        own = self.own(function)
        return [(0 if tail else own, callee) for callee, tail in function.calls.items()]


def look_at(library):
    """Problems of one build of the runtime, and how many entries into its cold path there are."""
    functions = call_graph(library)
    walk = Walk(functions, frame_bytes(library))
    entries = [start for start, function in functions.items() if ENTRY.fullmatch(function.name)]
    worst = sorted((walk.deepest(start) for start in entries), key=lambda path: path[0], reverse=True)

    problems = list(walk.problems)
    making = {function.plain for function in functions.values() if function.indirect}
    reached = {functions[start].plain for start in walk.done}
    problems += [f"{name} calls through a pointer: list it in INDIRECT"
                 for name in sorted(making & reached - set(INDIRECT))]
    problems += [f"{name} is in INDIRECT, but makes no such call" for name in sorted(set(INDIRECT) - making - EXPANDED)]
    known = {function.plain for function in functions.values()}
    problems += [f"{name} is in TABLES or INDIRECT, but does not exist"
                 for names in [*TABLES.values(), *INDIRECT.values()] for name in names if name not in known | ONE_WAY | EXPANDED]
    for total, chain in worst:
        line = f"{total:5} bytes: " + " -> ".join(f"{function.name} {walk.own(function)}" for function, _ in chain)
        if total > DEEPER.get(chain[0][0].name, LIMIT_BYTES):
            problems.append(line)
        elif "--show" in sys.argv:
            print(line)
    return [f"{library.name}: {problem}" for problem in problems], len(entries)


def main():
    looked_at = [look_at(library) for library in EXPORT_MAPS]
    verdict([problem for problems, _ in looked_at for problem in problems], sum(entries for _, entries in looked_at))


if __name__ == "__main__":
    main()
