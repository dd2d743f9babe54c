# SPDX-License-Identifier: MIT
"""chaos - whatever a program does with the API at the same time, it ends, and its profiles fulfil format.h."""

import functools
import sys

# First, because it adds tests/lib to the path.
from tagged import MODES, Place, Profile, expect, run
import claims
import plim
from built import export
from claims import say

MILLISECONDS = 700
EXAMINED = 16  # profiles of a run, copies among them: a run leaves some 40, and all of them are alike

# These may be lost: surplus pops, nested visits, and frees that were missed.
LOSSES = {"pops", "nested", "missed_free"}


# In a copy that is made while threads go on, a record's frees may be newer than its allocations.
NEWER = (" freed ",)


def problems_of(path):
    profile = Profile(path)
    copied = profile.flags & plim.FLAG_SNAPSHOT
    yield from (text for text in profile.problems() if not (copied and any(words in text for words in NEWER)))
    yield from (f"lost {name}" for name in profile.losses if name not in LOSSES)
    reading = export(path)["reading"]
    if reading["damage"]:
        yield f"damage: {reading}"


def check(mode, **settings):
    with Place() as place:
        directory = place.path / "copies"
        directory.mkdir()
        run(place, "chaos", MILLISECONDS, directory, mode=mode, **settings)
        files = place.files()
        say(f"{len(files)} profiles, {len(list(directory.iterdir()))} of them copies")
        assert len(list(directory.iterdir())) > 2 and len(files) > 5
        examined = files[::-(-len(files) // EXAMINED)]
        expect(f"{path.name}: {problem}" for path in examined for problem in problems_of(path))


for a_mode in MODES:
    claims.add(f"everything at once, {a_mode}", functools.partial(check, a_mode))
claims.add("everything at once, with figures for four threads only",
           functools.partial(check, "exact", PLIMSOLL_MAX_THREADS=4))

if __name__ == "__main__":
    sys.exit(claims.main())
