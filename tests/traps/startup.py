# SPDX-License-Identifier: MIT
"""startup - how the runtime begins in a process: early, unnoticed, and not at all where it has no business."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from traps import *

AUTO = 3  # enum pl_mode
HUGE_KIB = 2 << 10  # of a huge page of x86-64

QUIET_CALLS, QUIET_BYTES = 1000, 100
LOADER = "/lib64/ld-linux-x86-64.so.2"


def runs_as_without_us(*command, **options):
    """Whatever becomes of the profile."""
    for settings in WAYS.values():
        place_of_run = place()
        without = bare(*command, at=place_of_run, **options)
        with_us = run(*command, at=place_of_run, settings=settings, **options)
        assert with_us.outcome() == without.outcome(), f"{with_us.outcome()} and not {without.outcome()}"
        assert without.status == 0, without.outcome()
        yield with_us


# ---- before there is an allocator ----


@claim
def a_dlsym_that_allocates_is_served_until_the_pool_is_empty_and_survives_that():
    behaves("pool")


@claim
def freeing_what_dlsym_allocated_is_ignored_also_after_fork():
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
def main_finds_errno_dlerror_descriptors_and_signals_as_without_us():
    behaves("start", "a", "b c")


@claim
def a_program_started_through_the_loader_reads_its_settings_and_arguments():
    at = place()
    options = {"at": at, "before": [LOADER]}
    assert run("start", "x", "y", **options).stdout == bare("start", "x", "y", at=place(), before=[LOADER]).stdout
    profile = run("quiet", settings={"PLIMSOLL_SAMPLE": "12345"}, before=[LOADER]).succeeds().profile()
    assert profile.interval_bytes == 12345, profile.interval_bytes


# ---- the environment ----


@claim
def an_environment_with_nothing_but_us_in_it_gives_a_profile_by_default_settings():
    at = place()
    ran = run("quiet", at=at, env={"LD_PRELOAD": str(RUNTIME)}).succeeds()
    profile = ran.profile()
    assert ran.stdout == b"quiet\n" and profile.mode == AUTO and profile.bad_settings == 0
    assert Path(profile.path).name == f"plimsoll.quiet.{profile.pid}.plim"


@claim
def rubbish_in_settings_is_ignored_and_noted_in_the_profile():
    variables = ["SAMPLE", "OUT", "ONLY", "LIVE_DIR", "MAX_FILE", "OFF", "OVERHEAD", "SEED", "RUN"]
    rubbish = ["-1", "12Q", "0", "K", "1KK", "0x10", " 5", "5 ", "9" * 20, "é", "\n", "%", "%n%s%p", "1.5"]
    numeric = {"SAMPLE", "MAX_FILE", "OFF", "OVERHEAD", "SEED"}
    for word in rubbish:
        good = {"0": {"SEED", "OFF"}, "1.5": {"OVERHEAD"}}.get(word, set())
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
def only_chooses_the_processes_to_profile():
    assert run("quiet", settings={"PLIMSOLL_ONLY": "loud,qui"}).succeeds().profiles() == []
    assert len(run("quiet", settings={"PLIMSOLL_ONLY": "loud,quiet"}).succeeds().profiles()) == 1


# ---- privileges ----


def link_quiet(at):
    """A setuid program ignores LD_PRELOAD by itself: link it with us to be there all the same."""
    source = HERE / "programs" / "quiet.c"
    linked = at / "linked"
    library = at / RUNTIME.resolve().name  # by its soname; the tree may be closed to the program's owner
    shutil.copy(RUNTIME, library)
    command = ["cc", "-o", linked, source, "-Wl,--no-as-needed", library, f"-Wl,-rpath,{at}"]
    subprocess.run(command, check=True)
    return linked


@claim
def a_setuid_program_is_left_entirely_alone():
    need_root()
    at = place()
    linked = link_quiet(at.live)
    env = environment(at, EVERYTHING, preload=())
    subprocess.run([linked], cwd=at.work, env=env, check=True, capture_output=True)
    assert len(plim.find(at.work)) == 1, "the control leaves no profile"
    plim.find(at.work)[0].unlink()
    shutil.chown(linked, "nobody")
    linked.chmod(0o4755)
    ran = subprocess.run([linked], cwd=at.work, env=env, check=True, capture_output=True)
    assert ran.stdout == b"quiet\n" and plim.find(at.work, at.live) == [] and list(at.work.iterdir()) == []


@claim
def a_program_without_rights_anywhere_runs_as_without_us():
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
def a_directory_that_does_not_exist_or_is_not_one_costs_the_profile_only():
    for directory in ("/nonexistent", "/dev/null", "/proc", str(HERE / "traps.py")):
        ran = run("quiet", settings={"PLIMSOLL_LIVE_DIR": directory, **EVERYTHING}).succeeds()
        assert ran.outcome() == (0, b"quiet\n", b"") and ran.profiles() == []


@claim
def where_the_destination_cannot_be_written_the_profile_stays_where_it_is():
    with small_tmpfs("size=1m") as mounted:
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
        ran = run("quiet", cwd=mounted, settings=EVERYTHING).succeeds()
        assert ran.stdout == b"quiet\n" and len(ran.live_files()) == 1
        assert Figures(ran.profile(), "quiet_allocate").live == QUIET_CALLS // 2


@claim
def a_full_file_system_costs_the_profile_only():
    with small_tmpfs("size=300k") as mounted:
        (mounted / "filler").write_bytes(b"x" * (200 << 10))
        ran = run("quiet", settings={"PLIMSOLL_LIVE_DIR": str(mounted), **EVERYTHING}).succeeds()
        assert ran.outcome() == (0, b"quiet\n", b"") and plim.find(mounted) == []
        for leftover in mounted.iterdir():
            assert leftover.name == "filler", leftover


@claim
def a_file_system_that_fills_up_later_costs_what_no_longer_fits():
    with small_tmpfs("size=300k") as mounted:
        settings = {"PLIMSOLL_LIVE_DIR": str(mounted), "PLIMSOLL_SAMPLE": "1"}
        ran = run("seccomp", "probe", settings=settings).succeeds()
        profile = ran.profile()
        assert profile.losses["file_full"] > 0
        assert profile.total("allocated").objects == profile.calls, "what found no room is in the overflow site"


@claim
def a_disk_without_room_for_the_finished_profile_leaves_it_on_tmpfs():
    with small_tmpfs("size=16k") as mounted:
        ran = run("quiet", cwd=mounted, settings=EVERYTHING).succeeds()
        assert len(ran.live_files()) == 1 and list(mounted.iterdir()) == []


@claim
def a_limit_on_file_size_is_never_run_into():
    for limit in (0, 100, 4096, 200 << 10, 256 << 10, 300 << 10):
        for ran in runs_as_without_us("quiet", **limited(FSIZE=limit)):
            ran.profiles()
    ran = run("seccomp", "probe", settings=EVERYTHING, **limited(FSIZE=256 << 10)).succeeds()
    assert ran.profile().losses["file_full"] > 0


@claim
def a_limit_on_descriptors_costs_growth_or_the_profile_only():
    for limit in (4, 5, 8, 64, 700, 701):
        for _ in runs_as_without_us("quiet", **limited(NOFILE=limit)):
            pass
    ran = run("seccomp", "probe", settings=EVERYTHING, **limited(NOFILE=64)).succeeds()
    assert lost(ran.profile()) == {}, "growth opens the file again"


@claim
def a_limited_address_space_stays_the_programs_own():
    for limit in (40, 64, 100, 300):
        for _ in runs_as_without_us("cramped", limit * 3 // 4, **limited(AS=limit << 20)):
            pass
    assert len(run("cramped", 75, settings=RARELY, **limited(AS=100 << 20)).succeeds().profiles()) == 1


@claim
def a_limited_stack_is_enough():
    for _ in runs_as_without_us("quiet", **limited(STACK=64 << 10)):
        pass


def resident(*arguments, **options):
    return int(run("footprint", *arguments, **options).succeeds().stdout)


def image_kib(library):
    """What the loader maps of a library, in whole pages. How many of them are code is the compiler's affair."""
    headers = subprocess.run(["readelf", "--segments", "--wide", library], check=True, capture_output=True, text=True)
    segments = [line.split() for line in headers.stdout.splitlines() if line.split()[:1] == ["LOAD"]]
    return sum(-(-(int(address, 16) % 4096 + int(bytes, 16)) // 4096) * 4 for _, _, address, _, _, bytes, *_ in segments)


@claim
def mlockall_does_not_make_our_reservations_resident():
    """It makes our image resident, as every library's. Besides, there are half a MiB of the file, whose mapping has
    64 MiB, and 436 KiB of tables."""
    need_root()
    without, with_us = resident("mlock", preload=()), resident("mlock", settings=EVERYTHING)
    more = with_us - without - image_kib(RUNTIME)
    assert more < 952, f"{more} KiB more than the image"


def large_mappings(smaps):
    """(KiB, flags) of what the kernel could make huge pages of: private and writable, not the program's own."""
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
    """With so many samples alive the last table, of 8 MiB, has just been begun. None may become huge pages (nh)."""
    if not Path("/sys/kernel/mm/transparent_hugepage").exists():
        raise Skip("no transparent huge pages here")
    ours = large_mappings_of_footprint(settings=EVERYTHING)
    assert sum(kib for kib, _ in ours) >= 8 << 10, f"there are no large tables: {ours}"
    assert all("nh" in flags for _, flags in ours), f"may become huge pages: {ours}"


@claim
def transparent_huge_pages_do_not_make_our_tables_resident():
    own = large_mappings_of_footprint(preload=())
    assert not own, f"the program has large mappings of its own: {own}"
    check_tables()


# ---- sizes ----


@claim
def asking_for_more_than_there_is_fails_as_without_us_and_is_no_allocation():
    profile = behaves("huge")["everything"].profile()
    asked = Figures(profile, "ask_for")
    assert asked.allocated.samples == 8 and asked.allocated.space == 64, "but the block that is to be moved"
    assert Figures(profile, "huge_allocate").allocated.samples == 65536
    assert profile.bytes < 66 << 20, profile.bytes


@claim
def a_thread_that_asked_for_more_than_there_is_keeps_being_sampled():
    profile = run("huge", settings={"PLIMSOLL_SAMPLE": "64K"}).succeeds().profile()
    expected = 65536 * (1024 + profile.call_charge) / (64 << 10)
    samples = Figures(profile, "huge_allocate").allocated.samples
    assert abs(samples - expected) < 6 * expected**0.5, f"{samples} samples, {expected:.0f} expected"


# ---- sandboxes ----


def sandboxed(how, **options):
    """Runs in every way; what was allocated inside is in the profile, at its site or as overflow."""
    for ran in behaves("seccomp", how, **options).values():
        for profile in ran.profiles():
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
def what_is_allocated_inside_a_sandbox_is_in_the_profile():
    profile = sampled("seccomp", "prctl")
    inside = Figures(profile, "seccomp_allocate")
    assert inside.allocated.samples == 3000 and inside.live == 0, inside.allocated
    assert lost(profile) == {}, lost(profile)


@claim
def strict_mode_finds_no_system_call_of_ours():
    for profile in sandboxed("strict"):
        assert profile.total("allocated").objects == profile.calls or profile.interval_bytes > 1


@claim
def a_child_that_enters_a_sandbox_at_once_survives():
    behaves("seccomp", "worker")


@claim
def a_fork_inside_a_sandbox_survives():
    behaves("seccomp", "forks")


@claim
def an_exec_inside_a_sandbox_asks_for_nothing_else():
    for _ in sandboxed("exec"):
        pass


@claim
def threads_started_inside_a_sandbox_survive():
    for _ in sandboxed("threads"):
        pass


@claim
def asking_whether_there_are_sandboxes_changes_nothing():
    profile = sampled("seccomp", "probe")
    assert not profile.flags & 4 and lost(profile) == {}, lost(profile)
    assert Figures(profile, "seccomp_allocate").allocated.samples == 3000


if __name__ == "__main__":
    sys.exit(main())
