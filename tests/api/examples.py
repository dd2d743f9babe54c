# SPDX-License-Identifier: MIT
"""examples - the examples of the API do what their first lines promise, and reports show it."""

import json
import os
from pathlib import Path

from api import EXAMPLES, PLIMSOLL, claim, main, run, say, scratch

HASHMAP = EXAMPLES / "hashmap/hashmap"
MIDDLE = EXAMPLES / "middle/libmiddle.so"
KEYS = 20000


def profile(directory, *command, options=(), **variables):
    """Runs the command under `plimsoll run`. The profile is out.plim in the directory."""
    run(PLIMSOLL, "run", "--quiet", "--exact", *options, "-o", "out.plim", "--", *command, cwd=directory,
        PLIMSOLL_LIVE_DIR=directory, **variables)
    return Path(directory) / "out.plim"


def exported(path):
    return json.loads(run(PLIMSOLL, "export", "--format", "json", path))


def scopes(profile_):
    """path of a tag -> (calls, bytes, times entered), summed over threads."""
    found = {}
    for scope in profile_["scopes"]:
        path = profile_["tags"][scope["tag"]]["path"]
        figures = (scope["calls"], scope["bytes"], scope["entered"])
        found[path] = tuple(a + b for a, b in zip(found.get(path, (0, 0, 0)), figures))
    return found


# ---- hashmap ----


@claim
def the_hash_map_runs_without_a_profiler():
    assert "nobody watched" in run(HASHMAP, KEYS)


@claim
def reserve_avoids_the_growth_of_the_hash_map():
    with scratch() as directory:
        path = profile(directory, HASHMAP, KEYS, options=["--off"])
        found = scopes(exported(path))
        for name, figures in sorted(found.items()):
            say(f"{name}: {figures}")
        filling, filling_reserved = found["without reserve/fill"], found["with reserve/fill"]
        reserving = found["with reserve"]
        assert filling_reserved[0] == KEYS, "a reserved map should allocate one node per key and nothing else"
        assert reserving[0] == 1 and reserving[1] >= 8 * KEYS, "reserving should allocate the table of buckets once"
        growth = filling[1] - filling_reserved[1]
        assert growth > reserving[1], f"growing took {growth} bytes, reserving {reserving[1]}"
        assert found["(off)"][0] > 10, "calls while switched off should be counted"
        assert found.get("", (0,))[0] == 0, "all other calls should be inside a scope"


@claim
def only_allocations_while_switched_on_have_stacks():
    with scratch() as directory:
        sites = exported(profile(directory, HASHMAP, KEYS, options=["--off"]))["sites"]
        assert sites
        calls = sum(site["alloc_objects"]["value"] for site in sites)
        found = scopes(exported(Path(directory) / "out.plim"))
        assert calls == sum(figures[0] for name, figures in found.items() if name != "(off)"), calls


@claim
def the_report_shows_the_difference():
    with scratch() as directory:
        path = profile(directory, HASHMAP, KEYS, options=["--off"])
        text = run(PLIMSOLL, "report", "--by", "tag", path)
        for name in ("without reserve", "with reserve", "fill"):
            assert name in text, f"no `{name}` in\n{text}"


# ---- middle ----


def make_repository(directory):
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b", "-C", directory]
    run("git", "init", "--quiet", directory)
    for number in range(3):
        (Path(directory) / "file").write_text("".join(f"{number} line {line}\n" for line in range(500)))
        run(*git, "add", "file")
        run(*git, "commit", "--quiet", "-m", f"commit {number}")
    return git


@claim
def a_library_in_the_middle_configures_git():
    with scratch() as directory:
        git = make_repository(directory)
        bare = run(*git, "log", "-p")
        log = run(PLIMSOLL, "run", "--quiet", "--exact", "-o", "out.plim", "--", *git, "log", "-p", cwd=directory,
                  LD_PRELOAD=MIDDLE, PLIMSOLL_LIVE_DIR=directory)
        assert log == bare, "git prints something else than without the library"
        found = exported(Path(directory) / "out.plim")
        tags = scopes(found)
        say(tags)
        assert tags["git"][2] == 1 and tags["git"][0] > 100
        assert tags["git/zlib"][0] > 0 and tags["git/zlib"][2] >= 3
        small = [site for site in found["sites"] if site["other_sizes"]]
        assert small, "blocks below 64 bytes should be counted together"
        assert os.path.exists(Path(directory) / "out.exit.plim"), os.listdir(directory)


@claim
def without_the_profiler_the_library_in_the_middle_does_nothing():
    with scratch() as directory:
        git = make_repository(directory)
        assert run(*git, "log", "-p") == run(*git, "log", "-p", LD_PRELOAD=MIDDLE)
        assert not list(Path(directory).glob("*.plim"))


if __name__ == "__main__":
    raise SystemExit(main())
