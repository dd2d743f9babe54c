# SPDX-License-Identifier: MIT
"""package - the Python package plimsoll: pip installs it from the tree, and its tags have exact figures.

programs/ledger.py keeps a ledger of what it allocates under which tag. The profile must have the same figures.
"""

import base64
import csv
import functools
import hashlib
import json
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import claims  # noqa: E402
from built import PLIMSOLL  # noqa: E402
from claims import Skip, claim, expect, say  # noqa: E402
from pythons import PACKAGE, PROGRAMS, SOURCE, found, other, profiled, run, system  # noqa: E402

GUIDE = SOURCE / "docs/python-package.md"
HEADER = SOURCE / "include/plimsoll.h"
TABLE = "plimsoll/_library.py"


def scratch():
    return tempfile.TemporaryDirectory(prefix="plimsoll-test.", dir="/dev/shm")


# ---- figures ----


def ledger(python, *words, preload=True, **settings):
    """What the program says, and the profile's figures: tag -> scope, summed over threads."""
    with scratch() as place:
        extra = {} if preload else {"preload": None}
        said, profile = profiled(python, place, PROGRAMS / "ledger.py", *words, **extra, **settings)
    scopes = {}
    for scope in (profile or {"scopes": []})["scopes"]:
        figures = scopes.setdefault(profile["tags"][scope["tag"]]["path"], {"aligned": 0, "calls": 0, "bytes": 0})
        figures["aligned"] += scope["functions"]["aligned"]
        figures["calls"] += scope["calls"]
        figures["bytes"] += scope["bytes"]
    return json.loads(said), scopes, profile


def check_calls(python, **settings):
    booked, scopes, profile = ledger(python, **settings)
    assert len(booked) > 15, booked
    without = booked.pop("-")
    named = {tag: figures["aligned"] for tag, figures in scopes.items() if tag in booked}
    expect(f"{tag}: {named.get(tag)} calls in the profile, should be {calls}"
           for tag, (calls, _) in booked.items() if named.get(tag) != calls)
    total = sum(figures["aligned"] for figures in scopes.values())
    assert total == without[0] + sum(calls for calls, _ in booked.values()), (total, scopes)
    lost = {name: count for name, count in profile["losses"].items() if count}
    assert not lost, f"losses {lost}"


def check_bytes(python):
    booked, scopes, _ = ledger(python, "quiet")
    booked.pop("-")
    expect(f"{tag}: {scopes.get(tag)} in the profile, should be {calls} calls and {size} bytes"
           for tag, (calls, size) in booked.items()
           if tag not in scopes or (scopes[tag]["calls"], scopes[tag]["bytes"]) != (calls, size))


for version, path in sorted(found().items()):
    name = f"Python {'.'.join(map(str, version))}"
    claims.add(f"{name}: every tag has exactly its blocks, with threads, generators and coroutines",
               functools.partial(check_calls, path))


@claim
def in_sampled_mode_the_calls_of_every_tag_are_exact():
    check_calls(system(), sample="64K")


@claim
def bytes_of_tags_are_exact():
    check_bytes(system())


@claim
def without_the_profiler_the_program_does_the_same_and_leaves_no_profile():
    booked, scopes, profile = ledger(system(), preload=False)
    assert booked == ledger(system())[0] and profile is None and not scopes


@claim
def without_the_profiler_a_decorator_returns_the_function_itself():
    code = "import plimsoll\ndef f(): pass\nassert plimsoll.tag('x')(f) is f and plimsoll.tagged(f) is f\n" \
           "async def c(): pass\ncoroutine = c()\nassert plimsoll.follow(coroutine) is coroutine; coroutine.close()"
    run(system(), "-c", code)


@claim
def what_no_tag_can_follow_is_refused_with_the_reason():
    code = "import plimsoll\nasync def f():\n yield 1\nplimsoll.tag('x')(f)"
    said = run(system(), "-c", code, status=1).stderr
    assert "TypeError: f is an asynchronous generator, which no tag can follow" in said, said
    said = run(system(), "-c", "import plimsoll; plimsoll.tag(4711)", status=1).stderr
    assert "TypeError: the name of a tag is a str, not int" in said, said


