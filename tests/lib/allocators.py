# SPDX-License-Identifier: MIT
"""allocators - the allocators other than glibc's that tests use: their names, and the paths of their libraries.

Debian's releases have different versions of them. Tests use the installed one. As a program, this prints the path of
each.
"""

import functools
import os
import re
import subprocess
from pathlib import Path

from claims import Skip

SYSROOT = os.environ.get("PLIMSOLL_SYSROOT")  # see built.py
LIBRARIES = {"jemalloc": "libjemalloc.so", "tcmalloc": "libtcmalloc_minimal.so", "mimalloc": "libmimalloc.so"}


@functools.lru_cache(maxsize=None)
def known_to_loader():
    return subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout


def find(name):
    """The path of an allocator's library, as the loader would find it, or None."""
    if SYSROOT:
        return next((str(path) for path in sorted(Path(SYSROOT).glob(f"usr/lib/*/{LIBRARIES[name]}.?"))), None)
    found = re.search(rf"^\s*{re.escape(LIBRARIES[name])}\.\d\S* .*=> (\S+)$", known_to_loader(), re.MULTILINE)
    return found and found.group(1)


def need(name):
    path = find(name)
    if not path:
        raise Skip(f"{name} is not installed")
    return path


if __name__ == "__main__":
    print(*filter(None, map(find, LIBRARIES)), sep="\n")
