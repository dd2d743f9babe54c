# SPDX-License-Identifier: MIT
"""install - the installed files are enough to build programs: headers, libraries, and pkg-config files to find them."""

import json
import os
from pathlib import Path

from api import BUILD, HERE, claim, compare, have, main, run, scratch
from whole import ABSENT, PRESENT, run_in, said

INSTALLED = [
    "bin/plimsoll",
    "include/plimsoll.h",
    "include/plimsoll.hpp",
    "lib/libplimsoll.so",
    "lib/libplimsoll.so.1",
    "lib/libplimsoll-stub.so",
    "lib/libplimsoll-stub.so.1",
    "lib/plimsoll/libplimsoll.so",
    "lib/plimsoll/libplimsoll-cxx.so",
    "lib/pkgconfig/plimsoll.pc",
    "lib/pkgconfig/plimsoll-stub.pc",
    "share/bash-completion/completions/plimsoll",
    "share/zsh/site-functions/_plimsoll",
    "share/man/man1/plimsoll.1",
    "share/man/man1/plimsoll-run.1",
]


def install(directory):
    """Installs below the directory and returns the prefix."""
    run("meson", "install", "--no-rebuild", "--quiet", "-C", BUILD, DESTDIR=directory)
    options = json.loads(run("meson", "introspect", "--buildoptions", BUILD))
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    return Path(f"{directory}{prefix}")


def flags(directory, *words):
    have("pkg-config")
    return run("pkg-config", *words, PKG_CONFIG_PATH=directory).split()


def build_with(words, libraries, program, options=()):
    """Builds whole.c with the flags of pkg-config; with an rpath, because ldconfig does not know these libraries."""
    run("gcc", "-O2", "-Wl,--as-needed", *options, HERE / "whole.c", "-o", program, f"-Wl,-rpath,{libraries}", *words)


def build(prefix, program, *words, options=()):
    """Builds from the installed files."""
    build_with(flags(prefix / "lib/pkgconfig", "--define-prefix", *words), prefix / "lib", program, options)


# Options, the words for pkg-config, and whether the profiler is there without being preloaded.
WAYS = {
    "weak": ([], ["--cflags", "plimsoll"], False),
    "stub": (["-fno-pic", "-no-pie"], ["--cflags", "--libs", "plimsoll-stub"], False),
    "linked": ([], ["--cflags", "--libs", "plimsoll"], True),
}


def check_way(place, way, preload):
    """Checks that a program that was built in this way finds the profiler or not, as it should."""
    _, _, present = WAYS[way]
    found, _ = run_in(place, place / "whole", "own.plim")
    compare(PRESENT if present else ABSENT, found, f"{way}, bare")
    found, files = run_in(place, place / "whole", "own.plim", preload=(preload,))
    compare(PRESENT, found, f"{way}, preloaded")
    assert "out.plim" in files, files


@claim
def everything_is_installed():
    with scratch() as directory:
        prefix = install(directory)
        missing = [name for name in INSTALLED if not (prefix / name).is_file()]
        assert not missing, missing
        library = prefix / "lib/libplimsoll.so"
        assert library.samefile(prefix / "lib/plimsoll/libplimsoll.so"), "there are two different runtimes"


@claim
def a_program_can_be_built_from_the_installed_files_in_each_way():
    with scratch() as directory:
        prefix = install(directory)
        for way, (options, words, _) in WAYS.items():
            place = Path(directory) / way
            place.mkdir()
            build(prefix, place / "whole", *words, options=options)
            check_way(place, way, prefix / "lib/plimsoll/libplimsoll.so")


@claim
def a_program_can_be_built_from_the_build_directory():
    with scratch() as directory:
        for way, (options, words, _) in WAYS.items():
            place = Path(directory) / way
            place.mkdir()
            build_with(flags(Path(BUILD) / "meson-uninstalled", *words), BUILD, place / "whole", options)
            check_way(place, way, Path(BUILD) / "libplimsoll.so")


@claim
def a_program_that_is_linked_and_preloaded_has_one_runtime():
    with scratch() as directory:
        prefix = install(directory)
        place = Path(directory) / "once"
        place.mkdir()
        build(prefix, place / "whole", "--cflags", "--libs", "plimsoll")
        for preload in ("libplimsoll.so", "libplimsoll-cxx.so"):
            text = run(place / "whole", LD_PRELOAD=prefix / "lib/plimsoll" / preload, LD_TRACE_LOADED_OBJECTS=1)
            assert text.count("libplimsoll") == 1, text


@claim
def run_profiles_a_program_that_is_linked_with_the_runtime():
    with scratch() as directory:
        prefix = install(directory)
        place = Path(directory) / "run"
        place.mkdir()
        build(prefix, place / "whole", "--cflags", "--libs", "plimsoll")
        text = run(prefix / "bin/plimsoll", "run", "--quiet", "--exact", "-o", "out.plim", "--", place / "whole",
                   "own.plim", cwd=place, PLIMSOLL_LIVE_DIR=place)
        compare(PRESENT, said(text), "run")
        assert os.path.exists(place / "out.plim"), os.listdir(place)


if __name__ == "__main__":
    raise SystemExit(main())