# ---- control ----

CONTROLS = {
    "loaded": True, "active when stopped": False, "active when started": True, "active in a pause": False,
    "tag": [3, 3 * 1008, 0, 3, 3 * 1008, 1], "snapshot": True, "snapshot if due": False, "write": True, "write again": "FileExistsError",
    "write to nowhere": "FileNotFoundError", "negative interval": "ValueError", "interval too large": "OSError",
    "sizes": None, "no sizes": "OSError", "all sizes": None, "stats": [True, 4, True, True], "thread stats": True,
    "pairs": 3,
}
BARE_CONTROLS = {
    **{name: None for name in CONTROLS}, **{name: False for name in CONTROLS if name.startswith("active")},
    "loaded": False, "negative interval": "ValueError", "snapshot": False, "snapshot if due": False, "write": False,
    "write again": False, "write to nowhere": False, "thread stats": False, "pairs": 0,
}


@claim
def every_control_does_what_it_promises():
    with scratch() as place:
        said, _ = profiled(system(), place, PROGRAMS / "controls.py")
        files = sorted(path.name for path in Path(place).glob("*.plim"))
        gpu = json.loads(run(PLIMSOLL, "export", "--heap", "gpu", "--format", "json", Path(place) / "out.plim").stdout)
    told = json.loads(said)
    expect(f"{name}: {told.get(name)!r}, should be {value!r}" for name, value in CONTROLS.items()
           if told.get(name) != value)
    assert files == ["now.plim", "out.plim", "out.warm.plim"], files
    figures = {name: gpu["totals"][name]["value"] for name in ("inuse_space", "alloc_space", "alloc_objects")}
    assert figures == {"inuse_space": 11, "alloc_space": 50 + 70 + 90 + 5 + 11, "alloc_objects": 5}, figures


@claim
def without_the_profiler_every_control_does_nothing():
    with scratch() as place:
        said, profile = profiled(system(), place, PROGRAMS / "controls.py", preload=None)
        assert not list(Path(place).glob("*.plim"))
    told = json.loads(said)
    expect(f"{name}: {told.get(name)!r}, should be {value!r}" for name, value in BARE_CONTROLS.items()
           if told.get(name) != value)


# ---- what the package consists of ----


@claim
def every_function_of_the_header_is_in_the_package():
    functions = re.findall(r"^PLIMSOLL_API [^;(]*?\bplimsoll_(\w+)\(", HEADER.read_text(), re.MULTILINE)
    table = (PACKAGE / TABLE).read_text()
    assert len(functions) > 25, functions
    expect(name for name in functions if f'"{name}"' not in table and f"plimsoll_{name}(" not in table)


@claim
def the_fields_of_the_statistics_are_those_of_the_header():
    body = re.search(r"^struct plimsoll_stats \{(.*?)^\};", HEADER.read_text(), re.MULTILINE | re.DOTALL)[1]
    fields = re.findall(r"^\s*(?:uint64_t|struct plimsoll_bucket) (\w+)", body, re.MULTILINE)
    code = "from plimsoll import _library, Stats\nprint(*[f[0] for f in _library.RawStats._fields_]); print(*Stats._fields)"
    for line in run(system(), "-c", code).stdout.splitlines():
        assert line.split() == fields, line


@claim
def the_code_in_the_guide_runs():
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text() + (PACKAGE / "README.md").read_text(),
                        re.MULTILINE | re.DOTALL)
    ran = 0
    with scratch() as place:
        for block in blocks:
            if "import pytest" in block:  # the tests of the plugin have those
                continue
            (Path(place) / "now.plim").unlink(missing_ok=True)
            profiled(system(), place, "-c", block)
            ran += 1
    assert ran >= 5, blocks


# ---- installing ----


def backend(python, place, function):
    """The name of the archive that a function of the backend writes into a directory."""
    code = f"import backend; print(backend.{function}({str(place)!r}))"
    return run(python, "-c", code, where=PACKAGE).stdout.strip()


