# SPDX-License-Identifier: MIT
"""objects - `run --python-objects`: the objects in CPython's arenas are blocks of heap `python`, each counted once.

programs/objects.py makes known numbers of objects of known sizes: the profile must have these.
"""

import functools
import json
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import claims  # noqa: E402
from built import PLIMSOLL  # noqa: E402
from claims import Skip, claim, expect  # noqa: E402
from pythons import PROGRAMS, found, run, system  # noqa: E402

COUNT = 5000
HEAD = 33  # a bytes object has so many bytes more than its contents
OBJECTS = {"kept": 200, "gone": 300, "thread": 100}


class Profile:
    """The JSON of one heap of a profile: tag -> size of its blocks -> calls and live blocks."""

    def __init__(self, path, heap):
        self.json = json.loads(run(PLIMSOLL, "export", "--heap", heap, "--format", "json", path).stdout)
        self.tags = {}
        for site in self.json["sites"]:
            tag = self.json["tags"][site["tag"]]["path"]
            calls, size = (site[name]["value"] for name in ("alloc_objects", "alloc_space"))
            known = self.tags.setdefault(tag, {"calls": 0, "bytes": 0, "live": 0, "live_bytes": 0, "sites": []})
            known["calls"] += calls
            known["bytes"] += size
            known["live"] += site["inuse_objects"]["value"]
            known["live_bytes"] += site["inuse_space"]["value"]
            known["sites"].append((calls, size))

    def totals(self, name):
        return self.json["totals"][name]


class Run:
    def __init__(self, python, *words, options=("--exact", "--off"), status=0, **settings):
        with tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm") as name:
            place = Path(name)
            (place / "live").mkdir()
            command = [PLIMSOLL, "run", "-q", "--python-objects", *options, "-o", "out.plim", "--", python,
                       PROGRAMS / "objects.py", COUNT, *words]
            run(*command, where=place, status=status, PLIMSOLL_LIVE_DIR=place / "live", PYTHONHASHSEED=0, **settings)
            self.report = run(PLIMSOLL, "report", "out.plim", where=place).stdout
            self.malloc = Profile(place / "out.plim", "malloc")
            self.has_objects = "heap python" in self.report
            self.python = Profile(place / "out.plim", "python") if self.has_objects else None
            self.now = Profile(place / "now.plim", "python") if self.has_objects else None
            self.now_report = run(PLIMSOLL, "report", "now.plim", where=place).stdout
            # Helpers of multiprocessing leave a profile, too, if they live long enough, and record nothing.
            self.children = [Profile(path, "python") for path in sorted(place.glob("out.plim.*"))
                             if "heap python" in run(PLIMSOLL, "report", path).stdout]


@functools.lru_cache(maxsize=None)
def counted(python):
    return Run(python)


@functools.lru_cache(maxsize=None)
def sampled(interval):
    return Run(system(), options=("--seed", "7", *(() if interval == "512K" else ("--sample", interval))))


def of_size(profile, tag, size):
    """How many objects of this size were made under the tag, at sites that make no others."""
    return sum(calls for calls, total in profile.tags.get(tag, {"sites": []})["sites"] if total == calls * (size + HEAD))


def check(python):
    """Each object is there, with its size, its tag and its thread, and those that are gone are freed."""
    seen = counted(python)
    expect(f"{tag}: {of_size(seen.now, tag, size)} objects, should be {COUNT}" for tag, size in OBJECTS.items()
           if of_size(seen.now, tag, size) != COUNT)
    live = {tag: seen.now.tags[tag]["live_bytes"] for tag in OBJECTS}
    assert live["kept"] == COUNT * (200 + HEAD) and live["gone"] == 0 and live["thread"] == 0, live
    assert of_size(seen.python, "large", 1000) == 0 and of_size(seen.malloc, "large", 1000) == COUNT, "in both heaps"
    assert not any(of_size(seen.malloc, tag, size) for tag, size in OBJECTS.items()), "in both heaps"
    losses = {name: count for name, count in seen.python.json["losses"].items() if count}
    assert not losses, losses


for version, path in sorted(found().items()):
    claims.add(f"Python {'.'.join(map(str, version))}: each object is a block of its heap, and of no other",
               functools.partial(check, path))


@claim
def the_arenas_are_the_chunks_of_the_heap():
    text = " ".join(sampled("8K").now_report.split())
    match = re.search(r"heap python, not included: (\S+) MiB (?:± \S+ \S+ )?live in .*?; in chunks of (\S+) MiB", text)
    assert match, text[:1000]
    live, chunks = map(float, match.groups())
    assert 1.0 < live < chunks < 3 * live + 4, (live, chunks)


@claim
def without_the_option_there_is_no_such_heap():
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm") as name:
        run(PLIMSOLL, "run", "-q", "--exact", "-o", "out.plim", "--", system(), PROGRAMS / "objects.py", COUNT, where=name,
            PLIMSOLL_LIVE_DIR=name)
        assert "heap python" not in run(PLIMSOLL, "report", "out.plim", where=name).stdout


@claim
def by_default_everything_is_sampled():
    seen = sampled("512K").malloc.json["sampling"]
    assert seen["mode"] == "sampled" and seen["interval_bytes"] == 512 << 10, seen


@claim
def sampled_figures_are_right_and_have_an_error():
    (site,) = [site for site in sampled("8K").python.json["sites"] if site["alloc_space"]["value"] > 5e5
               and site["tag"] == [tag["path"] for tag in sampled("8K").python.json["tags"]].index("kept")]
    made = site["alloc_objects"]
    assert made["error"] > 0 and abs(made["value"] - COUNT) < 2 * made["error"], made  # nearly 4 standard deviations


for word in ("malloc", "debug"):

    def check_replaced(word=word):
        seen = Run(system(), PYTHONMALLOC=word)
        assert not seen.has_objects, seen.report
        if word == "malloc":
            assert of_size(seen.malloc, "kept", 200) == COUNT, seen.malloc.tags

    claims.add(f"with PYTHONMALLOC={word} Python has no arenas, and no heap", check_replaced)


@claim
def children_by_fork_have_their_own_objects():
    seen = Run(system(), "fork")
    (child,) = [profile for profile in seen.children if "child" in profile.tags]
    assert of_size(child, "child", 200) == COUNT and "kept" not in child.tags, child.tags
    assert of_size(seen.python, "kept", 200) == COUNT


@claim
def children_by_spawn_have_their_own_objects():
    seen = Run(system(), "spawn")
    (child,) = [profile for profile in seen.children if "child" in profile.tags]
    assert of_size(child, "child", 200) == COUNT, child.tags


@claim
def subinterpreters_are_seen():
    python = next((path for path in found().values() if run(path, "-c", "import _testcapi", status=None).returncode == 0),
                  None)
    if not python:
        raise Skip("no Python has its test modules")
    seen = Run(python, "subinterpreter")
    assert sum(calls for tag in seen.python.tags.values() for calls, total in tag["sites"]
               if total == calls * (200 + HEAD)) >= COUNT + 10000


@claim
def programs_without_python_are_left_alone():
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm") as name:
        run(PLIMSOLL, "run", "-q", "--python-objects", "-o", "out.plim", "--", "ls", "/", where=name, PLIMSOLL_LIVE_DIR=name)
        assert "heap python" not in run(PLIMSOLL, "report", "out.plim", where=name).stdout


if __name__ == "__main__":
    sys.exit(claims.main())
