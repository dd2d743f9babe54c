# SPDX-License-Identifier: MIT
"""programs - static programs as users build and run them: by pkg-config, with each C library, by `plimsoll run`."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims  # noqa: E402
from built import BUILD, PLIMSOLL, environment  # noqa: E402
from claims import Skip, claim  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

PROGRAM = r"""
#include <plimsoll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static void *volatile kept;
__attribute__((noinline)) static void site_tagged(void) { plimsoll_push("work"); kept = malloc(100); plimsoll_pop(); }
__attribute__((noinline)) static void site_strdup(void) { kept = strdup("nine char"); __asm__ volatile(""); }
static void *volatile until_the_end;
__attribute__((destructor)) static void last(void) { free(until_the_end); }
int main(int argc, char **argv)
{
    until_the_end = malloc(333);
    for (int i = 0; i < 10; i++)
        site_tagged();
    site_strdup();
    if (argc > 1)
        raise(SIGKILL);
    return plimsoll_loaded() ? 7 : 8;
}
"""
WAYS = {"glibc": ("gcc", "-static"), "glibc-pie": ("gcc", "-static-pie"), "musl": ("musl-gcc", "-static")}


def run(*words, **options):
    words = [str(word) for word in words]
    return subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=PATIENCE_S, **options)


def flags():
    where = {"PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"), **os.environ}
    command = ["pkg-config", "--cflags", "--libs", "plimsoll-static"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=where).stdout.split()


def build(place, way, *options, compiler=None, source=PROGRAM, suffix=".c"):
    """A program of a way, at `place`."""
    compiler, static = compiler or WAYS[way][0], WAYS[way][1]
    if not shutil.which(compiler):
        raise Skip(f"{compiler} is not installed")
    path = Path(place) / "program"
    path.with_suffix(suffix).write_text(source)
    done = run(compiler, "-g", "-O2", static, "-o", path, path.with_suffix(suffix), *options)
    assert done.returncode == 0, done.stderr
    return path


def functions_of(profile):
    command = [PLIMSOLL, "export", "--format", "collapsed", profile]
    rows = (line.rsplit(" ", 1) for line in run(*command).stdout.splitlines())
    return {int(bytes): names.split(";") for names, bytes in rows}


def check(way):
    with tempfile.TemporaryDirectory() as place:
        program, out = build(place, way, *flags()), Path(place) / "out.plim"
        done = run(PLIMSOLL, "run", "--exact", "-o", out, "--", program)
        assert done.returncode == 7 and "not seen" not in done.stderr, done
        stacks = functions_of(out)
        assert [f for f in stacks[1000] if f.startswith("site")] == ["site_tagged"] and "main" in stacks[1000], stacks
        assert "site_strdup" in stacks[10] and "main" in stacks[10], stacks
        report = run(PLIMSOLL, "report", "--by", "tag", out).stdout
        assert "work" in report, report
        assert "exited 7" in run(PLIMSOLL, "report", out).stdout
        done = run(PLIMSOLL, "run", "--exact", "-o", Path(place) / "killed.plim", "--", program, "kill")
        assert done.returncode == 137, done
        assert 333 not in stacks, "the destructor's free was not seen"
        killed = functions_of(Path(place) / "killed.plim")
        at_exit = {bytes: names for bytes, names in killed.items() if bytes not in stacks}  # what exit handlers free:
        assert at_exit.pop(333) and all("frame_dummy" in names for names in at_exit.values()), at_exit  # libgcc, too
        assert {bytes: killed.get(bytes) for bytes in stacks} == stacks, (killed, stacks)


for name in WAYS:
    claims.add(f"a static program is profiled by the runtime in it: {name}", lambda name=name: check(name))


@claim
def a_stripped_program_is_recognised():
    with tempfile.TemporaryDirectory() as place:
        program, out = build(place, "glibc", "-s", *flags()), Path(place) / "out.plim"
        done = run(PLIMSOLL, "run", "-o", out, "--", program)
        assert done.returncode == 7 and "statically linked" not in done.stderr and out.exists(), done


@claim
def operator_new_of_a_static_program_is_counted_once():
    source = "long *volatile kept; int main() { kept = new long[500]; return 3; }\n"
    with tempfile.TemporaryDirectory() as place:
        program = build(place, "glibc", *flags(), compiler="g++", source=source, suffix=".cpp")
        out = Path(place) / "out.plim"
        done = run(PLIMSOLL, "run", "--exact", "-o", out, "--", program)
        assert done.returncode == 3, done
        assert "main" in functions_of(out).get(4000, []), functions_of(out)


@claim
def a_static_program_without_the_runtime_is_told_how_to_link_it():
    with tempfile.TemporaryDirectory() as place:
        program = build(place, "glibc", source="int main(void) { return 0; }\n")
        done = run(PLIMSOLL, "run", "-o", Path(place) / "out.plim", "--", program)
        assert "link the profiler in, with pkg-config --libs plimsoll-static" in done.stderr, done


@claim
def a_program_that_only_names_the_archive_is_told_to_use_pkg_config():
    with tempfile.TemporaryDirectory() as place:
        program = build(place, "glibc", *[word for word in flags() if not word.startswith("-Wl")])
        done = run(PLIMSOLL, "run", "-o", Path(place) / "out.plim", "--", program)
        assert done.returncode == 8 and "pkg-config --libs plimsoll-static" in done.stderr, done


@claim
def the_archive_defines_what_is_wrapped_and_the_api_and_nothing_else():
    lines = run("nm", "--defined-only", "--extern-only", BUILD / "libplimsoll.a").stdout.splitlines()
    defined = {line.split()[-1] for line in lines if len(line.split()) == 3}
    names = set((Path(__file__).parents[2] / "src" / "static" / "names").read_text().split())
    probes = "_.stapsdt.base"  # one in each program, whoever brings probes
    assert defined == {name for name in defined if name.startswith("plimsoll_")} | {f"__wrap_{name}" for name in names} | {probes}


if __name__ == "__main__":
    sys.exit(claims.main())
