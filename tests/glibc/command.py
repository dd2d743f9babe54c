# SPDX-License-Identifier: MIT
"""command - `plimsoll run --glibc` and `--glibc-tree` with a real build of glibc, which tests/cli does not have."""

import os
import shutil
import subprocess
import sys

from front import *



def plimsoll_run(place, *words, status=0, **settings):
    """Runs it in place.work. Files go to place.work/out."""
    command = [PLIMSOLL, "run", "--glibc-dir", GLIBC, "-o", place.work / "out" / "%c.%p.plim", *words]
    (place.work / "out").mkdir(exist_ok=True)
    env = environment(place, **settings)
    done = finish(start(command, place, env))
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr.decode()}"
    return done


def need_name_space(place):
    env = environment(place)
    done = finish(start([PLIMSOLL, "run", "-q", "--glibc-dir", GLIBC, "--glibc-tree", "--", "true"], place, env))
    if done.returncode:
        raise Skip(done.stderr.decode().strip().splitlines()[0])


def said(done):
    """The lines that the command itself adds on stderr."""
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("plimsoll: ") for line in lines), lines
    return lines


@claim
def a_program_behaves_as_without_it_and_leaves_a_profile():
    with Place() as place:
        words = ["/usr/bin/python3", JOBS / "python.py"]
        bare = finish(start(words, place, environment(place)))
        done = plimsoll_run(place, "--glibc", "--", *words, status=3)
        assert (done.returncode, done.stdout) == (bare.returncode, bare.stdout), outcome(done)
        assert said(done)
        profile = place.profile()
        assert profile.comm == "python3" and profile.interval_bytes == DEFAULT_INTERVAL, profile.comm
        assert profile.exit_status == 3 and profile.calls > 5000 and lost(profile) == {}


@claim
def options_of_run_reach_the_front_end():
    with Place() as place:
        plimsoll_run(place, "-q", "--glibc", "--sample", "1", "--seed", "5", "--", TRAPS / "quiet")
        profile = place.profile()
        assert (profile.interval_bytes, profile.seed) == (1, 5) and profile.total("allocated").samples == profile.calls
    with Place() as place:
        plimsoll_run(place, "-q", "--glibc", "--exact", "--", TRAPS / "quiet")
        found = export(place.profile().path)
        assert found["sampling"]["exact"] and found["totals"]["inuse_objects"]["value"] >= 500


@claim
def a_script_is_run_by_its_interpreter_with_its_usual_name_and_arguments():
    with Place() as place:
        script = place.work / "script"
        script.write_text("#!/usr/bin/env perl\nprint \"$0: \", join('|', @ARGV), \"\\n\";\n")
        script.chmod(0o755)
        bare = finish(start(["./script", "a b", ""], place, environment(place)))
        done = plimsoll_run(place, "-q", "--glibc", "--", "./script", "a b", "")
        assert done.stdout == bare.stdout, (done.stdout, bare.stdout)
        assert len(place.profiles()) == 1


@claim
def a_process_has_its_usual_name():
    with Place() as place:
        (place.work / "script").write_text("#!/usr/bin/perl\nprint 7;\n")
        (place.work / "script").chmod(0o755)
        (place.work / "elsewhere").mkdir()
        (place.work / "elsewhere" / "a-name").symlink_to(TRAPS / "quiet")
        for words, name, file in ((["./script"], "script", "perl"), (["./elsewhere/a-name"], "a-name", "quiet")):
            plimsoll_run(place, "-q", "--glibc", "--exact", "--only", name, "--", *words)
            profile, path = place.profile(), place.files()[0]
            assert profile.comm == name and path.name.startswith(f"{name}."), (profile.comm, path)
            found = export(path)["process"]["exe"]
            assert found == os.path.realpath(shutil.which(file) or TRAPS / file), found
            path.unlink()


@claim
def a_program_that_executes_proc_self_exe_gets_a_hint():
    with Place() as place:
        words = ["perl", "-e", "exec {'/proc/self/exe'} 'again', 'again'"]
        done = plimsoll_run(place, "--glibc", "--exact", "--", *words, status=127)
        assert b"/proc/self/exe, the loader itself" in done.stderr and b"use --glibc-tree" in done.stderr, done.stderr


