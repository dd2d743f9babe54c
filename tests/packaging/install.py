# SPDX-License-Identifier: MIT
"""install - `make uninstall` undoes `make install`.

The rules of the Makefile run unchanged. They get their own build directory, because the prefix is part of the
configuration. The files that would be built there are copied from the build under test.
"""

import functools
import json
import os
import shutil
from pathlib import Path

from packaged import BUILD, SOURCE, claim, contents, main, run, scratch, stand_in_for_ninja


class Place:
    """A directory that contains a build configured for a prefix inside of it."""

    def __init__(self):
        self.scratch = scratch()
        self.directory = Path(self.scratch.name)
        self.build, self.prefix = self.directory / "build", self.directory / "opt" / "local"
        run("meson", "setup", self.build, "--libdir", "lib")  # with another prefix than that of the installation
        for built in json.loads(run("meson", "introspect", "--installed", BUILD)):
            if Path(built).is_relative_to(BUILD) and Path(built).is_file():
                copy = self.build / Path(built).relative_to(BUILD)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(built, copy)
        self.path = stand_in_for_ninja(self.directory)

    def make(self, target, destination="", glibc="none"):
        return run("make", "--no-print-directory", target, f"BUILD={self.build}", f"PREFIX={self.prefix}",
                   f"DESTDIR={destination}", f"GLIBC={self.directory / glibc}", PATH=self.path)


# Configuring takes seconds, so all claims share one.
the_place = functools.lru_cache(maxsize=None)(Place)


def make_files(directory, *names):
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(name)


def check_round(place, destination):
    """Installs twice and uninstalls, beside files and empty directories of others, which must be kept."""
    root = Path(f"{destination}{place.prefix}")
    make_files(root, "bin/other", "lib/libother.so")
    (root / "share/man/man1").mkdir(parents=True)
    before = contents(root)
    place.make("install", destination)
    installed = contents(root) - before
    assert {"bin/plimsoll", "lib/libplimsoll.so.1", "lib/plimsoll/libplimsoll.so"} <= installed, installed
    place.make("install", destination)
    make_files(root, "share/zsh/site-functions/_other")
    place.make("uninstall", destination)
    left = contents(root) - before
    assert left == {"share/zsh/", "share/zsh/site-functions/", "share/zsh/site-functions/_other"}, left
    assert before <= contents(root), before - contents(root)


@claim
def uninstalling_keeps_files_and_directories_of_others_and_leaves_nothing_of_ours():
    place = the_place()
    check_round(place, "")
    check_round(place, place.directory / "stage")


@claim
def a_relative_destination_starts_where_make_was_called():
    place = the_place()
    stage = place.directory / "relative"
    relative = os.path.relpath(stage, SOURCE)
    place.make("install", relative)
    assert Path(f"{stage}{place.prefix}/bin/plimsoll").exists()
    assert "Removed 0 " not in place.make("uninstall", relative)
    assert contents(stage) == set(), contents(stage)


@claim
def an_old_file_is_replaced_by_a_link():
    place = the_place()
    stage = place.directory / "older"
    make_files(Path(f"{stage}{place.prefix}"), "lib/plimsoll/libplimsoll.so")
    place.make("install", stage)
    assert Path(f"{stage}{place.prefix}/lib/plimsoll/libplimsoll.so").is_symlink()


@claim
def uninstalling_from_an_empty_place_leaves_it_empty():
    place = the_place()
    stage = place.directory / "empty"
    stage.mkdir()
    make_files(place.directory / "glibc", "lib/libc.so.6", "lib/gconv/UTF-16.so", "SOURCE", "work/log")
    place.make("install", stage, "glibc")
    installed = Path(f"{stage}{place.prefix}")
    assert (installed / "lib/plimsoll/glibc/lib/gconv/UTF-16.so").exists()
    run(installed / "bin/plimsoll", "version")
    place.make("uninstall", stage)
    assert contents(stage) == set(), contents(stage)


@claim
def uninstalling_without_an_installation_fails_and_removes_nothing():
    with scratch() as directory:
        place = Path(directory) / "usr"
        make_files(place, "bin/plimsoll")
        try:
            run("make", "--no-print-directory", "uninstall", f"PREFIX={place}")
        except AssertionError as failure:
            assert "there is no" in str(failure), failure
        else:
            raise AssertionError("it succeeded")
        assert contents(place) == {"bin/", "bin/plimsoll"}


if __name__ == "__main__":
    raise SystemExit(main())
