# SPDX-License-Identifier: MIT
"""behaviour - programs behave in our glibc as in the system's, and their profiles are right.

again.py runs claims of other suites. The claims here are about glibc's malloc itself (its sizes, its heap, its
namespaces), or about programs started by the loader, as a user would start them.
"""

import signal
import subprocess
import sys

from front import *

ENTRIES = ("main", "master", "apprentice")  # of crew.c
FORKED = 1  # PL_FLAG_FORKED
END_EXIT = 1  # PL_END_EXIT
COPIES_OF_LIBC = 11  # in an unpatched glibc
OFF = {}
WAYS = {
    "off": OFF,
    "everything": EVERYTHING,
    "sometimes": {**ON, "GLIBC_MALLOC_PROFILE_BYTES": "4K", "PLIMSOLL_SEED": "1"},
    "rarely": ON,
    "exact": {**ON, "GLIBC_MALLOC_PROFILE_BYTES": "exact"},
}


class Sites:
    """What the functions of a program allocated, from the exported profile: calls, bytes, live blocks, live bytes."""

    METRICS = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")

    def __init__(self, path):
        self.json = export(path)

    def functions(self, site):
        return [self.json["frames"][i]["function"] for i in self.json["stacks"][site["stack"]]]

    def of(self, function):
        chosen = [site for site in self.json["sites"] if site["stack"] is not None and function in self.functions(site)]
        return tuple(sum(site[metric]["value"] for site in chosen) for metric in self.METRICS)

    def stacks(self, function):
        """The distinct stacks from `function` outwards within the program's own code. Beyond that names are libc's."""
        found = {tuple(self.functions(site)) for site in self.json["sites"] if site["stack"] is not None}
        return {own_part(stack[stack.index(function) :]) for stack in found if function in stack}


def own_part(stack):
    return stack[: 1 + next(i for i, name in enumerate(stack) if name in ENTRIES)]


def quiet_run(command, settings=EVERYTHING):
    """Runs a program and returns its sites and its profile."""
    with Place() as place:
        run(command, place, settings)
        path = place.profile().path
        return Sites(path), sound(path)


# ---- blocks ----


@claim
def sizes_contents_errno_and_the_heap_do_not_depend_on_samples():
    with Place() as place:
        said = {name: run([program("blocks")], place, settings).stdout for name, settings in WAYS.items()}
        if release() == SYSTEM_RELEASE:
            said["bare"] = finish(start([program("blocks")], place, environment(place))).stdout
        for name, text in said.items():
            assert text == said["off"], f"{name}:\n{text.decode()}\n-- off --\n{said['off'].decode()}"
        assert len(place.profiles()) == len(WAYS) - 1


@claim
def with_every_allocation_sampled_all_calls_and_live_blocks_are_at_their_sites():
    sites, profile = quiet_run([TRAPS / "quiet"])
    assert sites.of("quiet_allocate") == (1000, 100000, 500, 50000), sites.of("quiet_allocate")
    allocated = profile.total("allocated")
    assert allocated.samples == profile.calls and allocated.space == profile.bytes and lost(profile) == {}


def crew(words, settings):
    """(the calls that the program prints for its functions, the profile of the process, those of its children)"""
    with Place() as place:
        done = finish(start(words, place, environment(place, **settings)))
        assert done.returncode == 0 and done.stderr == b"", done
        told = {line.split()[0]: int(line.split()[1]) for line in done.stdout.decode().splitlines()}
        profiles = sorted(place.profiles(), key=lambda profile: profile.flags & FORKED)
        assert len(profiles) == 4, [p.path for p in profiles]
        return told, profiles[0], [Sites(profile.path) for profile in profiles]


def check_crew(words, settings):
    told, profile, (parent, *children) = crew(words, settings)
    live = {"crew_left": 10}
    for function, calls in told.items():
        figures = parent.of(function)
        assert (figures[0], figures[2]) == (calls, live.get(function, 0)), f"{function}: {figures}, {calls} calls made"
    for child in children:
        assert child.of("crew_child") == (500, 500 * 480, 250, 250 * 480), child.of("crew_child")
        assert child.of("crew_small")[0] == 0, "a child recorded allocations of its parent"
    assert lost(profile) == {}, lost(profile)
    return profile, parent


@claim
def threads_and_children_are_counted_exactly_in_both_modes_like_with_the_preload():
    words = [program("crew"), 3, 1000]
    preload = {"LD_PRELOAD": RUNTIME, "PLIMSOLL_SAMPLE": "exact"}
    _, expected = check_crew(words, preload)
    for settings in (EVERYTHING, WAYS["exact"]):
        profile, found = check_crew(by_loader(words), settings)
        for function in ("crew_small", "crew_table", "crew_aligned", "crew_grow", "crew_name", "crew_left"):
            assert found.of(function) == expected.of(function), (function, found.of(function), expected.of(function))
            assert found.stacks(function) == expected.stacks(function), (function, found.stacks(function))
        names = sorted(thread.name for thread in profile.threads.values())
        assert names == ["crew", "hand-1", "hand-101", "hand-102", "hand-103", "hand-2", "hand-3"], names


