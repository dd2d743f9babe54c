# SPDX-License-Identifier: MIT
"""loader - modules that are loaded and unloaded, the loader's locks, and programs that we cannot profile."""

import subprocess
import sys

from traps import *


def library(name):
    return str(PROGRAMS / f"lib{name}.so")


@claim
def allocating_never_waits_for_the_loaders_lock():
    profile = sampled("modules")
    figures = Figures(profile, "modules_allocate")
    assert figures.allocated.samples == 3 * 2 * 200 and figures.live == 0, figures.allocated


@claim
def a_constructor_may_wait_for_a_thread_that_makes_every_call_we_intercept():
    behaves("reload", "2", library("plugin_busy"))


def plugin_figures(profile):
    """(function, its module) -> (samples, bytes)"""
    found = {}
    for row in profile.rows.values():
        stack = profile.stack(profile.sites[row.site][1])
        innermost = names(profile, profile.sites[row.site][1])[0] if stack else None
        if innermost and innermost.startswith("plugin_"):
            path = profile.modules[stack[0][0]].path
            samples, space = found.get((innermost, path), (0, 0))
            found[innermost, path] = samples + row.allocated.samples, space + row.allocated.space
    return found


@claim
def a_plugin_loaded_where_another_was_does_not_inherit_its_stacks():
    for settings in (EVERYTHING, {**EVERYTHING, "PLIMSOLL_MAX_FILE": "64M"}):
        ran = run("reload", 40, library("plugin_one"), library("plugin_two"), settings=settings).succeeds()
        assert ran.stdout == b"all at the same address\n", ran.stdout
        profile = ran.profile()
        assert plugin_figures(profile) == {
            ("plugin_one_allocate", library("plugin_one")): (200, 200 * 111),
            ("plugin_two_allocate", library("plugin_two")): (200, 200 * 222),
        }, plugin_figures(profile)
        assert profile.unloads >= 40


@claim
def a_plugin_that_is_loaded_again_is_the_same_module():
    profile = sampled("reload", 50, library("plugin_one"))
    paths = [m.path for m in profile.modules.values()]
    assert paths.count(library("plugin_one")) <= 2, paths
    assert plugin_figures(profile) == {("plugin_one_allocate", library("plugin_one")): (500, 500 * 111)}


@claim
def blocks_exchanged_with_a_deep_bound_plugin_are_booked_as_missed_when_their_address_returns():
    profile = sampled("deepbind", library("plugin_deep"))
    figures = Figures(profile, "deepbind_allocate")
    assert figures.allocated.samples == 1500 and figures.live >= 0
    assert profile.losses["missed_free"] > 0
    assert figures.live <= 250, "an address was allocated again without counting its first block as freed"


@claim
def the_profile_names_the_first_module_that_was_loaded_past_us():
    assert sampled("deepbind", library("plugin_deep")).bypass_scope == library("plugin_deep")
    assert sampled("reload", 2, library("plugin_one")).bypass_scope == ""


OPENER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int mode = RTLD_NOW | (argc > 2 ? RTLD_DEEPBIND : 0);
    void *found = argc > 3 ? dlmopen(LM_ID_NEWLM, argv[1], mode) : dlopen(argv[1], mode);
    printf("%s\\n", found ? "found" : dlerror());
}
"""


@claim
def a_module_is_still_found_by_the_run_path_of_the_program_that_opens_it():
    at = place()
    (at.work / "opener.c").write_text(OPENER)
    (at.work / "below").mkdir()
    subprocess.run(["cp", library("plugin_one"), at.work / "below" / "libonly_here.so"], check=True)
    command = ["cc", "-o", at.work / "opener", at.work / "opener.c", "-Wl,-rpath,$ORIGIN/below"]
    subprocess.run(command, check=True)
    for more, bypass in ([], ""), (["deep"], "libonly_here.so"), (["deep", "apart"], "libonly_here.so"):
        here = place()
        ran = subprocess.run(
            [at.work / "opener", "libonly_here.so", *more],
            cwd=here.work,
            env=environment(here, EVERYTHING, [RUNTIME]),
            capture_output=True,
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"found\n", b""), ran
        [path] = plim.find(here.work, here.live)
        assert sound(path).bypass_scope == bypass, (more, sound(path).bypass_scope)


@claim
def a_program_with_an_allocator_linked_in_keeps_it():
    for ran in behaves("own").values():
        assert ran.profiles(), "there is no profile"


@claim
def an_allocator_that_is_linked_in_as_malloc_is_seen():
    for ran in behaves("own").values():
        for profile in ran.profiles():
            assert profile.calls >= 100, profile.calls
            assert profile.bypass_malloc == profile.bypass_linked == "", profile.bypass_malloc


@claim
def an_allocator_preloaded_in_front_of_us_keeps_its_calls_and_the_profile_says_so():
    if not ALLOCATORS:
        raise Skip("no other allocator is installed")
    for path in ALLOCATORS.values():
        ahead = run("quiet", settings=EVERYTHING, preload=(path, RUNTIME)).succeeds().profile()
        assert ahead.calls == 0 and Path(ahead.bypass_malloc).name == Path(path).name, ahead.bypass_malloc
        behind = run("quiet", settings=EVERYTHING, preload=(RUNTIME, path)).succeeds().profile()
        assert behind.calls >= 1000 and behind.bypass_malloc == "", behind.bypass_malloc
        assert behind.bypass_linked == "", "it exports other names for its malloc, which is behind ours"


LINKED = """
#include <stdlib.h>
#include <sys/mman.h>
void *je_malloc(size_t n) { return mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) { free(malloc(1000)); return !je_malloc(1 << 20); }
"""


@claim
def an_allocator_that_is_linked_in_and_exported_under_its_own_names_is_in_the_profile():
    at = place()
    (at.work / "linked.c").write_text(LINKED)
    for option, expected in ("-rdynamic", str(at.work / "linked")), ("-O0", ""):
        subprocess.run(["cc", option, "-o", at.work / "linked", at.work / "linked.c"], check=True)
        here = place()
        subprocess.run([at.work / "linked"], cwd=here.work, env=environment(here, EVERYTHING, [RUNTIME]), check=True)
        [path] = plim.find(here.work, here.live)
        profile = sound(path)
        assert (profile.bypass_malloc, profile.bypass_linked) == ("", expected), (option, profile.bypass_linked)


FORWARDER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t n)
{
    static void *(*next)(size_t);
    if (!next)
        next = (void *(*) (size_t)) dlsym(RTLD_NEXT, "malloc");
    return next(n);
}
"""


@claim
def a_library_in_front_of_us_that_forwards_its_calls_is_no_obstacle():
    at = place()
    (at.work / "forwarder.c").write_text(FORWARDER)
    forwarder = at.work / "libforwarder.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", forwarder, at.work / "forwarder.c"], check=True)
    profile = run("quiet", settings=EVERYTHING, preload=(forwarder, RUNTIME)).succeeds().profile()
    assert profile.calls >= 1000 and profile.bypass_malloc == "", profile.bypass_malloc


@claim
def a_static_program_runs_and_leaves_no_profile():
    at = place()
    static = at.live / "static"
    subprocess.run(["cc", "-static", "-o", static, HERE / "programs" / "quiet.c"], check=True)
    ran = subprocess.run([static], cwd=at.work, env=environment(at, EVERYTHING, [RUNTIME]), capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"quiet\n", b"") and plim.find(at.work, at.live) == []


if __name__ == "__main__":
    sys.exit(main())