@claim
def the_wheel_lists_its_files_and_is_the_same_each_time():
    with scratch() as one, scratch() as two:
        wheel = Path(one) / backend(system(), one, "build_wheel")
        again = Path(two) / backend(other(), two, "build_wheel") if len(found()) > 1 else wheel
        assert wheel.name == again.name and wheel.read_bytes() == again.read_bytes()
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            (record,) = [name for name in names if name.endswith("/RECORD")]
            rows = list(csv.reader(archive.read(record).decode().splitlines()))
            assert [row[0] for row in rows] == names and "plimsoll/py.typed" in names, rows
            for path, digest, size in rows[:-1]:
                data = archive.read(path)
                hashed = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={hashed}", str(len(data))), path
        modules = {f"plimsoll/{path.name}" for path in (PACKAGE / "plimsoll").glob("*.py")}
        assert modules <= set(names), modules - set(names)


@claim
def the_backend_reads_pyproject_as_tomllib_does():
    code = ("import backend, tomllib; whole = tomllib.load(open('pyproject.toml', 'rb')); read = backend.project()\n"
            "project = dict(whole['project']); points = project.pop('entry-points')\n"
            "assert read['build-system'] == whole['build-system'] and read['project'] == project, read\n"
            "assert read['project.entry-points.pytest11'] == points['pytest11'] and len(points) == 1, read")
    python = next((path for version, path in found().items() if version >= (3, 11)), None)
    if not python:
        raise Skip("there is no Python with tomllib")
    run(python, "-c", code, where=PACKAGE)


def environment_of(python, place):
    """The Python of a new virtual environment. Its pip is that of the interpreter: it is not copied."""
    if run(python, "-c", "import venv, pip", status=None).returncode:
        raise Skip(f"{python} has no venv or no pip (python3-venv, python3-pip)")
    run(python, "-m", "venv", "--system-site-packages", "--without-pip", place / "venv")
    return place / "venv/bin/python"


def installs(python, *options):
    with scratch() as name:
        inner = environment_of(python, Path(name))
        before = sorted(path for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts)
        run(inner, "-m", "pip", "install", "--quiet", *options, PACKAGE, PYTHONPATH=None)
        assert sorted(path for path in PACKAGE.rglob("*") if "__pycache__" not in path.parts) == before
        version = (SOURCE / "VERSION").read_text().strip()
        shown = run(inner, "-m", "pip", "show", "plimsoll", PYTHONPATH=None).stdout
        assert f"Version: {version}\n" in shown, shown
        points = "from importlib.metadata import entry_points as e; print(e()['pytest11'] if isinstance(e(), dict) " \
                 "else e(group='pytest11'))"
        assert "plimsoll.pytest_plugin" in run(inner, "-c", points, PYTHONPATH=None).stdout
        said, profile = profiled(inner, name, PROGRAMS / "ledger.py", PYTHONPATH=None)
        assert json.loads(said)["load"][0] == 11
        assert any(tag["path"] == "load/parse" for tag in profile["tags"]), profile["tags"]


@claim
def pip_installs_the_package_from_the_tree_for_the_systems_python():
    installs(system())


@claim
def pip_installs_the_package_for_another_python():
    say(other())
    installs(other())


@claim
def pip_installs_it_without_build_isolation_and_in_place():
    installs(system(), "--no-build-isolation", "--editable")


@claim
def pip_installs_the_source_distribution():
    with scratch() as place, scratch() as other_place:
        archive = Path(place) / backend(system(), place, "build_sdist")
        shutil.unpack_archive(archive, other_place)
        (folder,) = Path(other_place).iterdir()
        with scratch() as one, scratch() as two:
            built = run(system(), "-c", f"import backend; print(backend.build_wheel({one!r}))", where=folder,
                        PYTHONPATH=None).stdout.strip()
            assert (Path(one) / built).read_bytes() == (Path(two) / backend(system(), two, "build_wheel")).read_bytes()


if __name__ == "__main__":
    sys.exit(claims.main())
