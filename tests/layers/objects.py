# SPDX-License-Identifier: MIT
"""objects - what the built runtime needs and exports. usage: objects.py exports | calls | needed | tls"""

import re
import sys
from fnmatch import fnmatchcase

from build import EXPORT_MAPS, SOURCE, core_objects, output_of, verdict

sys.path.insert(0, str(SOURCE / "tests/lib"))
from built import SYSTEM_LOADER  # noqa: E402

# What the core may refer to: the lookup of modules (find.h), the end of the main thread's stack, the interface of its
# front end, and a symbol of the linker.
MAY_CALL = {"pl_find_module", "__libc_stack_end", "pl_front", "_GLOBAL_OFFSET_TABLE_"}
MAY_NEED = {"libc.so.6", SYSTEM_LOADER.name}
TLS_BYTES_MAX = 127


def listed_exports(export_map):
    """The names between `global:` and `local:` in an export map."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", "", export_map.read_text(), flags=re.DOTALL)
    names = set()
    for part in re.findall(r"global:(.*?)(?:local:|\})", text, re.DOTALL):
        names.update(part.replace(";", " ").split())
    return names


def exports():
    problems, looked_at = [], 0
    for library, export_map in EXPORT_MAPS.items():
        lines = output_of("nm", "-D", "--defined-only", library).splitlines()
        built, listed = sorted(line.split()[-1].split("@")[0] for line in lines), sorted(listed_exports(export_map))
        problems += [f"{library.name} exports {name}, not in {export_map.name}"
                     for name in built if not any(fnmatchcase(name, pattern) for pattern in listed)]
        problems += [f"{export_map.name} lists {pattern}, not in {library.name}"
                     for pattern in listed if not any(fnmatchcase(name, pattern) for name in built)]
        looked_at += len(listed)
    verdict(problems, looked_at)


def symbols(option, objects):
    lines = output_of("nm", "--no-sort", option, *objects).splitlines()
    return {line.split()[-1] for line in lines if line.strip() and not line.endswith(":")}


def calls():
    core = core_objects()
    unknown = symbols("--undefined-only", core) - symbols("--defined-only", core) - MAY_CALL if core else set()
    verdict([f"the core refers to {name}" for name in sorted(unknown)], len(core))


def needed():
    problems, looked_at = [], 0
    for library in EXPORT_MAPS:
        names = re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", library))
        problems += [f"{library.name} needs {name}" for name in names if name not in MAY_NEED]
        looked_at += 1
    verdict(problems, looked_at)


def tls():
    problems, looked_at = [], 0
    for library in EXPORT_MAPS:
        segments = output_of("readelf", "--segments", "--wide", library)
        for size in re.findall(r"^\s*TLS\s+(?:0x\w+\s+){4}(0x\w+)", segments, re.MULTILINE):
            looked_at += 1
            if int(size, 16) > TLS_BYTES_MAX:
                problems.append(f"{library.name}: {int(size, 16)} bytes of thread-local storage")
    verdict(problems, looked_at)


if __name__ == "__main__":
    {"exports": exports, "calls": calls, "needed": needed, "tls": tls}[sys.argv[1]]()
