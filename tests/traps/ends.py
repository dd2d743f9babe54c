# SPDX-License-Identifier: MIT
"""ends - however a process ends, and whatever it gave up before, its profile is there."""

import os
import subprocess
import sys
from pathlib import Path

from traps import *

# How it ends: the status that the shell sees, the ending in the profile, and whether the process could move the file.
ENDINGS = {
    "return": (0, "exit", True),
    "exit": (5, "exit", True),
    "thread": (5, "exit", True),
    "main-thread": (0, "exit", True),
    "closing": (0, "exit", True),
    "handler": (6, "quick", True),
    "_exit": (5, "quick", True),
    "_Exit": (5, "quick", True),
    "quick_exit": (5, "quick", True),
    "syscall": (5, "none", False),
    "abort": (signalled("SIGABRT"), "none", False),
    "segv": (signalled("SIGSEGV"), "none", False),
    "SIGTERM": (signalled("SIGTERM"), "none", False),
    "SIGINT": (signalled("SIGINT"), "none", False),
    "SIGKILL": (signalled("SIGKILL"), "none", False),
}
EXECS = ("execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat")


def check_ended(profile):
    figures = Figures(profile, "ends_allocate")
    assert figures.allocated.samples == 300 and figures.live == 200, figures.allocated
    assert profile.calls >= 300 and lost(profile) == {}


@claim
def the_profile_is_there_however_the_process_ends():
    for how, (status, end, moved) in ENDINGS.items():
        without = bare("ends", how)
        ran = run("ends", how, settings=EVERYTHING)
        assert ran.outcome() == without.outcome() and ran.status == status, (how, ran.outcome(), without.outcome())
        profile = ran.profile()
        check_ended(profile)
        assert plim.ENDS[profile.end] == end, (how, profile.end)
        assert profile.exit_status == (status if end != "none" else 0), (how, profile.exit_status)
        assert len(ran.files()) == moved and len(ran.live_files()) == (not moved), how
        assert bool(profile.end_monotonic_ns) == (end != "none")


@claim
def a_moved_profile_has_no_destination_any_more():
    profile = run("ends", "exit", settings=EVERYTHING).profile()
    assert profile.destination == "", profile.destination


@claim
def the_profile_of_a_running_process_can_be_read_and_survives_a_kill():
    process = start(("ends", "return", "wait"), settings=EVERYTHING)
    assert process.stdout.readline() == b"ready\n"
    live = plim.find(process.place.live)
    assert len(live) == 1
    check_ended(sound(live[0]))
    process.kill()
    process.communicate()
    check_ended(sound(plim.find(process.place.live)[0]))


@claim
def frees_and_allocations_after_our_exit_handler_are_harmless():
    behaves("late")


@claim
def a_profile_moved_while_threads_go_on_allocating_is_consistent():
    for i in range(30):
        run("late", 1000 * i, settings=EVERYTHING).succeeds().profile()


# ---- names of files ----


@claim
def an_existing_file_is_never_overwritten():
    at = place()
    settings = {"PLIMSOLL_OUT": "out.plim", **EVERYTHING}
    (at.work / "out.plim").write_text("precious")
    first = start(("ends", "exit"), settings, at=at)
    first.communicate()
    assert (at.work / "out.plim").read_text() == "precious"
    sound(at.work / f"out.plim.{first.pid}")
    (at.work / "out.plim").unlink()
    (at.work / "out.plim").symlink_to(at.work / "elsewhere")
    second = start(("ends", "exit"), settings, at=at)
    second.communicate()
    assert not (at.work / "elsewhere").exists()
    sound(at.work / f"out.plim.{second.pid}")


@claim
def the_first_process_gets_the_plain_name_and_its_children_append_their_pids():
    at = place()
    ran = run("forks", "fork", 3, at=at, settings={"PLIMSOLL_OUT": "out.plim", **EVERYTHING}).succeeds()
    profiles = {Path(p.path).name: p for p in ran.profiles()}
    assert len(profiles) == 4 and sum(name == "out.plim" for name in profiles) == 1, profiles
    for name, profile in profiles.items():
        assert name in ("out.plim", f"out.plim.{profile.pid}"), name


@claim
def a_pattern_is_expanded():
    at = place()
    process = start(("ends", "exit"), {"PLIMSOLL_OUT": "%c-%p-%%-%h.%t.plim"}, at=at)
    process.communicate()
    (path,) = plim.find(at.work)
    host = os.uname().nodename
    begin, end = f"ends-{process.pid}-%-{host}.", ".plim"
    assert path.name.startswith(begin) and path.name.endswith(end), path.name
    assert path.name[len(begin) : -len(end)].isdigit()


