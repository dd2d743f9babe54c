# SPDX-License-Identifier: MIT
"""compare - what is lost at exit is what memcheck and LeakSanitizer say: on kinds.cpp, and on programs of the system.

  memcheck          here
  definitely lost   lost
  indirectly lost   lost with others
  possibly lost     probably held: only by pointers to the middle of a block

LeakSanitizer takes such blocks for reachable, as we do, and does not tell what is lost from what is lost with others.

For programs, memcheck must not call __libc_freeres() before it looks: what only glibc's own memory points to, such as an
environment that setenv() has moved, would then be lost. For kinds it must: they lose nothing of glibc's, and memcheck
takes the thread-local storage that glibc keeps of ended threads for possibly lost.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from looking import BUILD, PLIMSOLL

import claims
from claims import claim

KINDS = BUILD / "tests" / "reach" / "kinds"
WITH_LSAN = BUILD / "tests" / "reach" / "kinds-lsan"
VALGRIND = shutil.which("valgrind")
WHOLE = r"([\d,]+) B in ([\d,]+) blocks?"

# Programs that are everywhere, and end soon. What they lose differs between versions: memcheck knows.
SYSTEM = [
    ["cat", "/etc/passwd"], ["sort", "-r", "/etc/passwd"], ["tar", "cf", "/dev/null", "/etc/passwd"],
    ["perl", "-e", "1"], ["bash", "-c", ":"], ["awk", "1", "/etc/passwd"], ["sqlite3", ":memory:", "select 1"],
    ["git", "--version"], ["as", "-o", "/dev/null", "/dev/null"], ["gzip", "-c", "/etc/passwd"],
    ["postgres", "--version"], ["python3", "-c", "1"], ["redis-server", "--version"], ["nginx", "-v"],
    ["node", "--version"],
]


def run(*words):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("PLIMSOLL_", "MALLOC_PERTURB_", "LC_"))}
    # Not LC_ALL: postgres removes it, and a stale pointer to it stays where our own frames are when the process ends.
    return subprocess.run([str(word) for word in words], env=environment | {"LANG": "C", "COLUMNS": "400"},
                          capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL)


def number(text):
    return int(text.replace(",", ""))


def memcheck(*words, freeing="yes"):
    """Blocks and bytes: definitely lost, indirectly lost, possibly lost."""
    with tempfile.NamedTemporaryFile(prefix="plimsoll-memcheck.") as log:
        run(VALGRIND, f"--log-file={log.name}", "--leak-check=full", "--leak-check-heuristics=none",
            f"--run-libc-freeres={freeing}", f"--run-cxx-freeres={freeing}", *words)
        text = Path(log.name).read_text(errors="replace")
    found = []
    for kind in ("definitely", "indirectly", "possibly"):
        line = re.search(rf"{kind} lost: ([\d,]+) bytes in ([\d,]+) blocks", text)
        found.append((number(line[2]), number(line[1])) if line else (0, 0))
    return found


def ours(*words):
    with tempfile.TemporaryDirectory(prefix="plimsoll-compare.") as place:
        path = Path(place) / "out.plim"
        done = run(PLIMSOLL, "run", "--exact", "--leaks", "--no-symbols", "-q", "-o", path, "--", *words)
        text = run(PLIMSOLL, "leaks", "--all-digits", "--no-symbols", path).stdout
        assert "pointers were followed" in text, done.stderr + text
    amounts = []
    for pattern in (rf"^lost: {WHOLE}", rf"and {WHOLE} that only lost", rf"^probably held: {WHOLE}"):
        line = re.search(pattern, text, re.MULTILINE)
        amounts.append((number(line[2]), number(line[1])) if line else (0, 0))
    return amounts


def agree_with_memcheck(*words):
    theirs, mine = memcheck(*words, freeing="no"), ours(*words)
    assert mine[:2] == theirs[:2], f"lost, lost with others: {mine} here; {theirs} in memcheck"


def simplify(name, amounts):
    """Leaves out in what the tools are known to differ."""
    lost, along, inner = amounts
    if name == "list_into_ring":  # of a ring behind a list, memcheck takes another block for a second owner
        lost, along = tuple(map(sum, zip(lost, along))), (0, 0)
    if name == "held_by_other_thread":  # memcheck does not know who keeps the vector of thread-local storage
        inner = (0, 0)
    return [lost, along, inner]


def agree_about_kind(name, blocks, size):
    mine = ours(KINDS, name)
    lost = tuple(map(sum, zip(mine[0], mine[1])))
    assert lost == (blocks, size), f"{lost} are lost, not {(blocks, size)}"
    if VALGRIND:
        theirs = memcheck(KINDS, name)
        assert simplify(name, mine) == simplify(name, theirs), f"{mine} here, {theirs} in memcheck"
    if name == "held_by_mapping":  # LeakSanitizer does not look for pointers in mappings
        return
    if not WITH_LSAN.exists():
        return
    done = run(WITH_LSAN, name)
    if "LeakSanitizer has encountered a fatal error" not in done.stderr:
        line = re.search(r"LeakSanitizer: (\d+) byte\(s\) leaked in (\d+) allocation", done.stderr)
        theirs = (int(line[2]), int(line[1])) if line else (0, 0)
        assert theirs == (blocks, size), f"{theirs} in LeakSanitizer, {lost} here"


for row in run(KINDS).stdout.splitlines():
    kind, count, size_of_all = row.split()
    claims.add(f"{kind} is judged as in memcheck and LeakSanitizer",
               functools.partial(agree_about_kind, kind, int(count), int(size_of_all)))
for program in SYSTEM if VALGRIND else []:
    if shutil.which(program[0]):
        claims.add(f"{' '.join(program)} loses what memcheck says", functools.partial(agree_with_memcheck, *program))


@claim
def there_are_at_least_25_kinds():
    assert len(run(KINDS).stdout.splitlines()) >= 25


if __name__ == "__main__":
    sys.exit(claims.main())