def link_static(place, name):
    """Links the program with our archive."""
    if not ARCHIVE.exists():
        raise Skip(f"{ARCHIVE} does not exist")
    static = place.work / name
    words = ["cc", "-O1", "-g", "-w", "-pthread", "-D_GNU_SOURCE", f"-I{SOURCE / 'include'}", "-o", static]
    linked = subprocess.run([*words, HERE / "programs" / f"{name}.c", *STATIC], capture_output=True, text=True)
    assert linked.returncode == 0, linked.stderr
    return static


@claim
def a_static_program_linked_with_our_archive_is_profiled():
    with Place() as place:
        static = link_static(place, "crew")
        profile, _ = check_crew([static, "3", "1000"], EVERYTHING)
        assert profile.comm == "crew", profile.comm
        done = finish(start([static, "1", "1"], place, environment(place)))
        assert done.returncode == 0 and plim.find(place.work, place.live) == [], "a file was left while off"


@claim
def a_block_is_recorded_before_posix_memalign_stores_its_address():
    for settings in (EVERYTHING, WAYS["exact"]):
        sites, profile = quiet_run([program("escapes")], settings)
        found = sites.of("escapes_allocate")
        assert found == (1, 1000, 1, 1000) and lost(profile) == {}, (found, lost(profile))


# ---- unusual programs ----


@claim
def a_child_of_a_program_that_changed_its_arguments_has_the_original_ones_in_its_profile():
    with Place() as place:
        run([program("arguments"), "word"], place, EVERYTHING)
        profiles = place.profiles()
        assert len(profiles) == 2, place.files()
        for profile in profiles:
            assert profile.command == f"{program('arguments')}\0word\0", profile.command
            assert profile.comm == "arguments" and profile.executable == program("arguments"), profile.comm
        (child,) = [profile for profile in profiles if profile.flags & FORKED]
        assert Sites(child.path).of("arguments_allocate")[0] == 300


@claim
def a_program_whose_ifunc_resolver_allocates_is_profiled():
    for settings in (EVERYTHING, WAYS["exact"]):
        sites, _ = quiet_run([program("resolver")], settings)
        assert sites.of("resolver_allocate") == (300, 30000, 0, 0), sites.of("resolver_allocate")


@claim
def in_a_sandbox_a_failed_spawn_does_not_end_the_profile_of_its_caller():
    with Place() as place:
        done = finish(start(by_loader([program("spawns")]), place, environment(place, **EVERYTHING)))
        assert outcome(done) == (5, b"", b""), done
        profile = place.profile()
        assert (profile.end, profile.exit_status) == (END_EXIT, 5), (profile.end, profile.exit_status)
        assert Sites(profile.path).of("spawns_allocate")[0] == 100


@claim
def when_switched_off_exec_and_exit_make_no_other_system_call():
    for function in ("execv", "execvp", "_exit"):
        with Place() as place:
            run([program("alone"), function], place, OFF)


# ---- threads ----


@claim
def two_thousand_short_threads_are_all_counted():
    sites, profile = quiet_run([TRAPS / "churn", 2000])
    assert sites.of("churn_allocate") == (20000, 20000 * 50, 0, 0), sites.of("churn_allocate")
    assert sum(thread.threads for thread in profile.threads.values()) == 2001 and lost(profile) == {}, lost(profile)


@claim
def signals_that_interrupt_malloc_anywhere_change_no_figure():
    for settings in (EVERYTHING, WAYS["sometimes"], WAYS["exact"]):
        with Place() as place:
            done = run([program("interrupted"), 2, 400], place, settings)
            calls, size, handled = (int(word) for word in done.stdout.split())
            profile = place.profile()
            workers = [t for t in profile.threads.values() if t.calls["realloc"]]
            seen = sum(t.all_calls for t in workers), sum(t.bytes for t in workers)
            assert seen == (calls, size) and handled >= 20, (seen, calls, size, handled)
            assert lost(profile) == {}, lost(profile)
            assert profile.total("allocated").samples - profile.total("gone").samples < 100


def code_of_the_profiler():
    """Where the profiler's code begins and ends in libc.so.6, without unlikely parts: its objects are adjacent."""
    listed = subprocess.run(["nm", LIBC], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in listed.splitlines()]
    code = {w[2]: int(w[0], 16) for w in words if len(w) == 3 and w[1] in "tT"}
    ours = sorted(at for name, at in code.items() if name.startswith("__pl_") and at > code["__libc_malloc"])
    if not ours:
        raise Skip(f"{LIBC} has no symbols")
    return f"{ours[0]:x}", f"{ours[-1]:x}"