@claim
def processes_that_are_pid_1_in_their_own_namespaces_do_not_collide():
    need_root()
    at = place()
    settings = {"PLIMSOLL_ONLY": "late", **EVERYTHING}
    before = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*before, "true"], capture_output=True).returncode:
        raise Skip("cannot unshare")
    processes = [start(("late", "300000"), settings, at=at, before=before) for _ in range(3)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    profiles = [sound(path) for path in plim.find(at.work, at.live)]
    assert [p.pid for p in profiles] == [1, 1, 1], [p.path for p in profiles]


# ---- exec ----


@claim
def every_exec_leaves_a_profile_of_the_program_before_it():
    for how in EXECS:
        behaves("execs", how, 1)
        ran = run("execs", how, 3, settings=EVERYTHING).succeeds()
        profiles = ran.profiles()
        assert len(profiles) == 4 and len({p.pid for p in profiles}) == 1, (how, [p.path for p in profiles])
        assert sorted(plim.ENDS[p.end] for p in profiles) == ["exec", "exec", "exec", "exit"], how
        for profile in profiles:
            assert Figures(profile, "execs_allocate").allocated.samples == 30
        assert ran.live_files() == [], (how, ran.live_files())


@claim
def a_failed_exec_does_not_end_the_profile():
    ran = behaves("execs", "failing")["everything"]
    profile = ran.profile()
    assert plim.ENDS[profile.end] == "exit" and len(ran.files()) == 1
    assert Figures(profile, "execs_allocate").allocated.samples == 33


@claim
def a_process_killed_after_a_failed_exec_has_its_profile():
    ran = run("execs", "failing", "kill", settings=EVERYTHING)
    assert ran.status == signalled("SIGKILL")
    assert Figures(ran.profile(), "execs_allocate").allocated.samples >= 30


# ---- daemons ----


def daemon(*words, **options):
    """The daemon's profile, which is that of a child if it forked. All its stacks must be there."""
    ran = behaves("daemon", *words, **options)["everything"]
    profile = next(p for p in ran.profiles() if ("fork" in words) == bool(p.flags & 1))
    assert Figures(profile, "daemon_allocate").allocated.samples == 2000, lost(profile)
    assert lost(profile) == {}, lost(profile)
    return profile, ran


@claim
def closing_every_descriptor_does_not_stop_the_profile_from_growing():
    daemon("close")
    daemon("fork", "close")


@claim
def a_profile_grows_where_no_mapping_of_a_file_can_be_extended():
    """Valgrind refuses to extend one."""
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    ran = run("daemon", "list", settings=EVERYTHING, before=["valgrind", "--quiet", "--tool=none"]).succeeds()
    profiles = [Figures(profile, "daemon_allocate") for profile in ran.profiles() if not lost(profile)]
    assert [f.allocated.samples for f in profiles if f.allocated.samples] == [2000], [lost(p) for p in ran.profiles()]


@claim
def a_program_finds_no_descriptor_of_ours():
    daemon("list")
    daemon("fork", "list")


@claim
def descriptors_that_reuse_our_numbers_are_not_written_to():
    for limit in (1024, 256):
        for settings in WAYS.values():
            run("daemon", "close", "reuse", settings=settings, **limited(NOFILE=limit)).succeeds().profiles()


@claim
def a_program_that_changes_its_directory_leaves_its_profile_in_the_first_one():
    for words in (["chdir=/"], ["fork", "chdir=/"]):
        profile, ran = daemon(*words)
        assert Path(profile.path).parent == ran.place.work and ran.live_files() == []


@claim
def the_process_that_starts_first_gets_a_fixed_name():
    """Its child ends first. While it runs, and after a kill, the name is a link to its live profile."""
    at = place()
    run("daemon", "fork", at=at, settings={"PLIMSOLL_OUT": "out.plim", **EVERYTHING}).succeeds()
    profiles = plim.find(at.work)
    assert len(profiles) == 2 and not plim.Profile(at.work / "out.plim").flags & 1
    out = at.work / "killed.plim"
    for _ in range(2):
        run("ends", "SIGKILL", at=at, settings={"PLIMSOLL_OUT": out.name, **EVERYTHING})
        assert out.is_symlink() and plim.Profile(out).comm == "ends", out
        out.resolve().unlink()  # the next process replaces a link to nothing


@claim
def relative_directories_start_in_the_first_working_directory():
    for words in (["chdir=/"], ["fork", "chdir=/"]):
        at = place()
        (at.work / "live").mkdir()
        (at.work / "out").mkdir()
        settings = {"PLIMSOLL_LIVE_DIR": "live", "PLIMSOLL_OUT": "out/%c.%p.plim", **EVERYTHING}
        run("daemon", *words, at=at, settings=settings).succeeds()
        assert list((at.work / "live").iterdir()) == []
        assert len(plim.find(at.work / "out")) == 1 + ("fork" in words)


@claim
def a_program_that_changes_its_root_keeps_its_profile():
    need_root()
    at = place()
    root = at.work / "root"
    root.mkdir()
    for words in ([f"chroot={root}"], ["close", f"chroot={root}"], ["fork", f"chroot={root}"]):
        for settings in WAYS.values():
            run("daemon", *words, at=place(), settings=settings).succeeds().profiles()
    daemon("close", f"chroot={root}", "user")
    profile, ran = daemon(f"chroot={root}")
    assert len(ran.live_files()) == 1, "the profile should stay outside of the new root"


@claim
def a_program_that_drops_its_privileges_keeps_its_profile():
    need_root()
    daemon("user")
    daemon("fork", "user")
    for settings in WAYS.values():
        profiles = run("daemon", "close", "user", settings=settings).succeeds().profiles()
        assert profiles and all(profile.calls > 0 for profile in profiles), profiles


@claim
def a_program_that_leaves_its_namespaces_keeps_its_profile():
    need_root()
    daemon("unshare")


if __name__ == "__main__":
    sys.exit(main())
