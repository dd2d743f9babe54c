# SPDX-License-Identifier: MIT
"""build - facts about the build, for the tests of the layers: compile commands, headers read, objects.

Everything comes from the build directory itself (PLIMSOLL_BUILD), so the tests see what the compiler really saw.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["PLIMSOLL_SOURCE"]).resolve()
BUILD = Path(os.environ["PLIMSOLL_BUILD"]).resolve()
LIBRARY = BUILD / "libplimsoll.so"

# Every build of the runtime, and the map of its exports.
EXPORT_MAPS = {BUILD / f"libplimsoll{path.stem.removeprefix('exports')}.so": path
               for path in (SOURCE / "src/preload").glob("exports*.map")}


def output_of(*command, cwd=BUILD):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=cwd).stdout


def layer_of(path):
    """The directory below src/ that a file belongs to, or None."""
    try:
        return Path(os.path.normpath(BUILD / path)).relative_to(SOURCE / "src").parts[0]
    except ValueError:
        return None


def compile_commands():
    return json.loads((BUILD / "compile_commands.json").read_text())


def runtime_commands(library):
    """Compile commands of the objects in a build of the runtime. The name without a version is a link."""
    linked = set(output_of("ninja", "-t", "inputs", library.resolve().name).split())
    return [entry for entry in compile_commands() if entry["output"] in linked]


def headers_read():
    """Pairs (object, header) as the compiler reported them to ninja."""
    current = None
    for line in output_of("ninja", "-t", "deps").splitlines():
        if line and not line[0].isspace():
            current = line.split(":")[0]
        elif line.strip() and not line.startswith("ninja:"):
            yield current, line.strip()


def core_objects():
    return [BUILD / entry["output"] for entry in runtime_commands(LIBRARY) if layer_of(entry["file"]) == "core"]


def verdict(problems, looked_at):
    """Ends a test with the problems. A test that found nothing to examine fails too."""
    if not looked_at:
        problems = ["there was nothing to examine"]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
