# SPDX-License-Identifier: MIT
"""front - shared by the tests of the front end inside glibc: where it is, and two ways to run a program in it.

$PLIMSOLL_GLIBC names the directory that `make glibc` has built. The default is build/glibc in the tree. If there is
none, a test file prints that and is skipped. tools/check always names one, so that no old build is tested.

By the loader: DIR/lib/ld-linux… --library-path DIR/lib PROGRAM, as any user can. Only that process is profiled.

In a namespace: DIR's two files replace the system's, for this process's children and theirs. Then
GLIBC_MALLOC_PROFILE=1 is enough. This needs the permission to make namespaces, and the system's release of glibc.
"""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))

import built  # noqa: E402
import claims  # noqa: E402
import plim  # noqa: E402
from built import BUILD, PLIMSOLL, RUNTIME, SOURCE, SYSTEM_LOADER, export  # noqa: E402, F401
from claims import Skip, claim, expect, say  # noqa: E402, F401
from patience import PATIENCE_S  # noqa: E402

GLIBC = Path(os.environ.get("PLIMSOLL_GLIBC") or SOURCE / "build" / "glibc").resolve()
LOADER = GLIBC / "lib" / built.SYSTEM_LOADER.name
LIBC = GLIBC / "lib" / "libc.so.6"
ARCHIVE = GLIBC / "lib" / "libc.a"
STATIC = ["-static", "-Wl,--eh-frame-hdr", f"-L{ARCHIVE.parent}"]  # options to link a program with it
SYSTEM_RELEASE = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
PROGRAMS = BUILD / "tests" / "glibc"
TRAPS = BUILD / "tests" / "traps"
JOBS = HERE.parent / "programs" / "jobs"
DEFAULT_INTERVAL = 512 << 10
NEWNS, NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18

ON = {"GLIBC_MALLOC_PROFILE": "1"}
EVERYTHING = {**ON, "GLIBC_MALLOC_PROFILE_BYTES": "1"}


# ---- requirements ----


def give_up(reason):
    """Skips the whole file, with a line of TAP."""
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def need_glibc():
    for path in (LOADER, LIBC):
        if not path.exists():
            give_up(f"{path} does not exist: `make glibc` builds it, PLIMSOLL_GLIBC names another directory")


def release():
    """The release that was built. Its --version begins with "ld.so (…) stable release version 2.36."."""
    words = subprocess.run([LOADER, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    return words.rstrip(".").split()[-1]


def need_same_release():
    if release() != SYSTEM_RELEASE:
        give_up(f"{GLIBC} is glibc {release()}, the system's is {SYSTEM_RELEASE}: it cannot replace it")


def system_call(function, *arguments):
    if function(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter_name_space():
    """From now on, programs that this process starts find our files instead of the system's."""
    need_same_release()
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    places = {LOADER: SYSTEM_LOADER.resolve(), LIBC: system_libc()}
    try:
        system_call(libc.unshare, NEWNS if uid == 0 else NEWNS | NEWUSER)
        if uid != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        system_call(libc.mount, b"none", b"/", None, MS_REC | MS_PRIVATE, None)
        for ours, theirs in places.items():
            system_call(libc.mount, os.fsencode(ours), os.fsencode(theirs), None, MS_BIND, None)
    except OSError as error:
        give_up(f"no namespace in which {GLIBC} is the system's glibc: {error.strerror}")


def system_libc():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return Path(next(line.split()[-1] for line in maps if line.rstrip().endswith("/libc.so.6"))).resolve()


# ---- running ----


class Place:
    """Where a program runs (work), and where its live profile is (live, on tmpfs)."""

    def __init__(self):
        self.work = Path(tempfile.mkdtemp(prefix="plimsoll-test."))
        self.live = Path(tempfile.mkdtemp(prefix="plimsoll-test.", dir="/dev/shm"))
        for directory in (self.work, self.live):
            directory.chmod(0o777)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.rmtree(self.live, ignore_errors=True)

    def files(self):
        return plim.find(self.work, self.live)

    def profiles(self):
        """Each must fulfil every rule of format.h."""
        return [sound(path) for path in self.files()]

    def profile(self):
        profiles = self.profiles()
        assert len(profiles) == 1, f"one profile expected: {[p.path for p in profiles]}"
        return profiles[0]


def sound(path):
    profile = plim.Profile(path)
    problems = list(profile.problems())
    assert not problems, f"{path}:\n" + "\n".join(problems[:10])
    return profile


def environment(place, **settings):
    """The caller's environment with nothing of ours but the place and `settings`."""
    words = built.environment(PLIMSOLL_LIVE_DIR=place.live)
    words = {k: v for k, v in words.items() if not k.startswith("GLIBC_")}
    words.update({k: str(v) for k, v in settings.items()})
    return words


def by_loader(command, *options, argv0=None):
    """The command that runs `command` in our glibc."""
    name = argv0 or command[0]
    words = [LOADER, "--library-path", LOADER.parent, *options, "--argv0", name, shutil.which(command[0]), *command[1:]]
    return [str(word) for word in words]


def start(words, place, env, **options):
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    words = [str(word) for word in words]
    return subprocess.Popen(words, env=env, **{"cwd": place.work, **pipes, **options})


def finish(process):
    return built.finish(process, PATIENCE_S)


def run(command, place, settings, **options):
    """Runs `command` by our loader with these settings. It must succeed and print nothing on stderr."""
    done = finish(start(by_loader(command), place, environment(place, **settings), **options))
    assert done.returncode == 0 and done.stderr == b"", f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def program(name):
    return str(PROGRAMS / name)


# ---- reading ----


def lost(profile):
    return {name: n for name, n in profile.losses.items() if n}


def outcome(done):
    return done.returncode, done.stdout, done.stderr
