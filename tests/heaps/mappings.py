# SPDX-License-Identifier: MIT
"""mappings - what a program maps itself: figures equal the program's own account, and what strace sees.

usage: mappings.py [--glibc]      with --glibc: recorded by the profiler inside glibc
"""

import re
import shutil
import subprocess
import sys

from heaps import *  # noqa: F403
from claims import Skip, claim, say

INSIDE = "--glibc" in sys.argv
if INSIDE:
    sys.argv.remove("--glibc")
    sys.path.insert(0, str(HERE.parent / "glibc"))
    from front import ARCHIVE, GLIBC, STATIC, need_glibc

    need_glibc()
    front.extend(["--glibc", "--glibc-dir", str(GLIBC)])

MAPPED = PROGRAMS / "mapped"
SITES = ("map_one", "map_two", "map_over", "remap", "grow_break", "share")
PAGE = 4096


def agrees(command, with_peak=True, program=MAPPED):
    output, profiles = run([program, *command])
    (account, peak), = accounts(output)
    assert len(profiles) == 1, profiles
    found, total = figures_of(profiles[0])
    assert found == filled(account), (found, account)
    if with_peak:
        assert total["peak_space"]["value"] == peak, (total["peak_space"], peak)
    losses = export(profiles[0])["losses"]
    assert not any(losses.values()), losses
    return profiles[0]


# ---- known answers ----

for seed in (1, 2, 3):

    def check(number=seed):
        agrees(["random", str(number)])

    claims.add(f"parts, holes, mappings over others, mremap and failures are counted as the program does, seed {seed}",
               check)


@claim
def mappings_of_four_threads_that_another_thread_unmaps_are_counted_exactly():
    profile = agrees(["threads"], with_peak=False)
    threads = export(profile, "--heap", "mappings")["threads"]
    assert len(threads) == 4, threads


@claim
def a_child_has_only_what_it_has_mapped_itself():
    output, profiles = run([MAPPED, "forks"])
    expected = [filled(account) for account, _ in accounts(output)]
    found = [figures_of(profile)[0] for profile in profiles]
    assert sorted(map(str, found)) == sorted(map(str, expected)), (expected, found)


@claim
def a_child_of_which_nothing_but_mappings_is_known_has_a_profile():
    """While malloc is sampled, a short process often has no sample."""
    _, profiles = run([MAPPED, "forks"], PLIMSOLL_SAMPLE="64M")
    assert sorted(sum(figures_of(profile)[0].get(name, (0,))[0] for name in SITES) for profile in profiles) == [3, 10]


@claim
def the_break_and_shared_memory_of_system_v_are_counted():
    output, profiles = run([MAPPED, "break"])
    (account, _), = accounts(output)
    if account["share"] == (0, 0, 0, 0):
        say("no shared memory of System V here")
    found, _ = figures_of(profiles[0])
    assert found == filled(account), (found, account)


@claim
def figures_of_malloc_do_not_contain_mappings_and_the_report_names_them():
    _, profiles = run([MAPPED, "random", "1"])
    report = ask("report", profile=profiles[0])
    assert re.search(r"heap mappings, not included: .* \(--heap mappings\)", report), report
    stacks = ask("export", "--format", "collapsed", profile=profiles[0])
    assert not [name for name in SITES if f";{name} " in stacks], stacks


@claim
def no_mappings_records_none():
    for settings in ({"PLIMSOLL_NO_MAPPINGS": "1"}, {"PLIMSOLL_OFF": "1"}):
        _, profiles = run([MAPPED, "random", "1"], **settings)
        done = subprocess.run([PLIMSOLL, "report", "--heap", "mappings", profiles[0]], text=True, check=False,
                              env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 2 and "mappings" in done.stderr, done


@claim
def a_static_program_that_has_our_libc_in_it_records_its_mappings():
    if not INSIDE or not ARCHIVE.exists():
        raise Skip("only with the profiler inside glibc, and its archive")
    static = new_place() / "mapped"
    words = ["cc", "-O1", "-g", "-w", "-D_GNU_SOURCE", "-pthread", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer"]
    subprocess.run([*words, "-o", static, HERE / "mapped.c", *STATIC], check=True)
    agrees(["random", "1"], program=static)


# ---- strace ----

CC1 = subprocess.run(["gcc", "-print-prog-name=cc1"], text=True, check=False, stdout=subprocess.PIPE).stdout.strip()
SUMS = "".join(f"int sum{i}(int *a) {{ int s = {i}; for (int i = 0; i < {i}; i++) s += a[i]; return s; }}\n"
               for i in range(300))
PROGRAMS = {
    "python3": [sys.executable, "-c", "import json, mmap; a = mmap.mmap(-1, 1 << 20); b = [[i] for i in range(99999)]"],
    "git": ["git", "-C", str(HERE), "log", "--oneline", "-20"],
    "sqlite3": ["sqlite3", "x.db", "PRAGMA mmap_size=9999999; CREATE TABLE t(a); INSERT INTO t SELECT 1;"],
    "perl": ["perl", "-e", "print join(',', map { $_ * 2 } 1 .. 1000)"],
    "sort": ["sort", "--parallel=2", "/etc/passwd"],
    "cc1": [CC1, "-quiet", "-O1", "x.i", "-o", "x.s"],
}
CALL = re.compile(r"^(mmap|mremap|shmat)\((.*)\) += 0x[0-9a-f]+")
LIBRARY = re.compile(r"/(libc[.-]|ld-|ld\.so|ld64|libpthread)")


def traced(command, place):
    """What strace sees of calls that do not come from the C library and its loader: their sizes.

    The stack of a call begins in the C library's mmap, then comes its caller.
    """
    done = subprocess.run(["strace", "-k", "-ff", "-qq", "-o", place / "strace", "-e", "trace=mmap,mremap", *command],
                          cwd=place, text=True, env=environment(PYTHONHASHSEED=0), stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    logs = list(place.glob("strace*"))
    if done.returncode != 0 or not logs:
        raise Skip(f"strace -k does not work here: {done.stderr[:200]}")
    sizes = []
    for log in logs:
        for part in re.split(r"\n(?! > )", log.read_text(errors="replace")):
            call, *stack = part.split("\n")
            found = CALL.match(call)
            if not found or len(stack) < 2 or LIBRARY.search(stack[1]):
                continue
            size = int(found[2].split(", ")[2 if found[1] == "mremap" else 1], 0)
            sizes.append(-(-size // PAGE) * PAGE)
        log.unlink()
    return sizes


def compare(command):
    if EMULATOR or not shutil.which("strace") or not shutil.which(command[0]):
        raise Skip("needs strace and the program")
    place = new_place()
    (place / "x.i").write_text(SUMS)
    sizes = traced(command, place)
    (place / "x.db").unlink(missing_ok=True)
    _, profiles = run(command, place, PYTHONHASHSEED=0)
    assert len(profiles) == 1, profiles
    total = export(profiles[0], "--no-symbols", "--heap", "mappings")["totals"] if sizes else None
    found = [int(total[key]["value"]) for key in ("alloc_objects", "alloc_space")] if total else [0, 0]
    say(f"{len(sizes)} mappings of {sum(sizes)} bytes")
    assert found == [len(sizes), sum(sizes)], (found, sizes)


for name, words in PROGRAMS.items():
    claims.add(f"{name} has made as many mappings as strace counts, of the same size", lambda w=words: compare(w))

sys.exit(main())
