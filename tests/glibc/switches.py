# SPDX-License-Identifier: MIT
"""switches - the variables and tunables of the front end inside glibc: each does what it promises, and only if set.

The program is quiet (tests/traps): 1,000 blocks of 100 bytes, half of them freed. It prints "quiet". Nothing else may
appear on stdout or stderr, whatever the settings are.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from front import *

QUIET = TRAPS / "quiet"
SAMPLED, EXACT, AUTO = 1, 2, 3  # enum pl_mode
PREFIX = "GLIBC_MALLOC_PROFILE"


def quiet(place, settings, words=()):
    """Runs it by our loader. It must print only its usual line."""
    command = words or [QUIET]
    done = run(command, place, settings)
    assert done.stdout == b"quiet\n", done.stdout
    return done


def profiled(settings):
    with Place() as place:
        quiet(place, settings)
        return place.profile()


def tunables(**values):
    return {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}={value}" for name, value in values.items())}


# ---- on and off ----


@claim
def without_the_switch_nothing_is_profiled_whatever_the_other_settings():
    others = {f"{PREFIX}_BYTES": "1", f"{PREFIX}_STATS": "1", f"{PREFIX}_OUT": "x", "PLIMSOLL_SAMPLE": "1"}
    for switch in ({}, {PREFIX: "0"}, {PREFIX: ""}, tunables(prof=0), tunables(prof="")):
        for settings in (switch, {**others, **switch}):
            with Place() as place:
                quiet(place, settings)
                left = [*place.work.iterdir(), *place.live.iterdir()]
                assert left == [], f"{settings}: {left}"


@claim
def any_value_but_0_switches_the_profiler_on():
    for text in ("1", "yes", "on", "01", " 1", "-1", "x" * 5000):
        assert profiled({PREFIX: text}).interval_bytes == DEFAULT_INTERVAL, text
    assert profiled(tunables(prof="yes")).interval_bytes == DEFAULT_INTERVAL


@claim
def when_switched_off_nothing_is_left_in_the_default_live_directory():
    for settings, files in ((EVERYTHING, 1), ({}, 0)):
        with Place() as place:
            env = environment(place, PLIMSOLL_OUT="/proc/nowhere", **settings)  # so that it cannot be moved
            del env["PLIMSOLL_LIVE_DIR"]
            before = set(Path("/dev/shm").iterdir())  # files of earlier processes with the same pid
            process = start(by_loader([QUIET]), place, env)
            finish(process)
            left = set(Path("/dev/shm").glob(f"plimsoll.quiet.{process.pid}.*")) - before
            for path in left:
                path.unlink()
            assert len(left) == files, left


@claim
def when_switched_off_the_process_has_no_trace_of_the_profiler():
    """Descriptors, threads and mappings are the same as in an unpatched glibc."""
    script = (
        "import os; print(sorted(os.listdir('/proc/self/fd'), key=int), os.listdir('/proc/self/task') == "
        "[str(os.getpid())], any('plim' in os.path.basename(line) for line in open('/proc/self/maps')))"
    )
    with Place() as place:
        bare = finish(start(["/usr/bin/python3", "-I", "-c", script], place, environment(place)))
        done = run(["/usr/bin/python3", "-I", "-c", script], place, {"PLIMSOLL_SAMPLE": "1"})
        assert done.stdout == bare.stdout and b"True False" in done.stdout, (done.stdout, bare.stdout)


@claim
def the_switch_alone_samples_every_512_kib():
    for settings in (ON, tunables(prof=1)):
        profile = profiled(settings)
        assert profile.mode == SAMPLED and profile.interval_bytes == DEFAULT_INTERVAL, (profile.mode, settings)
        assert profile.calls >= 1000 and profile.bytes >= 100000 and profile.bad_settings == 0


# ---- settings ----


@claim
def the_interval_can_be_set_by_variable_or_tunable_with_a_suffix():
    for text, interval in (("1", 1), ("12345", 12345), ("64K", 64 << 10), ("1M", 1 << 20), ("2G", 2 << 30)):
        for settings in ({**ON, f"{PREFIX}_BYTES": text}, tunables(prof=1, prof_bytes=text)):
            profile = profiled(settings)
            assert (profile.interval_bytes, profile.mode, profile.bad_settings) == (interval, SAMPLED, 0), settings
    profile = profiled(EVERYTHING)
    assert profile.total("allocated").samples == profile.calls


@claim
def variables_of_the_preload_work_too_and_ours_take_precedence():
    profile = profiled({**ON, "PLIMSOLL_SAMPLE": "777"})
    assert profile.interval_bytes == 777, profile.interval_bytes
    profile = profiled({**ON, "PLIMSOLL_SAMPLE": "777", f"{PREFIX}_BYTES": "888"})
    assert profile.interval_bytes == 888, profile.interval_bytes
    assert profiled({**ON, "PLIMSOLL_SAMPLE": "exact"}).mode == EXACT
    assert profiled({**ON, "PLIMSOLL_SAMPLE": "auto"}).mode == AUTO
    assert profiled({**ON, "PLIMSOLL_SEED": "4711"}).seed == 4711
    with Place() as place:
        quiet(place, {**ON, "PLIMSOLL_SAMPLE": "777", f"{PREFIX}_OUT": "win", "PLIMSOLL_OUT": "lose.plim"})
        assert [path.name.split(".")[0] for path in place.files()] == ["win"], place.files()


def assert_named(setting, profile):
    report = subprocess.run([PLIMSOLL, "report", profile.path], capture_output=True, text=True).stdout
    assert f"the value of {setting} was not understood" in report, report[-600:]


@claim
def invalid_values_are_ignored_and_reported():
    for text in ("-1", "12Q", "0", "K", "0x10", "9" * 20, "%", "1.5", "é"):
        with Place() as place:
            quiet(place, {**ON, f"{PREFIX}_BYTES": text})
            profile = place.profile()
            assert profile.mode == SAMPLED and profile.interval_bytes == DEFAULT_INTERVAL, text
            assert_named(f"{PREFIX}_BYTES", profile)


@claim
def no_text_in_any_variable_disturbs_the_program():
    for text in ("", "%", "%n%s%p", "\n", "x" * 5000, "/", "/nonexistent/x", "../" * 1500, "é" * 100):
        for name in ("", "_BYTES", "_OUT", "_STATS"):
            with Place() as place:
                quiet(place, {**EVERYTHING, f"{PREFIX}{name}": text})


# ---- the output ----


@claim
def the_name_of_the_profile_is_prefix_pid_and_suffix():
    """A percent sign in a prefix is not special."""
    for prefix in ("mprof", "out/mprof", "out/a%p.b%c", "100%", "./dotted.name"):
        for by_tunable in (False, True):
            with Place() as place:
                (place.work / "out").mkdir()
                settings = {**EVERYTHING, f"{PREFIX}_OUT": prefix}
                if by_tunable:
                    settings = tunables(prof=1, prof_out=prefix)
                quiet(place, settings)
                profile = place.profile()
                expected = place.work / f"{prefix}.{profile.pid}.plim"
                assert Path(profile.path) == expected, f"{profile.path} and not {expected}"
    with Place() as place, Place() as other:
        quiet(place, {**EVERYTHING, f"{PREFIX}_OUT": other.work / "absolute"})
        assert [path.name for path in other.work.iterdir()] == [f"absolute.{other.profile().pid}.plim"]


@claim
def in_a_directory_as_prefix_the_profile_gets_its_default_name():
    for prefix in ("out/", "out//", ".", "./", "out/.", "out/..", ".."):
        with Place() as place:
            inner = place.work / "inner"
            (inner / "out").mkdir(parents=True)
            run([QUIET], place, {**EVERYTHING, f"{PREFIX}_OUT": prefix, f"{PREFIX}_STATS": "1"}, cwd=inner)
            (path,) = place.work.rglob("*.plim")
            name = f"plimsoll.quiet.{plim.Profile(path).pid}.plim"
            assert path == (inner / prefix / name).resolve(), (prefix, path)
            assert path.with_suffix(".stats").exists(), prefix


@claim
def a_prefix_that_is_too_long_is_reported_and_not_truncated():
    """The longest possible path has 4,095 bytes. Lengths slightly below that are not tried: whether the working
    directory fits before such a prefix depends on the directory. If it does not fit, there is no profile and no
    message."""
    for length in (4000, *range(4088, 4100), 5000):
        with Place() as place:
            name = "mine"[: 2 + length % 2]
            quiet(place, {**EVERYTHING, f"{PREFIX}_OUT": "./" * (length // 2 - 1) + name})
            profile = place.profile()
            if length > 4000:
                name = "plimsoll.quiet"
                assert_named(f"{PREFIX}_OUT", profile)
            assert Path(profile.path).name == f"{name}.{profile.pid}.plim", f"{length}: {profile.path[-100:]}"


@claim
def without_a_prefix_the_profile_is_named_after_the_program_and_not_its_loader():
    with Place() as place:
        quiet(place, EVERYTHING)
        profile = place.profile()
        assert Path(profile.path) == place.work / f"plimsoll.quiet.{profile.pid}.plim", profile.path


def statistics(path):
    """key -> figure. A key may contain blanks."""
    lines = [line.rsplit(" ", 1) for line in path.read_text().splitlines()]
    figures = {key: int(figure) for key, figure in lines}
    assert len(figures) == len(lines) > 5, path.read_text()
    return figures


@claim
def statistics_are_a_text_file_beside_the_profile():
    for settings in ({**EVERYTHING, f"{PREFIX}_STATS": "1"}, tunables(prof=1, prof_bytes=1, prof_stats="yes")):
        with Place() as place:
            quiet(place, {**settings, f"{PREFIX}_OUT": "mprof"} if PREFIX in settings else settings)
            profile = place.profile()
            figures = statistics(Path(profile.path).with_suffix(".stats"))
            assert figures["process.calls"] == profile.calls, (figures, profile.calls)
            assert figures["process.allocated_bytes"] == profile.bytes, (figures, profile.bytes)
            assert figures["process.live_blocks"] == 500 + extra(profile), figures
            assert figures["process.sample_bytes"] == 1, figures


@claim
def every_process_has_its_own_statistics():
    """This holds whether or not the name of its profile has the pid, and whatever an earlier process has left."""
    for out in ({"PLIMSOLL_OUT": "same.plim"}, {f"{PREFIX}_OUT": "mine"}):
        with Place() as place:
            for hands in (1, 2):
                run([PROGRAMS / "crew", hands, 10], place, {**EVERYTHING, f"{PREFIX}_STATS": "1", **out})
            found = {int(path.suffixes[-2][1:]): statistics(path) for path in place.work.glob("*.stats")}
            profiles = {profile.pid: profile for profile in place.profiles()}
            assert len(found) == 5 and profiles.keys() <= found.keys(), (found.keys(), place.files())
            for pid, profile in profiles.items():
                assert found[pid]["process.calls"] == profile.calls, (pid, found[pid])


def check_bounds(figures):
    """No figure of the process, a thread or a tag exceeds what was allocated."""
    for key, blocks in figures.items():
        who = key.removesuffix(".calls")
        if who == key:
            continue
        size = figures[f"{who}.allocated_bytes"]
        for name, most in (("blocks", blocks), ("bytes", size)):
            for what in ("live", "freed"):
                assert figures[f"{who}.{what}_{name}"] <= most, f"{who} {what} {name}: {figures}"
        assert figures[f"{who}.peak_bytes"] <= size, f"{who}: {figures}"


@claim
def statistics_from_few_samples_are_marked_and_never_impossible():
    """Two samples of blocks of 100 bytes estimate 1,311 blocks, where 1,000 were allocated."""
    for seed in range(12):
        with Place() as place:
            settings = {**ON, f"{PREFIX}_BYTES": "64K", f"{PREFIX}_STATS": "1", "PLIMSOLL_SEED": seed}
            quiet(place, settings)
            figures = statistics(Path(place.profile().path).with_suffix(".stats"))
            assert figures["process.sample_bytes"] == 64 << 10 and figures["process.exact"] == 0, figures
            check_bounds(figures)


def extra(profile):
    """Live blocks that are not quiet's own: stdout's buffer, and what libc keeps."""
    return profile.total("allocated").samples - profile.total("gone").samples - 500


# ---- the name of the program ----


@claim
def a_profile_has_the_name_of_the_program_and_not_of_its_loader():
    profile = profiled(EVERYTHING)
    assert profile.comm == "quiet" and profile.executable == str(QUIET), (profile.comm, profile.executable)
    assert [thread.name for thread in profile.threads.values()] == ["quiet"]
    assert profile.command.split("\0")[0] == str(QUIET), profile.command
    with Place() as place:
        run(["/usr/bin/python3", "-c", "pass"], place, {**EVERYTHING, "PLIMSOLL_OUT": "%c.plim"})
        (path,) = place.files()
        assert path.name.startswith("python3"), path
        report = subprocess.run([PLIMSOLL, "report", path], capture_output=True, text=True).stdout
        title = "\n".join(report.splitlines()[:4])
        assert "python3" in title and "ld-linux" not in title, title


@claim
def only_is_compared_with_the_name_of_the_program():
    for names, profiles in (("quiet", 1), ("loud,quiet", 1), ("loud", 0), (SYSTEM_LOADER.name[:15], 0)):
        with Place() as place:
            quiet(place, {**EVERYTHING, "PLIMSOLL_ONLY": names})
            assert len(place.profiles()) == profiles, names


# ---- privileges ----


@claim
def a_setuid_program_is_not_profiled():
    """A program with our loader as its interpreter, run by another user, first without and then with the setuid bit."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Place() as place:
        library = place.live / "lib"
        library.mkdir()
        for path in (LOADER, LIBC):
            shutil.copy(path, library)  # other users may not be able to read the tree
        linked = place.live / "quiet"
        options = [f"-Wl,--dynamic-linker={library / LOADER.name}", f"-Wl,-rpath,{library}"]
        subprocess.run(["cc", "-O1", "-w", "-o", linked, TRAPS_SOURCE / "quiet.c", *options], check=True)
        others = {f"{PREFIX}_OUT": place.work / "out", f"{PREFIX}_STATS": "1", **tunables(prof=1, prof_bytes=1)}
        env = environment(place, **EVERYTHING, **others)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = finish(start([*as_nobody, linked], place, env))
        assert outcome(done) == (0, b"quiet\n", b"") and len(place.profiles()) == 1, "no profile without setuid"
        for path in place.work.iterdir():
            path.unlink()
        before = sorted(place.live.rglob("*"))
        linked.chmod(0o4755)
        done = finish(start([*as_nobody, linked], place, env))
        assert outcome(done) == (0, b"quiet\n", b""), done
        assert list(place.work.iterdir()) == [] and sorted(place.live.rglob("*")) == before


TRAPS_SOURCE = HERE.parent / "traps" / "programs"


# ---- with the preload ----


@claim
def the_preload_and_the_profiler_inside_glibc_give_two_profiles_of_one_process():
    with Place() as place:
        words = by_loader([QUIET], "--preload", RUNTIME)
        settings = {**EVERYTHING, f"{PREFIX}_OUT": "inside", "PLIMSOLL_SAMPLE": "1", "PLIMSOLL_OUT": "over.plim"}
        done = finish(start(words, place, environment(place, **settings)))
        assert outcome(done) == (0, b"quiet\n", b""), done
        profiles = place.profiles()
        assert sorted(Path(p.path).name.split(".")[0] for p in profiles) == ["inside", "over"], place.files()
        for profile in profiles:
            quiets = [row for row in profile.rows.values() if row.allocated.space == 100 * row.allocated.samples]
            assert sum(row.allocated.samples for row in quiets) >= 1000, profile.path


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
