# SPDX-License-Identifier: MIT
"""frames - stacks of Python programs are what Python itself says they are, for each version that is here."""

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import claims  # noqa: E402
from built import BUILD  # noqa: E402
from claims import Skip, claim  # noqa: E402
from interpreters import DEBIAN, VERSIONS, ask, interpreters, missing, name_of, run  # noqa: E402
from pagedata import load  # noqa: E402
from told import KNOWN, differences, stacks_in, told  # noqa: E402

PARTS = BUILD / "tests" / "python"
MODES = {"exact": ["--exact"], "sampled": ["--sample", "1"]}


def stacks_of(profile, *options):
    return stacks_in(json.loads(ask("export", "--format", "json", *options, profile)))


def compare(mode, *command, least=50):
    """The program's own stacks with those in its profiles."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        output, profiles = run(place, MODES[mode], *command)
        found = {}
        for profile in profiles:
            for size, stacks in stacks_of(profile, "--python").items():
                found.setdefault(size, []).extend(stacks)
    wanted = told(output)
    assert len(wanted) > least, wanted
    claims.expect(differences(wanted, found))


def agrees(python, mode):
    compare(mode, python, KNOWN, "fork")


def survives(python, mode):
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        output, profiles = run(place, MODES[mode], python, HERE / "hostile.py", PARTS / "libhostile.so")
        assert output == "survived\n", output
        ask("report", *profiles)


def interleaves(python):
    """compare() is called by qsort(), that by from_c(): C's frames are between Python's, and the interpreter's are
    not shown."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        _, profiles = run(place, MODES["exact"], python, KNOWN)
        usual = [stack for stacks in stacks_of(*profiles).values() for stack in stacks]
        native = [stack for stacks in stacks_of(*profiles, "--native").values() for stack in stacks]
        ask("export", "--format", "page", "-o", Path(place) / "page", *profiles)
        page = load(Path(place) / "page")
    names = [[function for function, _, _ in stack] for stack in usual]
    called = [stack for stack in names if any(name.endswith("compare") for name in stack) and "from_c" in stack]
    assert called, names
    for stack in called:
        compare = next(i for i, name in enumerate(stack) if name.endswith("compare"))
        between = stack[compare + 1 : stack.index("from_c")]
        assert any("qsort" in name for name in between), stack
        assert not any(name.startswith(("_PyEval", "PyObject_")) for name in stack), stack
    assert any("_PyEval_EvalFrameDefault" in name for stack in native for name, _, _ in stack)
    assert not any(name == "from_c" for stack in native for name, _, _ in stack)
    assert page.languages("from_c") == {"Python"} and page.languages("ffi_call") == {"native"}, page.texts()


SPREAD = KNOWN.parent / "spread.py"


def agrees_as_module(python):
    compare("exact", "env", f"PYTHONPATH={KNOWN.parent}", python, "-m", "known")


def agrees_in_venv(python):
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        made = subprocess.run([python, "-m", "venv", "--without-pip", place], capture_output=True, text=True)
        if made.returncode:
            raise Skip(f"{python} has no venv: {made.stderr}")
        compare("exact", Path(place) / "bin" / "python3", KNOWN)


def agrees_elsewhere(python, how):
    compare("exact", python, SPREAD, how, least=5)


SPREADS = {
    **{f"in a child of multiprocessing ({how})": functools.partial(agrees_elsewhere, how=how)
       for how in ("fork", "spawn")},
    "in a subinterpreter": functools.partial(agrees_elsewhere, how="subinterpreter"),
}  # fmt: skip
# The same in each version.
WAYS = {"run as a module": agrees_as_module, "in a virtual environment": agrees_in_venv, **SPREADS}

here = interpreters()
for version in VERSIONS:
    if version not in {found for _, found in here}:
        claims.add(f"Python {name_of(version)}: stacks are those that Python says",
                   functools.partial(missing, name_of(version)))  # fmt: skip
for python, version in here:
    name = f"{name_of(version)} ({python})"
    for mode in MODES:
        claims.add(f"Python {name}, {mode}: each stack is the one that Python says, with its lines",
                   functools.partial(agrees, python, mode))  # fmt: skip
        claims.add(f"Python {name}, {mode}: a program that writes nonsense into the interpreter runs on",
                   functools.partial(survives, python, mode))  # fmt: skip
    for way, agree in WAYS.items() if python == DEBIAN else SPREADS.items():
        claims.add(f"Python {name}, {way}: each stack is the one that Python says", functools.partial(agree, python))
    claims.add(f"Python {name}: native and Python frames are in the order of the calls",
               functools.partial(interleaves, python))  # fmt: skip


@claim
def a_merged_profile_keeps_python_frames():
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        output, profiles = run(place, MODES["exact"], DEBIAN, KNOWN, "fork")
        assert len(profiles) == 3, profiles
        merged = Path(place) / "merged.plim"
        ask("merge", "--output", merged, *profiles)
        found = stacks_of(merged, "--python")
    wanted = told(output)
    claims.expect(differences(wanted, found))


@claim
def formats_have_file_and_line():
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        _, profiles = run(place, MODES["exact"], DEBIAN, KNOWN)
        speedscope = json.loads(ask("export", "--format", "speedscope", *profiles))
        collapsed = ask("export", "--format", "collapsed", "--python", *profiles)
    frames = {(f["name"], f.get("file"), f.get("line")) for f in speedscope["shared"]["frames"]}
    first = KNOWN.read_text(encoding="utf-8").splitlines().index("    libc.malloc(next_size(sys._getframe()))") + 1
    assert ("alloc", str(KNOWN), first) in frames, sorted(map(str, frames))[:40]
    assert any(";everything;recursive;recursive;" in line for line in collapsed.splitlines()), collapsed[:2000]


@claim
def an_unknown_interpreter_is_named_in_one_line():
    with tempfile.TemporaryDirectory(prefix="plimsoll-test.") as place:
        _, profiles = run(place, MODES["exact"], PARTS / "stranger")
        report = ask("report", *profiles)
    lines = [line for line in report.splitlines() if "Python 4.0" in line]
    assert len(lines) == 1 and "native frames" in lines[0], report


sys.exit(claims.main())
