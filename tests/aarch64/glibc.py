# SPDX-License-Identifier: MIT
"""glibc - the front end inside glibc, built for AArch64: `make glibc ARCH=aarch64`, or PLIMSOLL_GLIBC.

Programs run in it by its loader, in the emulator. Its other tests (tests/glibc) run on an arm64 system.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
import claims  # noqa: E402
import plim  # noqa: E402
from built import BUILD, EMULATOR, PLIMSOLL, RUNTIME, SOURCE, SYSROOT, SYSTEM_LOADER, environment, runnable  # noqa: E402
from claims import claim  # noqa: E402
from patience import PATIENCE_S  # noqa: E402

GLIBC = Path(os.environ.get("PLIMSOLL_GLIBC") or SOURCE / "build-aarch64" / "glibc")
LIBRARIES = GLIBC / "lib"
QUIET = BUILD / "tests" / "traps" / "quiet"
CALLS, BYTES = 1000, 100  # of quiet's own function
ADDED = 6  # instructions: what malloc_prof_charge() becomes


def run(command, preload=None, **variables):
    words, variables = runnable(command, environment(LD_PRELOAD=preload, **variables))
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, cwd=QUIET.parent)
    assert done.returncode == 0 and not done.stderr, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stdout


def inside(program, place, **settings):
    """Runs a program as the documents say, and returns its profile."""
    libraries = f"{LIBRARIES}:{SYSROOT}/lib/aarch64-linux-gnu"  # ours, then the others of the system
    settings = {"GLIBC_MALLOC_PROFILE": "1", "GLIBC_MALLOC_PROFILE_OUT": f"{place}/mprof", "PLIMSOLL_LIVE_DIR": place,
                **settings}
    said = run([LIBRARIES / SYSTEM_LOADER.name, "--library-path", libraries, program], **settings)
    (path,) = Path(place).glob("mprof.*.plim")
    profile = plim.Profile(path)
    problems = list(profile.problems())
    assert not problems, problems[:10]
    return said, profile


def reported(path):
    where = ["--sysroot", SYSROOT] if SYSROOT else []
    done = subprocess.run([PLIMSOLL, "report", *where, path], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


@claim
def the_example_of_the_documents_works_with_the_loader_of_this_processor():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        said, profile = inside("./quiet", place, GLIBC_MALLOC_PROFILE_BYTES="1024")
        assert said == run([QUIET])
        assert sum(thread.all_calls for thread in profile.threads.values()) >= CALLS
        report = reported(profile.path)
        assert "aarch64" in report.splitlines()[0] and "main" in report, report


@claim
def both_front_ends_count_the_same():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place, tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        _, profile = inside(QUIET, place, PLIMSOLL_SAMPLE="exact")
        run([QUIET], preload=RUNTIME, PLIMSOLL_SAMPLE="exact", PLIMSOLL_OUT=f"{other}/out.plim", PLIMSOLL_LIVE_DIR=other)
        preloaded = plim.Profile(Path(other) / "out.plim")
        totals = [sum(thread.all_calls for thread in each.threads.values()) for each in (profile, preloaded)]
        assert totals[0] == totals[1] >= CALLS, totals


@claim
def malloc_has_six_instructions_more():
    libc = GLIBC / "work" / "objects" / "libc.so"
    if not libc.exists():
        raise claims.Skip(f"{libc} does not exist: the result has no names of functions that are not exported")
    command = ["aarch64-linux-gnu-objdump", "--disassemble=__libc_malloc", "--no-show-raw-insn", libc]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    code = [line.split("\t", 1)[1].replace("\t", " ") for line in lines if re.match(r"\s+[0-9a-f]+:\t", line)]
    charge = next(i for i, line in enumerate(code) if re.match(r"add x\d+, x0, #0x40", line))  # PL_CALL_CHARGE
    taken = next(i for i, line in enumerate(code) if line.startswith("b.cc") and i > charge)
    of_tls = [line for line in code[charge:taken + 1] if re.match(r"(add|adrp|ldr|mrs) x\d+, (x\d+, x\d+$|.*tpidr)", line)]
    assert taken + 1 - charge - len(of_tls) == ADDED, code[:taken + 1]
    assert any("malloc_prof_malloc" in line for line in code), code


if __name__ == "__main__":
    if not EMULATOR:
        print("1..0 # SKIP no emulator: tools/check aarch64 runs this with one")
        sys.exit(0)
    if not LIBRARIES.is_dir():
        print(f"1..0 # SKIP {LIBRARIES} does not exist: make glibc ARCH=aarch64")
        sys.exit(0)
    sys.exit(claims.main())
