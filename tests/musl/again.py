# SPDX-License-Identifier: MIT
"""again - runs claims of other suites with programs that are linked against musl.

The claims, the comparisons and libplimsoll.so are the same; only the programs are compiled by musl-gcc. NOT_OURS lists
claims that do not apply, with the reason. LATER lists claims that take long and are not about the C library. The tests
of static programs (tests/static) run claims in the same way.

usage: again.py SUITE/FILE.py [WORD...]     the claims of that file with all of these words in them
"""

import functools
import importlib
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path.insert(0, str(TESTS / "lib"))
import built  # noqa: E402
import claims  # noqa: E402

PROGRAMS = built.BUILD / "tests" / "musl"

# The beginning of a claim, by file: the reason why it does not apply.
OTHERS = "it is about an allocator that is built for glibc"
STAYS = "musl never unloads a module"
LOADER = "it is about glibc's loader"
NOT_OURS = {
    "traps/startup.py": {
        "a dlsym that allocates": "musl's loader has a malloc of its own",
        "freeing what dlsym allocated": "musl's loader has a malloc of its own",
        "an ifunc resolver": "musl's loader has no ifuncs",
        "tables of exit handlers": "musl allocates them past malloc",
        "a program started through the loader": LOADER,
        "a fork inside a sandbox": "the program allows the system calls of glibc's fork, not of musl's",
        "an exec inside a sandbox": "the program allows the system calls of glibc's fork, not of musl's",
        "threads started inside a sandbox": "the program allows the system calls of glibc's threads, not of musl's",
    },
    "traps/threads.py": {
        "the runtime can be loaded by dlopen": "musl has no room for the thread local storage of such a library",
    },
    "traps/loader.py": {
        "a plugin loaded where another was": STAYS,
        "blocks exchanged with a deep bound plugin": "musl has no RTLD_DEEPBIND",
        "the profile names the first module": "musl has no RTLD_DEEPBIND and no dlmopen",
        "a module is still found": LOADER,
        "a program with an allocator": OTHERS,
        "an allocator preloaded in front": OTHERS,
        "a library in front of us": OTHERS,
        "an allocator that is linked in": OTHERS,
        "a static program": "tests/static has the claims that apply instead",
    },
    "traps/ends.py": {
        "every exec": "musl has no execveat: see INSTEAD",
        "a profile grows where no mapping": "valgrind works with glibc's loader",
    },
    "traps/semantics.py": {
        "every function behaves": "it is also about allocators that are built for glibc: see INSTEAD",
        "mallinfo": "musl has no mallinfo",
        "a realloc is one call": "in musl, a realloc to 0 returns a block",
        "operator new": "musl-gcc has no C++",
        "a thread whose operator new": "musl-gcc has no C++",
        "another allocator stays": OTHERS,
    },
    "traps/stacks.py": {
        "coroutines": "musl has no makecontext",
    },
    "traps/counting.py": {
        "two blocks within 16 bytes": OTHERS,
        "five hundred live samples": OTHERS,
        "freeing null": "it needs an allocator that is built for glibc",
    },
    "exact/counts.py": {
        "over ": OTHERS,
        "containers": "musl-gcc has no C++",
        "modules loaded in turn": STAYS,
        "a handler's calls are counted or counted as lost": "it needs an allocator that is built for glibc",
    },
}


def exec_without_execveat(ends):
    ends.EXECS = tuple(name for name in ends.EXECS if name != "execveat")
    ends.every_exec_leaves_a_profile_of_the_program_before_it()


# Claims that are made instead: the sentence, and a function of the module of that file.
INSTEAD = {
    "traps/ends.py": {
        "every exec but execveat leaves a profile of the program before it": exec_without_execveat,
    },
    "traps/semantics.py": {
        "every function of musl behaves as without us": lambda semantics: semantics.behaves("semantics", "libc"),
    },
}

LATER = {
    "traps/startup.py": ("a limited address space", "a limit of descriptors"),
    "traps/threads.py": ("thread churn", "threads for which"),
    "traps/forks.py": ("many children one after", "forking while"),
    "traps/ends.py": ("a profile moved while",),
    "exact/counts.py": ("after kill -9", "what auto mode counted"),
}


def run_again(programs, not_ours, instead):
    """Runs the claims of the file that the command line names, with the programs in a directory."""
    if len(sys.argv) < 2 or not (TESTS / sys.argv[1]).is_file():
        sys.exit("usage: again.py SUITE/FILE.py [WORD...]")
    name = sys.argv[1]
    path = TESTS / name
    sys.path.insert(0, str(path.parent))
    shared = importlib.import_module({"traps": "traps", "exact": "profiles"}[path.parent.name])
    shared.PROGRAMS = programs / path.parent.name
    module = importlib.import_module(path.stem)
    skipped = (*not_ours.get(name, {}), *LATER.get(name, ()))
    for beginning in skipped:
        assert any(sentence.startswith(beginning) for sentence, _ in claims.made), f"{name} has no claim {beginning!r}"
    claims.made[:] = [made for made in claims.made if not made[0].startswith(skipped)]
    for sentence, function in instead.get(name, {}).items():
        claims.add(sentence, functools.partial(function, module))
    return claims.main(sys.argv[2:])


def need_musl():
    if not shutil.which("musl-gcc"):
        print("1..0 # SKIP musl-gcc is not installed (Debian: musl-tools)")
        sys.exit(0)


if __name__ == "__main__":
    need_musl()
    sys.exit(run_again(PROGRAMS, NOT_OURS, INSTEAD))
