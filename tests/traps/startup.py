# SPDX-License-Identifier: MIT
"""startup - the runtime starts early and unnoticed, and not at all in processes that it must not profile."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from traps import *

AUTO = 3  # enum pl_mode
HUGE_KIB = 2 << 10  # the size of a huge page, with pages of 4 KiB

QUIET_CALLS, QUIET_BYTES = 1000, 100
LOADER = str(built.SYSTEM_LOADER)


def runs_as_without_us(*command, **options):
    """The program behaves as without us. Nothing is said about the profile."""
    for settings in WAYS.values():
        place_of_run = place()
        without = bare(*command, at=place_of_run, **options)
        with_us = run(*command, at=place_of_run, settings=settings, **options)
        assert with_us.outcome() == without.outcome(), f"{with_us.outcome()} and not {without.outcome()}"
        assert without.status == 0, without.outcome()
        yield with_us


# ---- before there is an allocator ----


@claim
def a_dlsym_that_allocates_gets_memory_until_the_pool_is_empty_and_survives_that():
    behaves("pool")


@claim
def freeing_what_dlsym_allocated_is_ignored_even_after_fork():
    behaves("pool", "free")


@claim
def an_ifunc_resolver_may_allocate_before_we_are_relocated():
    behaves("ifunc")


@claim
def constructors_of_other_libraries_may_allocate_fork_and_start_threads_before_ours():
    runs = behaves("early")["everything"]
    profile = next(p for p in runs.profiles() if not p.flags & 1)
    early = Figures(profile, "early_allocate")
    assert early.allocated.samples >= 600, early.allocated
    assert early.allocated.space >= 500 * 501 / 2 + 100 * 10


@claim
def tables_of_exit_handlers_are_seen_to_be_freed():
    """The library registers its handlers before our constructor runs, so exit() frees their tables late."""
    profile = next(p for p in behaves("early")["everything"].profiles() if not p.flags & 1)
    tables = Figures(profile, "early_register")
    assert tables.allocated.samples >= 5 and tables.live == 0, (tables.allocated, tables.live)


@claim
def main_finds_errno_dlerror_descriptors_and_signals_unchanged():
    behaves("start", "a", "b c")


@claim
def a_program_started_through_the_loader_gets_its_settings_and_arguments():
    at = place()
    options = {"at": at, "before": [LOADER]}
    assert run("start", "x", "y", **options).stdout == bare("start", "x", "y", at=place(), before=[LOADER]).stdout
    profile = run("quiet", settings={"PLIMSOLL_SAMPLE": "12345"}, before=[LOADER]).succeeds().profile()
    assert profile.interval_bytes == 12345, profile.interval_bytes


# ---- the environment ----


@claim
def an_environment_with_nothing_but_us_in_it_gives_a_profile_with_default_settings():
    at = place()
    ran = run("quiet", at=at, env={"LD_PRELOAD": str(RUNTIME)}).succeeds()
    profile = ran.profile()
    assert ran.stdout == b"quiet\n" and profile.mode == AUTO and profile.bad_settings == 0
    assert Path(profile.path).name == f"plimsoll.quiet.{profile.pid}.plim"


@claim
def invalid_settings_are_ignored_and_recorded_in_the_profile():
    # In the order of their bits in bad_settings.
    variables = re.findall(r'"PLIMSOLL_(\w+)"', (built.SOURCE / "src/format/settings.h").read_text())
    rubbish = ["-1", "12Q", "0", "K", "1KK", "0x10", " 5", "5 ", "9" * 20, "é", "\n", "%", "%n%s%p", "1.5"]
    numeric = set(variables) - {"OUT", "ONLY", "LIVE_DIR", "RUN"}
    for word in rubbish:
        good = {"0": {"SEED", "OFF", "NO_MAPPINGS", "PYTHON_OBJECTS", "ABOVE", "BELOW"}, "1.5": {"OVERHEAD"}}.get(word, set())
        bad = numeric - good
        settings = {"PLIMSOLL_" + v: word for v in numeric}
        ran = run("quiet", settings=settings).succeeds()
        assert ran.stdout == b"quiet\n" and ran.stderr == b"", ran.outcome()
        profile = ran.profile()
        assert profile.bad_settings == sum(1 << variables.index(v) for v in bad), (word, bin(profile.bad_settings))
        assert profile.mode == AUTO
    for word in rubbish + ["x" * 5000, "/", "//", "/nonexistent/x", "../" * 2000]:
        for variable in variables:
            ran = run("quiet", settings={"PLIMSOLL_" + variable: word}).succeeds()
            assert ran.stdout == b"quiet\n" and ran.stderr == b"", (variable, word, ran.outcome())


@claim
def only_the_selected_processes_are_profiled():
    assert run("quiet", settings={"PLIMSOLL_ONLY": "loud,qui"}).succeeds().profiles() == []
    assert len(run("quiet", settings={"PLIMSOLL_ONLY": "loud,quiet"}).succeeds().profiles()) == 1


# ---- privileges ----


def link_quiet(at):
    """A setuid program ignores LD_PRELOAD by itself. It must be linked with us for this test to mean anything."""
    source = HERE / "programs" / "quiet.c"
    linked = at / "linked"
    library = at / RUNTIME.resolve().name  # its soname; other users may not be able to read the tree
    shutil.copy(RUNTIME, library)
    command = ["cc", "-o", linked, source, "-Wl,--no-as-needed", library, f"-Wl,-rpath,{at}"]
    subprocess.run(command, check=True)
    return linked


@claim
def a_setuid_program_is_not_profiled():
    need_root()
    at = place()
    linked = link_quiet(at.live)
    env = environment(at, EVERYTHING, preload=())
    subprocess.run([linked], cwd=at.work, env=env, check=True, capture_output=True)
    assert len(plim.find(at.work)) == 1, "without setuid the program should leave a profile"
    plim.find(at.work)[0].unlink()
    shutil.chown(linked, "nobody")
    linked.chmod(0o4755)
    ran = subprocess.run([linked], cwd=at.work, env=env, check=True, capture_output=True)
    assert ran.stdout == b"quiet\n" and plim.find(at.work, at.live) == [] and list(at.work.iterdir()) == []


@claim
def a_program_without_write_permission_anywhere_runs_as_without_us():
    need_root()
    at = place()
    at.live.chmod(0o755)
    before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    readable = at.work / "quiet"
    shutil.copy(program("quiet"), readable)
    shutil.copy(RUNTIME, at.work / "libplimsoll.so")
    at.work.chmod(0o755)
    env = environment(at, {"PLIMSOLL_ONLY": "quiet", **EVERYTHING}, preload=[at.work / "libplimsoll.so"])
    ran = subprocess.run([*before, readable], cwd=at.work, env=env, capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"quiet\n", b""), ran
    assert plim.find(at.work, at.live) == []


# ---- limits ----


@claim
def without_a_usable_live_directory_the_profile_is_made_at_its_destination():
    for directory in ("/nonexistent", "/dev/null", "/proc", str(HERE / "traps.py")):
        ran = run("quiet", settings={"PLIMSOLL_LIVE_DIR": directory, **EVERYTHING}).succeeds()
        assert ran.outcome() == (0, b"quiet\n", b"") and len(ran.profiles()) == 1


@claim
def without_any_usable_directory_the_program_runs_without_a_profile():
    settings = {"PLIMSOLL_LIVE_DIR": "/proc", "PLIMSOLL_OUT": "/nonexistent/x.plim", **EVERYTHING}
    ran = run("quiet", settings=settings).succeeds()
    assert ran.outcome() == (0, b"quiet\n", b"") and ran.profiles() == []


@claim
def a_profile_with_an_unwritable_destination_stays_in_the_live_directory():
    with small_tmpfs("size=1m") as mounted:
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
        ran = run("quiet", cwd=mounted, settings=EVERYTHING).succeeds()
        assert ran.stdout == b"quiet\n" and len(ran.live_files()) == 1
        assert Figures(ran.profile(), "quiet_allocate").live == QUIET_CALLS // 2


@claim
def on_a_full_file_system_nothing_is_left_and_the_profile_is_made_at_its_destination():
    with small_tmpfs("size=300k") as mounted:
        (mounted / "filler").write_bytes(b"x" * (200 << 10))
        ran = run("quiet", settings={"PLIMSOLL_LIVE_DIR": str(mounted), **EVERYTHING}).succeeds()
        assert ran.outcome() == (0, b"quiet\n", b"") and plim.find(mounted) == [] and len(ran.profiles()) == 1
        for leftover in mounted.iterdir():
            assert leftover.name == "filler", leftover


@claim
def a_file_system_that_fills_up_later_costs_only_what_no_longer_fits():
    with small_tmpfs("size=300k") as mounted:
        settings = {"PLIMSOLL_LIVE_DIR": str(mounted), "PLIMSOLL_SAMPLE": "1"}
        ran = run("seccomp", "probe", settings=settings).succeeds()
        profile = ran.profile()
        assert profile.losses["file_full"] > 0
        assert profile.total("allocated").objects == profile.calls, "the overflow site should have the rest"


@claim
def a_finished_profile_without_room_on_its_disk_stays_on_tmpfs():
    with small_tmpfs("size=16k") as mounted:
        ran = run("quiet", cwd=mounted, settings=EVERYTHING).succeeds()
        assert len(ran.live_files()) == 1 and list(mounted.iterdir()) == []


@claim
def a_limit_of_file_size_is_never_exceeded():
    for limit in (0, 100, 4096, 200 << 10, 256 << 10, 300 << 10):
        for ran in runs_as_without_us("quiet", **limited(FSIZE=limit)):
            ran.profiles()
    ran = run("seccomp", "probe", settings=EVERYTHING, **limited(FSIZE=256 << 10)).succeeds()
    assert ran.profile().losses["file_full"] > 0


@claim
def a_limit_of_descriptors_costs_only_the_profile():
    for limit in (4, 5, 8, 64):
        for _ in runs_as_without_us("quiet", **limited(NOFILE=limit)):
            pass
    ran = run("seccomp", "probe", settings=EVERYTHING, **limited(NOFILE=64)).succeeds()
    assert lost(ran.profile()) == {}, "growth should need no descriptor"


@claim
def a_limited_address_space_is_left_to_the_program():
    for limit in (40, 64, 100, 300):
        for _ in runs_as_without_us("cramped", limit * 3 // 4, **limited(AS=limit << 20)):
            pass
    assert len(run("cramped", 75, settings=RARELY, **limited(AS=100 << 20)).succeeds().profiles()) == 1


@claim
def a_program_that_limits_its_own_address_space_has_nearly_all_of_it():
    """Without us it has 4 MiB when it sets the limit. We may take 10 MiB more."""
    behaves("cramped", 50, 64)
    behaves("cramped", 25, 40)


@claim
def where_blocks_cannot_be_followed_auto_mode_samples_them():
    """10,000 blocks of 64 bytes: at 64 KiB, 19 samples are expected. Exact mode would need 5 MiB of address space. The
    budget is large: with 2% a busy machine would get a larger interval."""
    profile = run("cramped", 4, settings={"PLIMSOLL_SAMPLE": "auto", "PLIMSOLL_OVERHEAD": "100%"},
                  **limited(AS=24 << 20)).succeeds().profile()
    assert profile.losses["live_full"] <= 1, lost(profile)
    assert Figures(profile, "main").live >= 5, Figures(profile, "main").allocated


@claim
def a_limited_stack_is_enough():
    for _ in runs_as_without_us("quiet", **limited(STACK=64 << 10)):
        pass


def resident(*arguments, **options):
    return int(run("footprint", *arguments, **options).succeeds().stdout)


def image_kib(library):
    """What the loader maps of a library, in whole pages."""
    headers = subprocess.run(["readelf", "--segments", "--wide", library], check=True, capture_output=True, text=True)
    segments = [line.split() for line in headers.stdout.splitlines() if line.split()[:1] == ["LOAD"]]
    return sum(-(-(int(address, 16) % 4096 + int(bytes, 16)) // 4096) * 4 for _, _, address, _, _, bytes, *_ in segments)


@claim
def mlockall_does_not_make_our_reservations_resident():
    """It makes our image resident, like that of every library. In addition there are half a MiB of the file, which
    may have 256 MiB, and 708 KiB of tables: 256 of them recognize the stacks of a thread that draws many samples."""
    need_root()
    without, with_us = resident("mlock", preload=()), resident("mlock", settings=EVERYTHING)
    more = with_us - without - image_kib(RUNTIME)
    assert more < 1224, f"{more} KiB more than the image"


def large_mappings(smaps):
    """(KiB, flags) of mappings that could become huge pages: private and writable, neither heap nor stack."""
    for text in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", smaps, flags=re.M)[1:]:
        kib = int(re.search(r"^Size: +(\d+) kB", text, re.M)[1])
        flags = re.search(r"^VmFlags: (.*)", text, re.M)
        if not flags:
            raise Skip("the kernel does not show the flags of mappings")
        head = text.splitlines()[0]
        if kib >= HUGE_KIB and head.split()[1] == "rw-p" and not head.endswith(("[heap]", "[stack]")):
            yield kib, flags[1].split()


def large_mappings_of_footprint(**options):
    return list(large_mappings(run("footprint", "smaps", 60000, **options).succeeds().stdout.decode()))


def check_tables():
    """With this many live samples the last table, of 8 MiB, has just been started. None may become huge pages (nh)."""
    if not Path("/sys/kernel/mm/transparent_hugepage").exists():
        raise Skip("no transparent huge pages here")
    ours = large_mappings_of_footprint(settings=EVERYTHING)
    assert sum(kib for kib, _ in ours) >= 8 << 10, f"there are no large tables: {ours}"
    assert all("nh" in flags for _, flags in ours), f"may become huge pages: {ours}"


@claim
def transparent_huge_pages_do_not_make_our_tables_resident():
    own = large_mappings_of_footprint(preload=())
    assert not own, f"the program itself has large mappings: {own}"
    check_tables()


# ---- sizes ----


@claim
def a_request_that_is_too_large_fails_as_without_us_and_is_not_counted():
    profile = behaves("huge")["everything"].profile()
    asked = Figures(profile, "ask_for")
    assert asked.allocated.samples == 8 and asked.allocated.space == 64, "expected only the block that is reallocated"
    assert Figures(profile, "huge_allocate").allocated.samples == 65536
    assert profile.bytes < 66 << 20, profile.bytes


@claim
def a_thread_that_requested_too_much_keeps_being_sampled():
    profile = run("huge", settings={"PLIMSOLL_SAMPLE": "64K"}).succeeds().profile()
    expected = 65536 * (1024 + profile.call_charge) / (64 << 10)
    samples = Figures(profile, "huge_allocate").allocated.samples
    assert abs(samples - expected) < 6 * expected**0.5, f"{samples} samples, {expected:.0f} expected"


# ---- sandboxes ----


def sandboxed(how, **options):
    """Runs in every way. The profiles that it leaves are marked as sandboxed."""
    for ran in behaves("seccomp", how, **options).values():
        profiles = ran.profiles()
        assert profiles, "no profile was left"
        for profile in profiles:
            assert profile.flags & 4, "not marked as sandboxed"
            yield profile


@claim
def a_seccomp_filter_entered_by_prctl_does_not_kill_us():
    for profile in sandboxed("prctl"):
        assert profile.end == plim.ENDS.index("exit")


@claim
def a_seccomp_filter_entered_by_syscall_does_not_kill_us():
    for profile in sandboxed("syscall"):
        assert profile.end == plim.ENDS.index("exit")


@claim
def allocations_inside_a_sandbox_are_in_the_profile():
    profile = sampled("seccomp", "prctl")
    inside = Figures(profile, "seccomp_allocate")
    assert inside.allocated.samples == 3000 and inside.live == 0, inside.allocated
    assert lost(profile) == {}, lost(profile)


@claim
def a_program_that_enters_a_sandbox_before_its_first_allocation_is_counted_exactly():
    ran = behaves("seccomp", "first", ways={"exact": {"PLIMSOLL_SAMPLE": "exact"}})["exact"]
    profile = ran.profile()
    allocated, gone = profile.total("allocated"), profile.total("gone")
    assert allocated.objects == 1501 and allocated.space == 1500 * 100 + 77, allocated
    assert allocated.space - gone.space == 77 and allocated.objects - gone.objects == 1, gone
    assert lost(profile) == {}, lost(profile)


@claim
def in_strict_mode_we_make_no_system_call():
    for profile in sandboxed("strict"):
        assert profile.total("allocated").objects == profile.calls or profile.interval_bytes > 1


@claim
def a_child_that_enters_a_sandbox_at_once_survives():
    behaves("seccomp", "worker")


@claim
def a_fork_inside_a_sandbox_survives():
    behaves("seccomp", "forks")


@claim
def an_exec_inside_a_sandbox_makes_no_other_system_call():
    for _ in sandboxed("exec"):
        pass


@claim
def threads_started_inside_a_sandbox_survive():
    for _ in sandboxed("threads"):
        pass


@claim
def asking_whether_sandboxes_are_available_changes_nothing():
    profile = sampled("seccomp", "probe")
    assert not profile.flags & 4 and lost(profile) == {}, lost(profile)
    assert Figures(profile, "seccomp_allocate").allocated.samples == 3000


if __name__ == "__main__":
    sys.exit(main())
