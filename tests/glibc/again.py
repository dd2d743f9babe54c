# SPDX-License-Identifier: MIT
"""again - runs claims of other suites, which are about the preload, with the front end inside glibc.

The other suites start their programs in an environment from built.environment(), with libplimsoll.so in LD_PRELOAD.
Here the programs start in a namespace where our glibc is the system's, and instead of the library they get
GLIBC_MALLOC_PROFILE=1. Everything else is unchanged: the programs, the claims and the comparisons. What a suite runs
without the profiler runs in our glibc with the profiler off.

Some claims do not apply here. NOT_OURS lists them with the reason. LATER lists claims that take long: `make soak` runs
them.

usage: again.py SUITE/FILE.py [WORD...]     the claims of that file with all of these words in them
       GLIBC_AGAIN=all again.py ...         also those of LATER
"""

import functools
import importlib
import os
import sys

from front import BUILD, HERE, RUNTIME, built, claims, enter_name_space, give_up, need_glibc

TESTS = HERE.parent
RUNTIMES = (str(RUNTIME), str(BUILD / "libplimsoll-cxx.so"))
OTHERS = "it is about allocators other than glibc's"
BEHIND = "it needs a reentrant allocator, and here the allocator is glibc's own"
PRELOAD = "it is about loading libplimsoll.so"

# The beginning of a claim, by file: the reason why it does not apply.
NOT_OURS = {
    "traps/startup.py": {
        "a dlsym that allocates": PRELOAD,
        "freeing what dlsym allocated": PRELOAD,
        "an environment with nothing but us": "switches.py has the claim that applies instead",
        "invalid settings": "switches.py has the claim that applies instead",
        "a setuid program": "switches.py has the claim that applies instead",
        "a program without write permission": PRELOAD,
        "transparent huge pages": "libc has our tables even when the profiler is off, but untouched: see INSTEAD",
    },
    "traps/threads.py": {
        "the runtime can be loaded by dlopen": PRELOAD,
        "thread local storage is small": PRELOAD,
    },
    "traps/forks.py": {
        "the calls of a child": "one made by a raw system call counts from its first visit on: see INSTEAD",
    },
    "traps/ends.py": {
        "a profile grows where no mapping": "valgrind works with the system's own loader",
    },
    "traps/loader.py": {
        "blocks exchanged with a deep bound plugin": "a deep bound plugin calls the same malloc as the program",
        "the profile names the first module": "a module that was loaded with RTLD_DEEPBIND calls the same malloc",
        "a module is still found": PRELOAD,
        "a program with an allocator": OTHERS,
        "an allocator preloaded in front": OTHERS,
        "an allocator that is linked in": "libplimsoll.so looks for it; in our glibc, `plimsoll run` does",
        "a library in front of us": PRELOAD,
        "a static program": "behaviour.py has the claim that applies instead",
    },
    "traps/semantics.py": {
        "a free is recorded before": BEHIND,
        "operator new of another allocator": OTHERS,
        "operator new of a plugin": OTHERS,
        "a thread whose operator new threw": OTHERS,
        "another allocator stays in charge": OTHERS,
    },
    "traps/stacks.py": {
        "a handler on a stack of 8 kib": BEHIND,
        "a signal stack inside": BEHIND,
        "signals inside our cold path": BEHIND,
        "calls and bytes stay exact when handlers": BEHIND,
        "a thread thrown out": BEHIND,
        "being thrown out": BEHIND,
    },
    "traps/counting.py": {
        "two blocks within 16 bytes": OTHERS,
        "five hundred live samples": OTHERS,
        "freeing null is not counted": BEHIND,
    },
    "exact/counts.py": {
        "over ": OTHERS,
        "the whole family": "pvalloc requests whole pages, which are booked here: see INSTEAD",
        "handlers that allocate inside the profiler": BEHIND,
        "a handler's calls are counted or counted as lost": BEHIND,
    },
    "kill/endings.py": {
        "plimsoll run": PRELOAD,
    },
    "tags/figures.py": {
        "handlers that push": BEHIND,
    },
    "tags/stepped.py": {
        "at each instruction of a thread's first allocation": BEHIND,
        "at each instruction of a thread's end": BEHIND,
    },
}


def count_calls_of_children(forks):
    """All children except those that libc does not know of."""
    forks.BY_FUNCTION = tuple(how for how in forks.BY_FUNCTION if not how.startswith("SYS_"))
    forks.the_calls_of_a_child_are_exact_from_the_first_one()


# Claims that are made instead: the sentence, and a function of the module of that file.
INSTEAD = {
    "traps/startup.py": {
        "transparent huge pages do not make our tables resident in libc": lambda startup: startup.check_tables(),
    },
    "traps/forks.py": {
        "the calls of a child are exact from the first one if libc forked it": count_calls_of_children,
    },
    "exact/counts.py": {
        "the family but pvalloc is counted, and failures are not": lambda counts: counts.check("family", "modest"),
    },
}

LATER = {
    "traps/startup.py": ("a limited address space", "a limit of descriptors"),
    "traps/threads.py": ("thread churn", "threads for which"),
    "traps/forks.py": ("many children one after", "forking while"),
    "traps/ends.py": ("a profile moved while", "processes that are pid 1"),
    "exact/counts.py": ("after kill -9", "what auto mode counted"),
    "kill/endings.py": ("a process with busy threads that ends by fork",),
    "tags/processes.py": ("after kill -9",),
}


def settings_of_ours(**settings):
    """Our library in LD_PRELOAD is replaced by the switch of the profiler inside libc."""
    libraries = str(settings.get("LD_PRELOAD") or "").split()
    others = [library for library in libraries if library not in RUNTIMES]
    if len(others) < len(libraries):
        settings["GLIBC_MALLOC_PROFILE"] = "1"
        settings["LD_PRELOAD"] = " ".join(others) or None
    return environment_of_theirs(**settings)


def begins(sentence, beginnings):
    return any(sentence.startswith(beginning) for beginning in beginnings)


environment_of_theirs = built.environment


def main():
    if len(sys.argv) < 2 or not (TESTS / sys.argv[1]).is_file():
        sys.exit("usage: again.py SUITE/FILE.py [WORD...]")
    name = sys.argv[1]
    need_glibc()
    enter_name_space()
    built.environment = settings_of_ours
    path = TESTS / name
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.stem)
    not_ours = NOT_OURS.get(name, {})
    later = () if os.environ.get("GLIBC_AGAIN") == "all" else LATER.get(name, ())
    for beginning in (*not_ours, *LATER.get(name, ())):
        assert any(sentence.startswith(beginning) for sentence, _ in claims.made), f"{name} has no claim {beginning!r}"
    claims.made[:] = [made for made in claims.made if not begins(made[0], (*not_ours, *later))]
    for sentence, function in INSTEAD.get(name, {}).items():
        claims.add(sentence, functools.partial(function, module))
    if not claims.made:
        give_up(f"no claim of {name} applies here")
    return claims.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
