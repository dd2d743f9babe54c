# SPDX-License-Identifier: MIT
"""again - claims that were made of the preload, tried on the front end inside glibc.

The other suites start their programs in an environment that built.environment() makes, with libplimsoll.so in
LD_PRELOAD. Here they are started in a name space where our glibc is the system's, and instead of the library they are
given GLIBC_MALLOC_PROFILE=1. All else is theirs: the programs, the claims, what is compared with what. What a suite
runs bare runs in our glibc with the profiler off.

Not every claim is about us. Those that are not stand in NOT_OURS with the reason, and those that take long in LATER:
`make soak` tries them.

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
OTHERS = "it is about allocators in the place of glibc's"
BEHIND = "it puts an allocator that survives anything behind us: here that is glibc's own"
PRELOAD = "it is about loading libplimsoll.so"

# The beginning of a claim, by file: why it is not about us.
NOT_OURS = {
    "traps/startup.py": {
        "a dlsym that allocates": PRELOAD,
        "freeing what dlsym allocated": PRELOAD,
        "an environment with nothing but us": "switches.py says what holds instead",
        "rubbish in settings": "switches.py says what holds instead",
        "a setuid program": "switches.py says what holds instead",
        "a program without rights anywhere": PRELOAD,
        "transparent huge pages": "libc has tables of ours when the profiler is off, too, and touches none: see INSTEAD",
    },
    "traps/threads.py": {
        "the runtime can be loaded by dlopen": PRELOAD,
        "thread local storage is small": PRELOAD,
    },
    "traps/forks.py": {
        "a childs calls": "one made by a system call of the program's own counts from its first visit on: see INSTEAD",
    },
    "traps/loader.py": {
        "blocks exchanged with a deep bound plugin": "a deep bound plugin calls the same malloc as everyone",
        "a program with an allocator": OTHERS,
        "a static program": "behaviour.py says what holds instead",
    },
    "traps/semantics.py": {
        "a free is written down before": BEHIND,
        "operator new of another allocator": OTHERS,
        "operator new of a plugin": OTHERS,
        "a thread whose operator new threw": OTHERS,
        "another allocator stays in charge": OTHERS,
    },
    "traps/stacks.py": {
        "a handler on a stack of 8 kib": BEHIND,
        "a signal stack inside": BEHIND,
        "signals inside of our cold path": BEHIND,
        "calls and bytes stay exact when handlers": BEHIND,
        "a thread thrown out": BEHIND,
        "being thrown out": BEHIND,
    },
    "traps/counting.py": {
        "two blocks within 16 bytes": OTHERS,
        "five hundred live samples": OTHERS,
        "freeing null is nothing": BEHIND,
    },
    "exact/counts.py": {
        "over ": OTHERS,
        "the whole family": "pvalloc asks for whole pages, and that is what is booked here: see INSTEAD",
        "handlers that allocate inside the profiler": BEHIND,
        "a handler's calls are counted or known to be lost": BEHIND,
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
    """Of all but those that libc does not know of."""
    forks.BY_FUNCTION = tuple(how for how in forks.BY_FUNCTION if not how.startswith("SYS_"))
    forks.a_childs_calls_are_exact_from_its_first_one()


# Claims to try in their place: the sentence, and what the module of that file can do about it.
INSTEAD = {
    "traps/startup.py": {
        "transparent huge pages do not make our tables resident in libc": lambda startup: startup.check_tables(),
    },
    "traps/forks.py": {
        "a childs calls are exact from its first one, where libc made it": count_calls_of_children,
    },
    "exact/counts.py": {
        "the family but pvalloc is counted, and failures are not": lambda counts: counts.check("family", "modest"),
    },
}

LATER = {
    "traps/startup.py": ("a limited address space", "a limit on descriptors"),
    "traps/threads.py": ("thread churn", "threads for which"),
    "traps/forks.py": ("many children one after", "forking while"),
    "traps/ends.py": ("a profile moved while", "processes that are pid 1"),
    "exact/counts.py": ("after kill -9", "what auto mode counted"),
    "kill/endings.py": ("a process with busy threads that ends by fork",),
    "tags/processes.py": ("after kill -9",),
}


def settings_of_ours(**settings):
    """What would have been loaded before the program is inside its libc."""
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
        give_up(f"nothing in {name} is about us")
    return claims.main(sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
