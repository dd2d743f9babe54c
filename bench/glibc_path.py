# SPDX-License-Identifier: MIT
"""glibc_path - prints the instructions that the profiler adds to glibc's malloc and free: `tools/hot --glibc`.

It prints the instructions that callgrind saw being executed, for blocks from the thread's cache, with the profiler on
and nothing sampled. It does not interpret branches. The same glibc without the profiler is the reference. Which of two
equal instructions is the added one is a guess. Their number is exact.
"""

import difflib
import re
import shutil
import tempfile
from pathlib import Path

from callgrind import COUNT, account_of_calls, executed_code
from glibc import FREE_MORE_MAX, MALLOC_MORE_MAX, RARE, check_builds, loader_of, profiling
from measure import Broken

BYTES = 48
LIMITS = {"malloc": ("take_malloc", MALLOC_MORE_MAX), "free": ("give", FREE_MORE_MAX)}


def shape(step):
    """What makes instructions of two builds equal: neither their registers nor addresses count."""
    return step.mnemonic, re.sub(r"%[a-z0-9]+", "R", re.sub(r"<.*?>|#.*|\b(0x)?[0-9a-f]+\b", "", step.operands))


def compare(plain, patched):
    """(mark, step) of the patched path, including steps of the plain path that it lacks."""
    matcher = difflib.SequenceMatcher(None, [shape(step) for step in plain], [shape(step) for step in patched],
                                      autojunk=False)
    for what, a, b, c, d in matcher.get_opcodes():
        if what in ("delete", "replace"):
            yield from (("-", step) for step in plain[a:b])
        if what != "delete":
            yield from ((" " if what == "equal" else "+", step) for step in patched[c:d])


def show_path(plain, patched):
    function, number = None, 0
    for mark, step in compare(plain, patched):
        if step.function != function and mark != "-":
            function = step.function
            print(f"      {function}:")
        number += mark != "-"
        print(f"{mark} {'' if mark == '-' else number:>3}  {step}")
    print()


def check_tools(build, calls):
    if not calls.exists():
        raise Broken(f"{calls} is missing: ninja -C {build} bench/calls builds it")
    if not shutil.which("valgrind"):
        raise Broken("valgrind is missing: tools/setup check installs it")


def account(calls, directory, variables, scratch):
    return account_of_calls(calls, loader_of(directory), "malloc", BYTES, variables=variables, directory=scratch)


def show_added(build, patched, plain):
    """Prints both paths. True if neither exceeds its limit."""
    good = True
    with tempfile.TemporaryDirectory(prefix="plimsoll-hot-") as name:
        scratch = Path(name)
        calls = build.resolve() / "bench/calls"
        check_tools(build, calls)
        check_builds(calls, patched.resolve(), plain.resolve(), scratch)
        ours = account(calls, patched.resolve(), profiling(scratch, RARE), scratch)
        theirs = account(calls, plain.resolve(), {}, scratch)
        for function, (caller, limit) in LIMITS.items():
            before, after = (one.cost_of_calls(caller) / COUNT for one in (theirs, ours))
            print(f"{function}: {after:g} instructions when nothing is sampled, {before:g} without the profiler: "
                  f"{after - before:+g} (at most +{limit})")
            show_path(executed_code(theirs, caller), executed_code(ours, caller))
            good = good and after - before <= limit
    return good
