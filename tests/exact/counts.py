# SPDX-License-Identifier: MIT
"""counts - in exact mode every count and every byte is right: per site, per thread, and in total.

Each program of programs/ keeps a ledger of what it does. The profile must have the same figures.
"""

import functools
import json
import random
import sys

# First, because it adds tests/lib to the path.
from profiles import BUILD, PROGRAMS, Figures, Place, Profile, check_exact, compare, expect
import allocators
import claims
import plim
from claims import claim, say

BUMP = BUILD / "tests" / "kill" / "bump.so"
TURNS = {1: 20000, 2: 8000, 8: 3000}  # turns of each thread, by the number of threads
KILLS = 3


def check(program, *words, behind=(), per_thread=True, without=(), **options):
    """Runs a program, compares, and returns both accounts."""
    with Place() as place:
        place.run(program, *words, behind=behind, **options)
        profile, ledger = place.profile(), place.ledger()
        check_exact(profile, ledger, per_thread, without)
        assert profile.json["totals"]["alloc_objects"]["value"] > 0
        return profile, ledger, place.stdout


# ---- counting ----

for a_number, the_turns in TURNS.items():
    claims.add(
        f"every call and byte of {a_number} thread{'s' * (a_number > 1)} is counted, with every allocation function",
        functools.partial(check, "counts", a_number, the_turns, "alone"),
    )
    if a_number > 1:
        claims.add(
            f"{a_number} threads that free and move each other's blocks are counted exactly",
            functools.partial(check, "counts", a_number, the_turns, "together"),
        )

claims.add("blocks that one thread allocates and another frees are counted exactly",
           functools.partial(check, "pipeline", 4, 5000))


@claim
def a_thread_that_frees_many_blocks_of_another_has_records_of_its_own_for_them():
    with Place() as place:
        place.run("pipeline", 2, 5000)
        check_exact(place.profile(), place.ledger())
        file = plim.Profile(place.files()[0])
        own = sum(remote.calls for remote in file.remotes.values() if remote.thread)
        freed = sum(remote.calls for remote in file.remotes.values())
        say(f"{own} of {freed} frees in records of their threads")
        assert freed >= 2 * 4500 and own >= 0.5 * freed
        tids = {remote.thread for remote in file.remotes.values() if remote.thread}
        assert len(tids) == 2, f"{len(tids)} threads have records, should be the two that free"
        expect(file.problems())


claims.add("realloc is counted exactly: moved, in place, shrinking, to zero, from null and failing",
           functools.partial(check, "reallocs"))
claims.add("the whole family is counted, and failures are not", functools.partial(check, "family"))
claims.add("recursion down to 100,000 frames loses nothing", functools.partial(check, "deep"))
claims.add("containers and every operator new are counted once",
           functools.partial(check, "standard", without=("temporaries",)))
claims.add("10,000 short threads are counted exactly", functools.partial(check, "shorts", 10000, per_thread=False))

for a_way in ("return", "exit", "_exit"):
    claims.add(f"frees by exit handlers are counted as such, after {a_way}", functools.partial(check, "leaving", a_way))


def check_over(allocator):
    behind = [allocators.need(allocator)]
    check("counts", 2, 10000, "together", behind=behind)
    check("family", "modest", behind=behind)


for an_allocator in allocators.LIBRARIES:
    claims.add(f"over {an_allocator} counts are exact", functools.partial(check_over, an_allocator))


@claim
def a_program_that_allocates_little_is_counted_exactly_in_auto_mode():
    profile, _, _ = check("counts", 2, 5000, "together", sample="auto")
    assert profile.json["sampling"]["mode"] == "auto" and profile.json["sampling"]["samples"] == 0


@claim
def what_auto_mode_counted_before_it_began_to_sample_can_be_freed_afterwards():
    with Place() as place:
        place.run("counts", 2, 250000, "cleanly", sample="auto")
        profile, true = place.profile(), place.ledger().by_site()
    say(f"{profile.json['sampling']['method']}; {profile.json['auto']}")
    assert profile.json["auto"]["left_exact"], "auto mode stayed exact, so nothing was tested"
    assert profile.json["sampling"]["samples"], "nothing was sampled"
    seen = profile.by_site()
    expect(f"{site}: {seen[site]} in the profile, should be {true[site]}" for site in true
           if round(seen[site].live_calls) or round(seen[site].live_bytes))
    calls = sum(figures["calls"] for figures in true.values())
    functions = profile.json["totals"]["alloc_objects"]["value"]
    assert 0 <= functions - calls < 10, f"{functions} calls in all, should be {calls} and those of two new threads"