@claim
def a_thread_thrown_out_of_the_profiler_by_longjmp_keeps_being_sampled():
    for settings in (EVERYTHING, WAYS["exact"]):
        with Place() as place:
            run([TRAPS / "thrown", LIBC, 300, *code_of_the_profiler()], place, settings)
            (path,) = place.files()
            found = Sites(path).of("afterwards_allocate")
            assert found == (20000, 2000000, 0, 0), f"{found}, {lost(plim.Profile(path))}"


# ---- the loader ----


@claim
def a_library_in_its_own_namespace_works_and_is_not_profiled():
    for settings in WAYS.values():
        with Place() as place:
            done = run([program("spaces"), PROGRAMS / "elsewhere.so", "elsewhere_work"], place, settings)
            assert done.stdout == b"300 times\n", done.stdout
            profiles = place.profiles()
            assert len(profiles) == (settings is not OFF), [p.path for p in profiles]
    sites, profile = quiet_run([program("spaces"), PROGRAMS / "elsewhere.so", "elsewhere_work"])
    assert sites.of("spaces_allocate") == (300, 300 * 123, 0, 0)
    assert sites.of("elsewhere_work")[0] == 0 and lost(profile) == {}


@claim
def a_block_may_be_freed_in_another_namespace():
    for settings in WAYS.values():
        with Place() as place:
            done = run([program("spaces"), PROGRAMS / "elsewhere.so", "elsewhere_work", "elsewhere_take"], place, settings)
            assert done.stdout == b"300 times\n", done.stdout


@claim
def there_is_room_for_as_many_namespaces_as_without_us():
    """Each copy of libc takes its thread-local variables from a reserve that the loader has for all of them."""
    with Place() as place:
        copies = {name: int(run([program("copies")], place, WAYS[name]).stdout) for name in ("off", "everything")}
        expected = COPIES_OF_LIBC
        if release() == SYSTEM_RELEASE:
            expected = int(finish(start([program("copies")], place, environment(place))).stdout)
        assert min(copies.values()) >= expected, f"{copies}, without us {expected}"


@claim
def modules_loaded_in_turn_at_one_address_keep_their_stacks():
    plugins = [TRAPS / f"libplugin_{name}.so" for name in ("one", "two")]
    sites, _ = quiet_run([TRAPS / "reload", 20, *plugins])
    assert sites.of("plugin_one_allocate")[:2] == (100, 11100), sites.of("plugin_one_allocate")
    assert sites.of("plugin_two_allocate")[:2] == (100, 22200), sites.of("plugin_two_allocate")


# ---- tags ----


def check_tags(words, place, settings):
    done = finish(start(words, place, environment(place, **settings)))
    assert outcome(done) == (0, b"loaded 1, active 1\ncounted 50 calls\n", b""), done
    path = place.profile().path
    found = export(path)
    live = {tag["path"]: [0, 0] for tag in found["tags"]}
    for site in found["sites"]:
        figures = live[found["tags"][site["tag"]]["path"]]
        figures[0] += site["alloc_space"]["value"]
        figures[1] += site["inuse_space"]["value"]
    assert live.get("outer") == [1000, 500] and live.get("outer/inner") == [20000, 10000], live


@claim
def a_program_that_uses_tags_needs_no_other_library():
    for settings in (EVERYTHING, WAYS["exact"]):
        with Place() as place:
            check_tags(by_loader([program("tagged")]), place, settings)


@claim
def a_static_program_that_uses_tags_needs_no_other_library():
    """Its references to the API are weak, and by themselves pull nothing from an archive."""
    with Place() as place:
        check_tags([link_static(place, "tagged")], place, EVERYTHING)


@claim
def when_switched_off_the_api_does_nothing():
    with Place() as place:
        done = run([program("tagged")], place, OFF)
        assert b"active 0\n" in done.stdout and b"no statistics: -" in done.stdout, done.stdout
        assert place.files() == []


# ---- the end ----


@claim
def after_kill_9_everything_is_in_the_live_file():
    for settings in (EVERYTHING, WAYS["exact"]):
        with Place() as place:
            words = by_loader([TRAPS / "ends", "return", "wait"])
            process = start(words, place, environment(place, **settings))
            assert process.stdout.readline() == b"ready\n"
            listed = subprocess.run([PLIMSOLL, "ls"], capture_output=True, text=True, env=environment(place)).stdout
            line = next((line for line in listed.splitlines() if line.split()[0] == str(process.pid)), "")
            process.send_signal(signal.SIGKILL)
            finish(process)
            assert plim.find(place.work) == [] and len(plim.find(place.live)) == 1, place.files()
            path = place.profile().path
            assert Sites(path).of("ends_allocate") == (300, 300 * 64, 200, 200 * 64), Sites(path).of("ends_allocate")
            assert " ends " in line, listed


if __name__ == "__main__":
    need_glibc()
    sys.exit(claims.main())
