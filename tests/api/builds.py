# SPDX-License-Identifier: MIT
"""builds - one source, built in every usual way, finds the profiler if and only if it is there."""

import functools
from pathlib import Path

from api import HERE, RUNTIME, STRICT, add, compare, compile_program, linked, main, scratch
from whole import ABSENT, PRESENT, run_in

# What wrapped.cpp prints about the classes of plimsoll.hpp: calls charged to each tag.
WRAPPED = {
    "literal": 1,
    "string": 2,
    "tag": 3,
    "place": 4,
    "scene::Graph::render": 5,
    "scene::Graph::render/scene::Graph::render::<lambda>": 6,
    "thrown": 7,
    "adopted": 8,
    "(paused)": 9,
    "before main": 10,
    "balanced": 1,
}

NO_PIC = ["-fno-pic", "-no-pie"]

# A build: compiler, options, libraries; and whether it finds the profiler when it runs alone, and when preloaded.
BUILDS = {
    "nothing linked": ("gcc", ["-O2"], [], False, True),
    "nothing linked, -O0": ("gcc", ["-O0"], [], False, True),
    "nothing linked, -flto": ("gcc", ["-O2", "-flto"], [], False, True),
    "nothing linked, C99": ("gcc", ["-O2", "-std=c99"], [], False, True),
    "nothing linked, C11": ("gcc", ["-O2", "-std=c11"], [], False, True),
    "nothing linked, hidden": ("gcc", ["-O2", "-fvisibility=hidden"], [], False, True),
    "nothing linked, header hidden": ("gcc", ["-O2", "-DHIDDEN"], [], False, True),
    "nothing linked, C++11": ("g++", ["-O2", "-std=c++11", "-x", "c++"], [], False, True),
    "nothing linked, C++20": ("g++", ["-O2", "-std=c++20", "-x", "c++"], [], False, True),
    "nothing linked, clang": ("clang", ["-O2", "-std=c99"], [], False, True),
    "nothing linked, clang -O0": ("clang", ["-O0"], [], False, True),
    "nothing linked, clang C++11": ("clang++", ["-O2", "-std=c++11", "-x", "c++"], [], False, True),
    "nothing linked, clang C++20": ("clang++", ["-O2", "-std=c++20", "-x", "c++"], [], False, True),
    "nothing linked, static": ("gcc", ["-O2", "-static"], [], False, False),
    "nothing linked, -fno-pic": ("gcc", ["-O2", *NO_PIC], [], False, False),
    "the stub": ("gcc", ["-O2"], linked("plimsoll-stub"), False, True),
    "the stub, -fno-pic, as needed": ("gcc", ["-O2", *NO_PIC, "-Wl,--as-needed"], linked("plimsoll-stub"), False, True),
    "the stub, -fno-pic": ("gcc", ["-O2", *NO_PIC], linked("plimsoll-stub"), False, True),
    "the stub, -fno-pic, clang": ("clang", ["-O2", *NO_PIC], linked("plimsoll-stub"), False, True),
    "-lplimsoll": ("gcc", ["-O2"], linked("plimsoll"), True, True),
    "-lplimsoll, as needed": ("gcc", ["-O2", "-Wl,--as-needed"], linked("plimsoll"), True, True),
    "-lplimsoll, -fno-pic": ("gcc", ["-O2", *NO_PIC], linked("plimsoll"), True, True),
    "-lplimsoll, clang C++20": ("clang++", ["-O2", "-std=c++20", "-x", "c++"], linked("plimsoll"), True, True),
}

# wrapped.cpp is C++11 as well as C++20.
WRAPPED_BUILDS = {
    "C++11": ("g++", ["-O2", "-std=c++11"]),
    "C++20": ("g++", ["-O2", "-std=c++20"]),
    "C++17, -O0": ("g++", ["-O0", "-std=c++17"]),
    "clang C++11": ("clang++", ["-O2", "-std=c++11"]),
    "clang C++20, -O0": ("clang++", ["-O0", "-std=c++20"]),
}

# The profile, a named snapshot, a numbered one, and the file of plimsoll_write().
FILES = ["out.0001.plim", "out.named.plim", "out.plim", "own.plim"]


def check_files(files, present):
    """A program that does not find the profiler may still be profiled."""
    assert files == FILES if present else set(files) <= {"out.plim"}, f"left {files}"


def whole(build):
    compiler, options, libraries, bare, preloaded = BUILDS[build]
    with scratch() as name:
        directory = Path(name)
        compile_program(compiler, HERE / "whole.c", directory / "whole", *options, *STRICT, libraries=libraries)
        for way, preload, present in (("bare", (), bare), ("preloaded", (RUNTIME,), preloaded)):
            found, files = run_in(directory, directory / "whole", "own.plim", preload=preload)
            compare(PRESENT if present else ABSENT, found, way)
            check_files(files, present)


for build in BUILDS:
    add(f"a program built with {build} finds the profiler if it is there", functools.partial(whole, build))


def wrapped(build):
    compiler, options = WRAPPED_BUILDS[build]
    with scratch() as name:
        directory = Path(name)
        compile_program(compiler, HERE / "wrapped.cpp", directory / "wrapped", *options, *STRICT)
        found, _ = run_in(directory, directory / "wrapped")
        compare({tag: 1 if tag == "balanced" else -1 for tag in WRAPPED}, found, "bare")
        found, _ = run_in(directory, directory / "wrapped", preload=(RUNTIME,))
        compare(WRAPPED, found, "preloaded")


for build in WRAPPED_BUILDS:
    add(f"scopes of plimsoll.hpp end with their blocks: {build}", functools.partial(wrapped, build))


if __name__ == "__main__":
    raise SystemExit(main())