@claim
def options_take_precedence_over_tunables():
    with Place() as place:
        tunables = "glibc.malloc.prof=0:glibc.malloc.prof_bytes=1M:glibc.malloc.prof_out=elsewhere"
        plimsoll_run(place, "-q", "--glibc", "--sample", "4K", "--", TRAPS / "quiet", GLIBC_TUNABLES=tunables)
        assert place.profile().interval_bytes == 4096 and place.files()[0].parent.name == "out", place.files()


@claim
def argv_0_is_the_typed_name():
    with Place() as place:
        for words in (["sh", "-c", "echo $0"], ["/bin/sh", "-c", "echo $0"]):
            bare = finish(start(words, place, environment(place)))
            assert plimsoll_run(place, "-q", "--glibc", "--", *words).stdout == bare.stdout, words


@claim
def children_run_unprofiled_in_the_systems_glibc():
    with Place() as place:
        done = plimsoll_run(place, "-q", "--glibc", "--keep-all", "--", "bash", "-c", "perl -e 'print 7'; exit 0")
        assert done.stdout == b"7" and done.stderr == b""
        assert [profile.comm for profile in place.profiles()] == ["bash"], place.files()


@claim
def a_static_program_runs_if_it_is_linked_with_our_archive_and_is_refused_otherwise():
    if not ARCHIVE.exists():
        raise Skip(f"{ARCHIVE} does not exist")
    with Place() as place:
        source = HERE.parent / "traps" / "programs" / "quiet.c"
        for name, options in (("ours", STATIC), ("theirs", ["-static"])):
            subprocess.run(["cc", "-w", "-o", place.work / name, source, *options], check=True)
        done = plimsoll_run(place, "-q", "--glibc", "--sample", "1", "--", "./ours")
        profile = place.profile()
        assert done.stdout == b"quiet\n" and profile.comm == "ours" and profile.calls >= 1000
        done = plimsoll_run(place, "--glibc", "--", "./theirs", status=126)
        assert "static" in done.stderr.decode() and "libc.a" in done.stderr.decode(), done.stderr


@claim
def the_whole_tree_of_a_compilation_is_profiled():
    with Place() as place:
        need_name_space(place)
        words = ["gcc", "-O1", "-w", "-o", place.work / "job", JOBS / "gcc.c", "-lm"]
        plimsoll_run(place, "-q", "--glibc-tree", "--keep-all", "--sample", "16K", "--", *words)
        profiles = {profile.comm: profile for profile in place.profiles()}
        assert {"gcc", "cc1", "as", "ld"} <= set(profiles), sorted(profiles)
        assert all(lost(profile) == {} for profile in profiles.values())
        cc1 = export(profiles["cc1"].path)
        heaviest = max(cc1["sites"], key=lambda site: site["alloc_space"]["value"])
        frames = [cc1["frames"][i]["function"] for i in cc1["stacks"][heaviest["stack"]]]
        assert "main" in frames or len(frames) > 3, frames
        ours = finish(start([place.work / "job"], place, environment(place)))
        shutil.move(place.work / "job", place.work / "first")
        subprocess.run([str(word) for word in words], check=True)
        assert (place.work / "job").read_bytes() == (place.work / "first").read_bytes() and ours.returncode < 7


@claim
def a_process_tree_behaves_as_without_it():
    with Place() as place:
        need_name_space(place)
        words = ["bash", JOBS / "pipeline.sh"]
        bare = finish(start(words, place, environment(place)))
        done = plimsoll_run(place, "-q", "--glibc-tree", "--keep-all", "--", *words, status=5)
        assert done.stdout == bare.stdout and done.stderr == bare.stderr, outcome(done)
        names = {profile.comm for profile in place.profiles()}
        assert {"bash", "sort", "awk", "sed", "grep"} - names <= {"awk"}, names  # which may be mawk


@claim
def the_system_outside_of_the_tree_does_not_change():
    with Place() as place:
        need_name_space(place)
        before = (SYSTEM_LOADER.resolve().stat().st_ino, system_libc().stat().st_ino)
        script = f"stat -Lc %i {SYSTEM_LOADER}"
        inside = plimsoll_run(place, "-q", "--glibc-tree", "--", "sh", "-c", script).stdout
        assert int(inside) == LOADER.stat().st_ino != before[0], inside
        assert (SYSTEM_LOADER.resolve().stat().st_ino, system_libc().stat().st_ino) == before


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
