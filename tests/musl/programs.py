# SPDX-License-Identifier: MIT
"""programs - programs for musl under `plimsoll run`: their stacks, also through code without unwind tables."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims  # noqa: E402
from built import BUILD, PLIMSOLL, RUNTIME, environment  # noqa: E402
from claims import claim  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

PROGRAMS = BUILD / "tests" / "musl"
LIBRARY = PROGRAMS / "libopened.so"

# The program's functions on each stack, by the size of the block.
EXPECTED = {
    17: ["site_strdup", "main"],
    27: ["site_asprintf", "main"],
    16: ["site_variable", "main"],
    1234: ["compare", "site_qsort", "main"],
    777: ["site_thread"],
    778: ["site_thread_c11"],
    4321: ["site_constructor", "begin", "main"],
}


def run(*words, **options):
    command = [PLIMSOLL, "run", *words]
    return subprocess.run(command, capture_output=True, env=environment(), timeout=PATIENCE_S, **options)


def stacks_of(path):
    """The program's functions on each stack, innermost first, by the bytes that it allocated."""
    command = [PLIMSOLL, "export", "--format", "collapsed", path]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout.splitlines()
    ours = {name for names in EXPECTED.values() for name in names}
    rows = (line.rsplit(" ", 1) for line in lines)
    return {int(bytes): [name for name in reversed(names.split(";")) if name in ours] for names, bytes in rows}


def check_stacks(program):
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out.plim"
        done = run("--exact", "-o", out, "--", PROGRAMS / program, LIBRARY)
        assert done.returncode == 3 and not done.stdout, done
        found = stacks_of(out)
        assert {size: found.get(size) for size in EXPECTED} == EXPECTED, found
        report = subprocess.run([PLIMSOLL, "report", out], capture_output=True, text=True, env=environment()).stdout
        assert "truncated" not in report, report


@claim
def stacks_through_libc_are_complete():
    check_stacks("through")


@claim
def stacks_are_complete_in_a_program_without_unwind_tables():
    check_stacks("through_bare")


@claim
def a_tree_of_programs_of_both_c_libraries_is_profiled():
    with tempfile.TemporaryDirectory() as place:
        done = run("-o", Path(place) / "%c.plim", "--", "sh", "-c", f"{PROGRAMS}/through {LIBRARY}; exit 5")
        assert done.returncode == 5 and b"rror" not in done.stderr, done
        assert {"sh.plim", "through.plim"} <= {path.name for path in Path(place).iterdir()}, list(Path(place).iterdir())


@claim
def the_exit_status_is_recorded():
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out.plim"
        run("-o", out, "--", PROGRAMS / "through", LIBRARY)
        report = subprocess.run([PLIMSOLL, "report", out], capture_output=True, text=True, env=environment()).stdout
        assert "exited 3" in report, report


@claim
def the_runtime_needs_no_symbol_that_musl_lacks():
    done = subprocess.run([PROGRAMS / "through", LIBRARY], capture_output=True, timeout=PATIENCE_S,
                          env=environment(LD_PRELOAD=RUNTIME, PLIMSOLL_OFF="1"))
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b""), done


if __name__ == "__main__":
    if not shutil.which("musl-gcc"):
        print("1..0 # SKIP musl-gcc is not installed (Debian: musl-tools)")
        sys.exit(0)
    sys.exit(claims.main())
