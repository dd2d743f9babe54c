# SPDX-License-Identifier: MIT
"""port - the runtime for AArch64: its hot path, real programs, and their profiles, which this machine reads.

Needs PLIMSOLL_EMULATOR, PLIMSOLL_SYSROOT and PLIMSOLL_COMMAND, which tools/check sets.
"""

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "python")]
from built import EMULATOR, PLIMSOLL, RUNTIME, SOURCE, SYSROOT, environment, export, runnable  # noqa: E402
from claims import Skip, claim, expect, main  # noqa: E402
from patience import PATIENCE_S  # noqa: E402
from told import KNOWN, differences, stacks_in, told  # noqa: E402

MACHINE_OFFSET, EM_AARCH64 = 20, 183
ROOT = Path(SYSROOT or "/")
BIN = ROOT / "usr" / "bin"
BASH = next((path for path in (ROOT / "bin" / "bash", BIN / "bash") if path.exists()), BIN / "bash")
PROGRAMS = {
    "python3": ([BIN / "python3", "-I", "-c", "import json; print(len(json.dumps([{'a': i} for i in range(2000)])))"],
                {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc", "PYTHONHOME": f"{SYSROOT}/usr"}),
    "perl": ([BIN / "perl", "-e", "my %h; $h{$_} = 'x' x $_ for 1 .. 500; print scalar(keys %h)"],
             {"PERL_HASH_SEED": "0"}),
    "sqlite3": ([BIN / "sqlite3", ":memory:",
                 "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n limit 2000) "
                 "insert into t select i, hex(i) from n; select count(*), sum(a) from t;"], {}),
    "git": ([BIN / "git", "hash-object", str(SOURCE / "README.md")], {}),
    "bash": ([BASH, "-c", "a=(); for i in {1..2000}; do a+=($i); done; echo ${#a[@]}"], {}),
}


def needed():
    if not EMULATOR or not SYSROOT:
        raise Skip("no emulator: tools/check aarch64 runs this with one")


def run(command, **variables):
    words, variables = runnable(command, environment(**variables))
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr}"
    return done.stdout


def profile(command, place, sample="exact", **variables):
    path = Path(place) / "out.plim"
    settings = {"PLIMSOLL_SAMPLE": sample, "PLIMSOLL_OUT": path, "PLIMSOLL_LIVE_DIR": place}
    return run(command, LD_PRELOAD=RUNTIME, **settings, **variables), path


@claim
def malloc_takes_at_most_16_and_free_at_most_10_instructions():
    done = subprocess.run([SOURCE / "tools" / "hot", "--arch", "aarch64", RUNTIME], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@claim
def thread_local_storage_needs_no_call():
    done = subprocess.run(["aarch64-linux-gnu-readelf", "--relocs", "--wide", RUNTIME], capture_output=True, text=True,
                          check=True)
    assert "TLS_TPREL" in done.stdout and "TLSDESC" not in done.stdout, done.stdout


def check_program(name):
    needed()
    command, variables = PROGRAMS[name]
    without = run(command, **variables)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        said, path = profile(command, place, **variables)
        assert said == without, (said, without)
        assert struct.unpack_from("<I", path.read_bytes(), MACHINE_OFFSET)[0] == EM_AARCH64
        found = export(path)
        assert not any(found["losses"].values()), found["losses"]
        total, calls = found["totals"], sum(site["alloc_objects"]["value"] for site in found["sites"])
        assert calls == total["alloc_objects"]["value"] > 10, (calls, total)
        names = [frame["function"] for frame in found["frames"]]
        assert "__libc_start_main" in " ".join(names) or "_start" in names, names[:20]
        again = export(profile(command, place, **variables)[1])["totals"]
        assert again["alloc_objects"] == total["alloc_objects"] and again["alloc_space"] == total["alloc_space"], \
            (again, total)


def add_programs():
    from claims import add
    for name in PROGRAMS:
        add(f"{name} runs as without us, loses nothing, and has the same figures each time",
            lambda name=name: check_program(name))
    for name in ("perl", "sqlite3", "git", "bash"):  # python3 keeps compiled modules where it may write
        add(f"{name} allocates as often as on this machine", lambda name=name: check_twin(name))


def check_twin(name):
    """The same program and input on this machine. Its paths, and so the sizes of some texts, differ a little."""
    needed()
    command, variables = PROGRAMS[name]
    native = [Path("/") / Path(command[0]).relative_to(ROOT), *command[1:]]
    runtime = PLIMSOLL.parent / "libplimsoll.so"
    if not native[0].exists() or not runtime.exists():
        raise Skip(f"{native[0]} is not installed here")
    version = subprocess.run([native[0], "--version"], capture_output=True, text=True).stdout
    if not set(run([command[0], "--version"]).split()) & set(word for word in version.split() if "." in word):
        raise Skip("another version is installed here")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        there = export(profile(command, place, **variables)[1])["totals"]
        settings = {"PLIMSOLL_SAMPLE": "exact", "PLIMSOLL_OUT": f"{place}/here.plim", "PLIMSOLL_LIVE_DIR": place}
        subprocess.run([str(word) for word in native], check=True, stdout=subprocess.DEVNULL,
                       env=environment(LD_PRELOAD=runtime, **settings, **variables))
        here = export(f"{place}/here.plim")["totals"]
    assert there["alloc_objects"] == here["alloc_objects"], (there, here)
    assert abs(there["alloc_space"]["value"] / here["alloc_space"]["value"] - 1) < 0.01, (there, here)


add_programs()


@claim
def stacks_of_python_code_are_those_that_python_says():
    needed()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        said, path = profile([BIN / "python3", KNOWN], place, PYTHONHOME=f"{SYSROOT}/usr", PYTHONDONTWRITEBYTECODE="1")
        wanted = told(said)
        assert len(wanted) > 50, wanted
        expect(differences(wanted, stacks_in(export(path, "--python"))))


@claim
def a_missing_binary_is_named_and_one_below_the_sysroot_is_found():
    needed()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        _, path = profile(PROGRAMS["bash"][0], place)
        report = [PLIMSOLL, "report", "--sysroot", SYSROOT, path]
        with_libraries = subprocess.run(report, capture_output=True, text=True, env=environment())
        assert with_libraries.returncode == 0 and "libc.so.6" not in with_libraries.stderr, with_libraries.stderr
        assert "aarch64" in with_libraries.stdout.splitlines()[0], with_libraries.stdout[:200]
        wrong = subprocess.run([PLIMSOLL, "report", "--sysroot", Path(place) / "none", path], capture_output=True,
                               text=True, env=environment())
        assert wrong.returncode == 1 and "is not a directory" in wrong.stderr, wrong.stderr
        empty = Path(place) / "empty"
        empty.mkdir()
        missing = subprocess.run([PLIMSOLL, "report", "--sysroot", empty, path], capture_output=True, text=True,
                                 env=environment())
        if not os.path.exists("/lib/aarch64-linux-gnu/libc.so.6"):
            assert "libc.so.6 no longer exists" in missing.stderr, missing.stderr


@claim
def every_export_and_the_page_read_a_profile_of_another_machine():
    needed()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        _, path = profile(PROGRAMS["perl"][0], place, **PROGRAMS["perl"][1])
        for form in ("json", "pprof", "collapsed", "speedscope", "csv", "dot"):
            command = [PLIMSOLL, "export", "--sysroot", SYSROOT, "--format", form, "-o", Path(place) / form, path]
            done = subprocess.run(command, capture_output=True, text=True, env=environment())
            assert done.returncode == 0 and (Path(place) / form).stat().st_size > 500, (form, done.stderr)
        done = subprocess.run([PLIMSOLL, "html", "--sysroot", SYSROOT, "-o", Path(place) / "page.html", path],
                              capture_output=True, text=True, env=environment())
        assert done.returncode == 0, done.stderr


sys.exit(main())
