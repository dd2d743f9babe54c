# SPDX-License-Identifier: MIT
"""linked - a program with an allocator linked in is profiled like any other: its calls, to the call, and no call that
the allocator makes itself."""

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from built import BUILD, EMULATOR, PLIMSOLL, RUNTIME, environment, export, finish, runnable
from claims import Skip, claim
from patience import PATIENCE_S
import claims

PROGRAMS = BUILD / "tests" / "linked"
THREADS, ROUNDS = 4, 300
TIMES = THREADS * ROUNDS
LIBRARIES = {"jemalloc": "jemalloc", "tcmalloc": "tcmalloc_minimal"}


class Place:
    """A directory for the profiles of one claim."""

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="plimsoll-linked."))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def preload(self, *command, status=0, **settings):
        """Runs it with the library alone; returns what it prints."""
        settings = {"LD_PRELOAD": RUNTIME, "PLIMSOLL_SAMPLE": "exact", "PLIMSOLL_OUT": self.path / "%c.%p.plim"} | settings
        command, variables = runnable(command, environment(**settings))
        process = subprocess.Popen(command, cwd=self.path, env=variables, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        done = finish(process, PATIENCE_S)
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def plimsoll(self, *words):
        done = subprocess.run([PLIMSOLL, *map(str, words)], cwd=self.path, env=environment(COLUMNS="200"),
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    def profiles(self):
        return [export(path) for path in sorted(self.path.glob("*.plim"))]

    def profile(self):
        found = self.profiles()
        assert len(found) == 1, found
        return found[0]


def functions(profile, name, figure):
    """Of all stacks with this function, a figure by the function's own calls."""
    names = [frame["function"] for frame in profile["frames"]]
    stacks = [{names[i] for i in stack} for stack in profile["stacks"]]
    return sum(site[figure]["value"] for site in profile["sites"]
               if site["stack"] is not None and name in stacks[site["stack"]])


def check(profile, extended, times=TIMES):
    assert profile["sampling"]["exact"], profile["sampling"]
    assert not any(profile["losses"].values()), profile["losses"]
    made = 4 + 2 * extended  # malloc, calloc, realloc, posix_memalign; mallocx, rallocx
    assert functions(profile, "one_round", "alloc_objects") == made * times, functions(profile, "one_round", "alloc_objects")
    assert functions(profile, "one_round", "alloc_space") == (100 + 200 + 1000 + 300 + extended * 140) * times
    assert functions(profile, "one_round", "inuse_objects") == 0
    assert functions(profile, "kept_block", "alloc_objects") == functions(profile, "kept_block", "inuse_objects") == times
    assert functions(profile, "kept_block", "inuse_space") == 40 * times
    totals = profile["totals"]["functions"]
    assert totals["realloc"] == (1 + extended) * times and totals["aligned"] == times, totals


def is_counted(name, extended):
    with Place() as place:
        place.preload(PROGRAMS / f"own-{name}", THREADS, ROUNDS)
        check(place.profile(), extended)


for a_name, what, is_extended in (
    ("plain", "that a program exports as malloc", False),
    ("hidden", "that a program defines as malloc and does not export", False),
    ("je", "called je_malloc, with mallocx and its like,", True),
    ("rjem", "called _rjem_malloc, as in Rust programs, which do not export it,", True),
    ("mi", "called mi_malloc", False),
):
    claims.add(f"an allocator {what} is counted to the call", partial(is_counted, a_name, is_extended))


@claim
def sampling_estimates_the_same_and_counts_calls_exactly():
    with Place() as place:
        place.preload(PROGRAMS / "own-je", THREADS, ROUNDS * 10, PLIMSOLL_SAMPLE=4096)
        profile = place.profile()
        assert profile["totals"]["functions"]["realloc"] == 2 * 10 * TIMES, profile["totals"]["functions"]
        live = profile["totals"]["inuse_objects"]
        assert abs(live["value"] - 10 * TIMES) <= 3 * live["error"] + 10, live


@claim
def a_child_of_fork_is_followed():
    with Place() as place:
        place.preload(PROGRAMS / "own-rjem", 1, 100, "fork")
        parent, child = sorted(place.profiles(), key=lambda profile: profile["process"]["forked"])
        check(parent, True, 100)
        check(child, True, 100)


@claim
def a_program_that_becomes_another_one_is_followed():
    with Place() as place:
        place.preload(PROGRAMS / "own-je", 1, 10, "exec", PROGRAMS / "own-mi", 1, 20)
        made = sorted(functions(profile, "kept_block", "alloc_objects") for profile in place.profiles())
        assert made == [10, 20], made


@claim
def a_wrapper_of_malloc_is_not_counted_twice():
    with Place() as place:
        place.preload(PROGRAMS / "own-wrapper", 1, ROUNDS)
        profile = place.profile()
        assert functions(profile, "kept_block", "alloc_objects") == ROUNDS
        assert profile["totals"]["functions"]["realloc"] == ROUNDS, profile["totals"]["functions"]


@claim
def a_program_that_is_not_to_be_profiled_runs_as_it_is():
    with Place() as place:
        assert place.preload(PROGRAMS / "own-je", THREADS, ROUNDS, PLIMSOLL_ONLY="another") == "done\n"
        assert not place.profiles()


def need_command():
    if EMULATOR:
        raise Skip("the command is of the other processor")


@claim
def run_says_nothing_of_an_allocator_that_it_has_hooked():
    need_command()
    with Place() as place:
        for name in ("plain", "hidden", "je"):
            said = place.plimsoll("run", "--exact", "-o", f"{name}.plim", "--", PROGRAMS / f"own-{name}", 1, 10).stderr
            assert "linked in" not in said and "exact: " in said, said
            head = place.plimsoll("report", f"{name}.plim").stdout.splitlines()[:3]
            late = " after libraries were initialized" if name == "plain" else ""
            assert head[1].startswith("exact: all ") and f" allocations{late}  " in head[1], head
            assert not any("seen" in line for line in head), head


@claim
def an_allocator_that_cannot_be_found_is_named():
    need_command()
    with Place() as place:
        shutil.copy(PROGRAMS / "own-plain", place.path / "own")
        subprocess.run(["strip", place.path / "own"], check=True)
        with open(place.path / "own", "r+b") as program:  # no section headers
            for at, count in ((40, 8), (60, 2), (62, 2)):
                program.seek(at)
                program.write(bytes(count))
        said = place.plimsoll("run", "--exact", "-o", "own.plim", "--", "./own", 1, 10000).stderr
        assert "no allocation was seen" in said and "does not call Plimsoll's" in said, said


@claim
def memory_that_may_not_become_code_is_left_alone():
    """PR_SET_MDWE, as systemd's MemoryDenyWriteExecute: the allocator cannot be hooked, and the program runs."""
    need_command()
    deny = "import ctypes, os, sys; sys.exit(77) if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) else os.execv(sys.argv[1], sys.argv[1:])"
    if subprocess.run([sys.executable, "-c", deny, "/bin/true"]).returncode:
        raise Skip("this kernel has no PR_SET_MDWE")
    with Place() as place:
        done = place.plimsoll("run", "--exact", "-o", "own.plim", "--", sys.executable, "-c", deny,
                              PROGRAMS / "own-je", 1, 10)
        assert done.stdout == "done\n", done
        assert "allocator linked in" in done.stderr, done.stderr
        assert export(place.path / "own.plim")["totals"]["functions"]["realloc"] == 0


def code_of(process):
    """The bytes of the program's own code, in its memory."""
    program = os.readlink(f"/proc/{process.pid}/exe")
    lines = (line.split() for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines())
    spans = [span for span, flags, _, _, _, *path in lines if "x" in flags and path == [program]]
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
        start, end = (int(part, 16) for part in spans[0].split("-"))
        memory.seek(start)
        return memory.read(end - start)


@claim
def attach_sees_it_too_and_detach_leaves_the_program_as_it_was():
    need_command()
    for name, extended in (("plain", False), ("rjem", True)):
        with Place() as place:
            command = [PROGRAMS / f"own-{name}", "1", "10", "steps"]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env=environment())
            try:
                assert process.stdout.readline() == "done\n"
                code = code_of(process)
                for i in range(2):
                    place.plimsoll("attach", process.pid, "--wait", f"{PATIENCE_S}s", "--exact", "-o", f"{i}.plim")
                    assert code_of(process) != code, "attach has changed nothing"
                    process.stdin.write("\n")
                    process.stdin.flush()
                    assert process.stdout.readline() == "done\n"
                    place.plimsoll("detach", process.pid, "--wait", f"{PATIENCE_S}s")
                    assert code_of(process) == code, "the program's code is not what it was"
                    check(export(place.path / f"{i}.plim"), extended, 10)
            finally:
                process.kill()
                process.wait()


CALLS = r"""
#include <cstdio>
#include <new>
#include <string>
#include <thread>
#include <vector>
struct alignas(64) Large { char bytes[256]; };
static void *volatile kept;
extern "C" __attribute__((noinline)) void one_round() {
    char *volatile text = new char[100];
    delete[] text;
    Large *volatile large = new Large;
    delete large;
    void *volatile block = operator new(70, std::nothrow);
    operator delete(block, std::nothrow);
}
extern "C" __attribute__((noinline)) void kept_block() { kept = ::operator new(40); }
int main() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([] {
            for (int i = 0; i < 300; i++) { one_round(); kept_block(); }
        });
    for (auto &thread : threads) thread.join();
    int thrown = 0;
    for (int i = 0; i < 3; i++)
        try { kept = ::operator new(static_cast<std::size_t>(-1) / 4); } catch (const std::bad_alloc &) { thrown++; }
    for (int i = 0; i < 100; i++) kept_block();
    printf("%d\n", thrown);
}
"""


def is_whole(library):
    """C++ and the library's archive, which Debian's package for developers has."""
    if EMULATOR:
        raise Skip("the library of this machine's processor")
    with Place() as place:
        (place.path / "calls.cpp").write_text(CALLS)
        built = subprocess.run(["g++", "-O1", "-fno-builtin", "-o", "calls", "calls.cpp",
                                f"-Wl,-Bstatic,-l{LIBRARIES[library]},-Bdynamic", "-lpthread"],
                               cwd=place.path, capture_output=True, text=True)
        if built.returncode:
            raise Skip(f"there is no archive of {library}")
        assert place.preload(place.path / "calls") == "3\n"
        profile = place.profile()
        assert profile["sampling"]["exact"], profile["sampling"]
        assert functions(profile, "one_round", "alloc_objects") == 3 * TIMES
        assert functions(profile, "one_round", "alloc_space") == (100 + 256 + 70) * TIMES
        assert functions(profile, "one_round", "inuse_objects") == 0
        assert functions(profile, "kept_block", "inuse_objects") == TIMES + 100
        assert profile["totals"]["functions"]["new"] >= 4 * TIMES + 100, profile["totals"]["functions"]


for a_library in LIBRARIES:
    claims.add(f"{a_library} in a C++ program is counted to the call, also after std::bad_alloc", partial(is_whole, a_library))


if __name__ == "__main__":
    sys.exit(claims.main())