@claim
def a_deterministic_program_has_the_same_profile_twice():
    def figures():
        profile, _, _ = check("counts", 1, 20000, "alone")
        frames = profile.json["frames"]

        def stack(site):
            addresses = [(frames[i]["module"], frames[i]["address"]) for i in profile.json["stacks"][site["stack"]]]
            return json.dumps(addresses)

        return profile.table(stack)

    first, second = figures(), figures()
    assert len(first) > 1000, f"only {len(first)} stacks"
    expect(compare(first, second), "in the second run")


# ---- several processes ----


@claim
def after_a_fork_parent_and_children_each_have_their_own_exact_figures():
    with Place() as place:
        parent = place.run("forks")
        profiles = {profile.json["process"]["pid"]: profile for profile in map(Profile, place.files())}
        for suffix in ("", ".child", ".grandchild"):
            ledger = place.ledger(suffix)
            pid = ledger.threads[0].tid
            assert pid in profiles, f"no profile of {suffix or parent}: {list(profiles)}"
            assert profiles[pid].json["process"]["forked"] == bool(suffix)
            check_exact(profiles[pid], ledger)
        assert len(profiles) == 3, list(profiles)


# ---- modules and handlers ----


@claim
def modules_loaded_in_turn_at_one_address_keep_their_own_figures():
    plugins = [PROGRAMS / f"plugin_{name}.so" for name in ("one", "two")]
    profile, _, printed = check("plugins", 100, *plugins)
    assert int(printed) > 50, f"only {printed} of 199 times was a module loaded at the address of the other"
    for site in profile.sites:
        name = profile.site_name(site)
        if name:
            innermost = profile.json["frames"][profile.json["stacks"][site["stack"]][0]]
            path = profile.json["modules"][innermost["module"]]["path"]
            assert path.endswith(name.replace("site_", "") + ".so"), f"{name} is in {path}"


def check_handlers(program, *words):
    """Allocations of a handler inside the profiler are lost and counted as lost. Nothing else is lost."""
    with Place() as place:
        place.run(program, *words, behind=[BUMP])
        profile, ledger = place.profile(), place.ledger()
        lost = profile.losses()
        say(f"losses {lost}; {ledger.by_site()['site_handler']['calls']} handlers")
        assert lost.get("nested"), "no handler interrupted the profiler, so nothing was tested"
        assert set(lost) == {"nested"}, lost
        seen, true = profile.by_site(), ledger.by_site()
        kept = true["site_handler"]["calls"] - lost["nested"]
        for name in ("calls", "freed_calls"):
            assert seen["site_main"][name] == true["site_main"][name], f"main's {name}: {seen['site_main'][name]}"
            assert seen["site_handler"][name] == kept, f"the handler's {name}: {seen['site_handler'][name]} not {kept}"
        by_libraries = profile.table(lambda site: 0 if profile.site_name(site) is None else None).get(0, Figures())
        for name, metric in (("calls", "alloc_objects"), ("bytes", "alloc_space")):
            total = profile.json["totals"][metric]["value"] - by_libraries[name]
            whole = sum(site[name] for site in true.values())
            assert total == whole, f"{total} {name} in all, should be {whole}"
        expect(profile.strangers())


claims.add("handlers that allocate inside the profiler lose only these calls, which are counted as lost",
           functools.partial(check_handlers, "signals", 60000, 100))
for a_case, a_sentence in (
    ("known-stack", "an allocation whose stack is known"),
    ("new-stack", "an allocation whose stack is new"),
    ("new-thread", "a thread's first allocation"),
):
    claims.add(f"a handler's calls are counted or counted as lost at each instruction of {a_sentence}",
               functools.partial(check_handlers, "nested", a_case))


# ---- kill -9 ----


def check_killed(threads, seed):
    chance = random.Random(seed)
    with Place() as place:
        process = place.start("counts", threads, 0, "together")
        wanted = chance.randrange(1000, 50000)
        place.await_account(process, lambda: place.calls() > wanted)
        place.kill(process)
        profile, ledger = place.profile(), place.ledger()
        seen = profile.by_thread_and_site(ledger)
        problems = compare(ledger.cell, seen, ledger.in_flight())
        problems += profile.strangers()
        if profile.losses():
            problems.append(f"losses {profile.losses()}")
        calls = sum(figures["calls"] for figures in ledger.cell.values())
        say(f"{calls} calls, {len(ledger.in_flight())} cells in flight")
        expect(problems)


for a_number in TURNS:
    for a_seed in range(KILLS):
        claims.add(f"after kill -9 of {a_number} threads only the calls in progress are missing, {a_seed}",
                   functools.partial(check_killed, a_number, a_seed))


if __name__ == "__main__":
    sys.exit(claims.main())
