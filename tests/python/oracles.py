# SPDX-License-Identifier: MIT
"""oracles - tracemalloc and memray see the same programs: what both count must be the same.

tracemalloc belongs to Python and counts what its allocators hand out, small objects and large ones. memray counts calls
of malloc, also those of C libraries. Both know the line of Python that asked. mixed.py runs alone under Plimsoll, in
exact mode with --python-objects, and once more under each of them.

memray is looked for beside the command `memray`; PLIMSOLL_TEST_MEMRAY names another Python that has it.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import claims  # noqa: E402
from built import environment  # noqa: E402
from claims import Skip, claim, expect  # noqa: E402
from interpreters import ask, interpreters, name_of, run  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

MIXED = HERE / "mixed.py"
SOURCE = MIXED.read_text().splitlines()
LARGEST_OBJECT = 512
# Python keeps some freed tuples, lists and floats for reuse: which line gets one of those depends on what ran before.
REUSED = 1024
REUSED_PART = 0.005
TOP = 8

UNDER_MEMRAY = f"""
import json, sys, memray, runpy
sys.argv[:] = [{str(MIXED)!r}, "memray"]
with memray.Tracker("out.bin", native_traces=True):
    runpy.run_path({str(MIXED)!r}, run_name="__main__")
found = []
for record in memray.FileReader("out.bin").get_leaked_allocation_records(merge_threads=True):
    if record.allocator not in (memray.AllocatorType.MMAP, memray.AllocatorType.MUNMAP):
        python = record.stack_trace()
        found.append([python[0] if python else None, record.size])
print(json.dumps(found))
"""


def line_of(text):
    [number] = [number for number, line in enumerate(SOURCE, 1) if line.strip() == text]
    return number


def by_line(profile, heap):
    """Live bytes at the end, by the line of mixed.py that asked for them."""
    exported = json.loads(ask("export", "--python", "--heap", heap, "--format", "json", profile))
    found = Counter()
    for site in exported["sites"]:
        stack = exported["stacks"][site["stack"]]
        frame = exported["frames"][stack[0]] if stack else {"file": ""}
        if frame["file"].endswith(MIXED.name) and site["inuse_space"]["value"]:
            found[frame["line"]] += site["inuse_space"]["value"]
    return found


@functools.lru_cache(maxsize=None)
def ours(python):
    """(of small objects, of malloc)"""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        _, [profile] = run(place, ["--exact", "--python-objects"], python, MIXED)
        return by_line(profile, "python"), by_line(profile, "malloc")


def ask_python(python, *words, where):
    done = subprocess.run([python, *words], cwd=where, env={**environment(), "PYTHONHASHSEED": "0"},
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differ(wanted, found, lines):
    return [f"line {line} ({SOURCE[line - 1].strip()}): {found[line]} bytes, should be {wanted[line]}" for line in lines
            if abs(wanted[line] - found[line]) > max(REUSED, REUSED_PART * wanted[line])]


def top(counts):
    return [line for line, _ in counts.most_common(TOP)]


def agrees_with_tracemalloc(python):
    small, large = ours(python)
    traced, objects = Counter(), Counter()
    for line, size, blocks in ask_python(python, "-X", "tracemalloc=1", MIXED, "traced", where=HERE):
        traced[line] += size * blocks
        if size <= LARGEST_OBJECT:
            objects[line] += size * blocks
    all_ours = small + large
    by_c = {line_of(f"libc.{call}") for call in ("malloc(3000 + number)", "calloc(10, 1000)")}
    python_only = Counter({line: size for line, size in all_ours.items() if line not in by_c})
    assert top(python_only)[:5] == top(traced)[:5], (top(python_only), top(traced))
    expect(differ(traced, all_ours, set(top(traced)) | set(top(python_only))))
    # Each in the right heap; no free list has large texts, so they are the same to the byte.
    data, text = line_of("self.data = bytes(100 + number % 50)"), line_of("kept.append(bytes(5000 + number))")
    expect(differ(objects, small, {data}))
    assert objects[data] > 400_000 and not large[data], (objects[data], large[data])
    assert large[text] == traced[text] > 0 and not small[text], (large[text], traced[text])
    assert all(large[line] > 300_000 and traced[line] < REUSED for line in by_c), (large, traced)  # only we see it


for python, version in interpreters():
    if "t" not in version[2:]:  # without a GIL there are no arenas
        claims.add(f"Python {name_of(version)} ({python}): the same lines and bytes as tracemalloc",
                   functools.partial(agrees_with_tracemalloc, python))  # fmt: skip


def find_memray():
    command = shutil.which("memray")
    for python in (os.environ.get("PLIMSOLL_TEST_MEMRAY"), command and str(Path(command).parent / "python3")):
        if python and subprocess.run([python, "-c", "import memray"], capture_output=True).returncode == 0:
            return python
    raise Skip("memray is not installed: PLIMSOLL_TEST_MEMRAY=/path/to/python3 names a Python that has it")


@claim
def the_same_lines_and_bytes_as_memray_with_native_frames():
    python = find_memray()
    _, large = ours(python)
    seen = Counter()
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        for frame, size in ask_python(python, "-c", UNDER_MEMRAY, where=place):
            if frame and frame[1].endswith(MIXED.name):
                seen[frame[2]] += size
    by_c = line_of("libc.calloc(10, 1000)")  # memray 1.20 does not see a calloc() that ctypes has looked up
    assert large[by_c] == 1_000_000, large[by_c]
    comparable = Counter({line: size for line, size in large.items() if line != by_c or seen[by_c]})
    assert top(seen)[:5] == top(comparable)[:5], (seen, comparable)
    expect(differ(seen, comparable, set(top(seen)) | set(top(comparable))))


if __name__ == "__main__":
    sys.exit(claims.main())
