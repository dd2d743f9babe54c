# SPDX-License-Identifier: MIT
"""browser_profiles - makes the profiles for the tests in a browser, and an HTML report of each.

make() writes all of them into a directory and returns a plan for run.mjs:

    {"plimsoll": PATH, "grow": PATH, "profiles": {NAME: {"profile": PATH, "report": PATH}}}

A report of two profiles also has "base", the first of them.
"""

import subprocess
from pathlib import Path

from built import BUILD, PLIMSOLL, SOURCE, environment
from patience import PATIENCE_S, await_true

SHAPES = BUILD / "tests/export/shapes"
FORGE = BUILD / "tests/reader/forge"
EXACT = ["--exact"]

# name -> options of `plimsoll run`, and the program that is profiled.
RECORDED = {
    "leaky": (EXACT, [BUILD / "examples/leaky/indexer", "--rounds", "3", SOURCE / "docs"]),
    "server": (EXACT, [BUILD / "examples/server/server", "4", "100"]),
    "phases": (EXACT, [BUILD / "tests/export/phases"]),
    "shapes": (EXACT, [SHAPES]),
    "before": (EXACT, [SHAPES, "before"]),
    "after": (EXACT, [SHAPES, "after"]),
    "sampled": (["--sample=2K", "--seed=5"], [SHAPES]),
}
# name -> scenario of tests/reader/forge.
FORGED = {
    "empty": "empty",
    "losses": "losses",
    "tags sampled": "tags-sampled",
    "auto": "auto",
    "exact": "exact",
    "pools": "pools",
}
LARGE = ("100000", "60000", "/opt/example/bin/example", "0123456789abcdef", "0x1000", "0x4000000")
DIFFERENCES = {"difference": ("before", "after")}
OPTIONS = {"hostile": ["--names=none"]}

WHOLE = environment(MALLOC_PERTURB_="")  # with it, malloc touches all of each block

HOSTILE_LINES = """#include <b>bold</b>
void *quoted = malloc(10); // </script><script>window.hacked=20</script>
"><img src=/hacked onerror=window.hacked=21> {{7*7}} ${7*7}
""" + "x" * 3000 + "\n"


def run(directory, *command):
    done = subprocess.run([str(word) for word in command], capture_output=True, env=environment(), cwd=directory,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, f"{' '.join(map(str, command))}: status {done.returncode}: {said}"


def record_held(directory):
    """What holds the heap is known only of a running process."""
    command = [PLIMSOLL, "run", *EXACT, "-q", "-o", "held.part", "--", BUILD / "tests/reach/holds"]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env=environment(), cwd=directory)
    while process.stdout.readline() not in (b"ready\n", b""):
        pass
    holder = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
    run(directory, PLIMSOLL, "retained", holder, "-o", "held.plim")
    process.communicate()


def record_memory(directory):
    """Readings of the kernel's, taken while a program runs: three at least."""
    options = [*EXACT, "-q", "--memory=10ms", "--resident=10ms", "--live-dir", "."]
    command = [PLIMSOLL, "run", *options, "-o", "memory.plim", "--", BUILD / "tests/footprint/holds", "held.bin"]
    process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               env=WHOLE, cwd=directory)
    await_true(lambda: any(file.stat().st_size >= 3 * 4096 for file in directory.glob("plimsoll-run.*/.look-*.resident")))
    process.communicate()
    assert process.returncode == 0


def record(directory):
    """Every profile, by its name."""
    record_held(directory)
    record_memory(directory)
    for name, (options, program) in RECORDED.items():
        run(directory, PLIMSOLL, "run", *options, "-o", f"{name}.plim", "--", *program)
    for name, scenario in FORGED.items():
        run(directory, FORGE, scenario, f"{name}.plim")
    run(directory, BUILD / "tests/export/large", "large.plim", *LARGE)
    (directory / "lines.c").write_text(HOSTILE_LINES)
    run(directory, BUILD / "tests/lib/hostile", "attacks", "hostile.plim", directory / "lines.c")
    return {path.stem: {"profile": path} for path in directory.glob("*.plim")}


def make(directory):
    directory = Path(directory)
    profiles = record(directory)
    for name, (base, profile) in DIFFERENCES.items():
        profiles[name] = {"profile": profiles[profile]["profile"], "base": profiles[base]["profile"]}
    for name, each in profiles.items():
        each["report"] = directory / f"{name}.html"
        files = [each[key] for key in ("base", "profile") if key in each]
        run(directory, PLIMSOLL, "html", *OPTIONS.get(name, []), "-o", each["report"], *files)
    return {"plimsoll": PLIMSOLL, "grow": BUILD / "tests/page/grow", "directory": directory, "profiles": profiles}
