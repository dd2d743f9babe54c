# SPDX-License-Identifier: MIT
"""again - runs claims of other suites with static programs, in which libplimsoll.a is linked.

The tests set LD_PRELOAD as always, and static programs ignore it: what they record is recorded by the runtime in them.

usage: again.py glibc|musl SUITE/FILE.py [WORD...]     the claims of that file with all of these words in them
"""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("again_musl", HERE.parent / "musl" / "again.py")
other = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other)

SHARED = "it is about shared libraries"
CLOSE = "exec is not hooked where only glibc has it"
NOT_OURS = {
    "traps/threads.py": {"the runtime can be loaded by dlopen": SHARED, "thread local storage is small": SHARED},
    "traps/forks.py": {
        "allocations in fork handlers of other libraries": SHARED,
        "a child that allocates once": "it compares with the same program without the runtime",
    },
    "traps/ends.py": {
        "frees and allocations after our exit handler": SHARED,
        "processes that are pid 1": SHARED,
        "every exec": "execveat is not wrapped: see INSTEAD",
        "a profile grows where no mapping": "valgrind replaces malloc in shared libraries",
    },
    "exact/counts.py": {
        "over ": "it is about other allocators",
        "containers": "C++ has a claim of its own",
        "modules loaded in turn": SHARED,
        "handlers that allocate inside the profiler": "it needs an allocator that is preloaded",
        "a handler's calls are counted or counted as lost": "it needs an allocator that is preloaded",
    },
}
INSTEAD = {
    "traps/ends.py": other.INSTEAD["traps/ends.py"],
}

if __name__ == "__main__":
    kind = sys.argv.pop(1)
    if kind == "musl":
        other.need_musl()
    sys.exit(other.run_again(other.built.BUILD / "tests" / "static" / kind, NOT_OURS, INSTEAD))
