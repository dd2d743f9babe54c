# SPDX-License-Identifier: MIT
"""loader - modules that come and go, locks that are held meanwhile, and programs that never reach us."""

import subprocess
import sys

from traps import *


def library(name):
    return str(PROGRAMS / f"lib{name}.so")


@claim
def allocating_under_the_loaders_lock_does_not_wait_for_it():
    profile = sampled("modules")
    figures = Figures(profile, "modules_allocate")
    assert figures.allocated.samples == 3 * 2 * 200 and figures.live == 0, figures.allocated


@claim
def a_constructor_may_wait_for_a_thread_that_makes_every_call_we_stand_in_front_of():
    behaves("reload", "2", library("plugin_busy"))


def plugin_figures(profile):
    """name of the function -> (its blocks' sizes by the samples, the module it was found in)"""
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
def a_plugin_that_comes_back_unchanged_is_the_same_module_again():
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
    assert figures.live <= 250, "each address that came back was given back first"


@claim
def a_program_with_an_allocator_of_its_own_keeps_it():
    for ran in behaves("own").values():
        for profile in ran.profiles():
            assert profile.calls == 0, "nobody called us"


@claim
def a_static_program_runs_and_leaves_nothing():
    at = place()
    static = at.live / "static"
    subprocess.run(["cc", "-static", "-o", static, HERE / "programs" / "quiet.c"], check=True)
    ran = subprocess.run([static], cwd=at.work, env=environment(at, EVERYTHING, [RUNTIME]), capture_output=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"quiet\n", b"") and plim.find(at.work, at.live) == []


if __name__ == "__main__":
    sys.exit(main())
