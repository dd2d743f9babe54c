# SPDX-License-Identifier: MIT
"""figures - per thread and tag every figure is right: exact where it is exact, and within its error otherwise.

Each program of programs/ keeps an account of what it does; the profile must say the same (tagged.py).
"""

import functools
import sys

# First, because it knows the way to tests/lib.
from tagged import BUMP, MODES, Figures, check, expect, merged
import claims
from claims import claim, say

ALL_MODES = tuple(MODES)
EXACT_OR_NOT = ("exact", "sampled")


def claim_in(modes, sentence, *words, **options):
    for mode in modes:
        claims.add(f"{sentence}, {mode}", functools.partial(check, *words, mode=mode, **options))


# ---- nesting ----

claim_in(ALL_MODES, "100 scopes inside each other", "nesting", "deep", peak=True)
claim_in(ALL_MODES, "1,000 tags in four threads", "nesting", "wide")
claim_in(ALL_MODES, "200 threads at once", "nesting", "crowd")
claim_in(EXACT_OR_NOT, "names that differ little are kept apart, and so are names longer than any buffer",
         "nesting", "names", losses={"tag_names": 3})

# ---- everything at random ----

claim_in(ALL_MODES, "one thread that does everything at random", "mix", 1, 40000, "alone", peak=True)
claim_in(ALL_MODES, "four threads that do everything at random", "mix", 4, 10000, "alone")
claim_in(ALL_MODES, "four threads that free and move each other's blocks", "mix", 4, 10000, "together")

# ---- elsewhere ----

claim_in(ALL_MODES, "a block is charged to the tag that made it, wherever and whenever it is freed",
         "elsewhere", "frees")
claim_in(ALL_MODES, "realloc takes bytes from the tag of old and gives them to the tag of now", "elsewhere", "reallocs",
         peak=True)

# Three threads each keep up to 64 KiB (PL_BATCH_BYTES) to themselves of how high the heap is, in blocks of 1,000 bytes.
claim_in(("exact",), "what each tag held at the peak, of several threads, but for what they had not told each other",
         "elsewhere", "peak", peak=True, slack={"peak bytes": 3 * 65536, "peak calls": 3 * 66})

# ---- scopes ----

claim_in(EXACT_OR_NOT, "tags that were prepared are the same as tags by name", "scopes", "prepared")
claim_in(EXACT_OR_NOT, "names made by printf", "scopes", "formatted")
claim_in(EXACT_OR_NOT, "work that is handed to a pool is charged to who asked for it", "scopes", "pool")
claim_in(EXACT_OR_NOT, "pops that are too many do nothing but are counted", "scopes", "pops",
         losses=lambda account: {"pops": account.pops})
claim_in(EXACT_OR_NOT, "a thread that ends inside of scopes leaves nothing open", "scopes", "ends")
claim_in(EXACT_OR_NOT, "a thread that takes over the figures of an ended one begins at the root", "scopes", "ends",
         PLIMSOLL_MAX_THREADS=2, per_thread=False)
claim_in(EXACT_OR_NOT, "after a longjmp out of scopes adopt repairs what was not popped", "scopes", "jumps")
claim_in(EXACT_OR_NOT, "scopes of C++ end by return and by exception", "raii")

# ---- bounds ----

claim_in(EXACT_OR_NOT, "tags that find no room are charged to the tag around them, and their pops are balanced",
         "bounds", PLIMSOLL_MAX_TAGS=8, losses=lambda account: {"tags": account.lost})


def check_full(mode):
    """The file has no room for all of the 1,000 tags: totals stay right, and what is lost is said to be lost."""
    account, profile = check("nesting", "wide", mode=mode, compare_nothing=True, PLIMSOLL_MAX_FILE="256K")
    assert profile.losses.get("tags") and set(profile.losses) <= {"tags", "file_full", "table_full"}, profile.losses
    seen, whole = (merged(table, lambda key: 0)[0] for table in (profile.by_tag(account), account.cell))
    loose = profile.by_tag(account)[0, ((0, b"crew"),)]
    for name in ("calls of malloc", "calls of realloc", "calls of aligned"):
        assert seen[name] - loose[name] == whole[name], f"{name}: {seen[name]}, in truth {whole[name]}"
    assert not profile.behind, profile.behind


for a_mode in EXACT_OR_NOT:
    claims.add(f"a file that is full loses tags and no calls, {a_mode}", functools.partial(check_full, a_mode))


# ---- auto mode ----


@claim
def calls_bytes_and_entries_stay_exact_when_auto_mode_turns_to_sampling():
    _, profile = check("nesting", "long", mode="auto", PLIMSOLL_OVERHEAD="0.5%")
    say(f"{profile.exact_calls} calls were counted, {profile.total('allocated').samples} recorded")
    assert profile.left_exact and profile.rows, "it was cheap enough to count to the end: nothing was tested"


# ---- signals ----


def check_handlers(mode):
    """Scopes of a handler that comes where tags are being changed are lost, and nothing else: totals are the same."""
    account, profile = check("handlers", 40000, 200, mode=mode, behind=[BUMP], compare_nothing=True)
    say(f"losses {profile.losses}")
    assert set(profile.losses) <= {"nested", "tags"}, profile.losses
    seen, whole = merged(profile.by_tag(account), lambda key: 0)[0], merged(account.cell, lambda key: 0)[0]
    names = [name for name in Figures(whole) if name.startswith("calls of") or name == "bytes"]
    problems = [f"{name}: {seen[name]} in the profile, in truth {whole[name]}" for name in names
                if seen[name] != whole[name]]
    after, root = ((0, b"after"),), ()
    table = profile.by_tag(account)
    for tag, function in ((after, "malloc"), (root, "realloc")):
        if table[0, tag][f"calls of {function}"] != 1:
            problems.append(f"not balanced: {table[0, tag]} in {tag}")
    main = table[0, ((0, b"a"),)]
    if main["entered"] != account.cell[0, ((0, b"a"),)]["entered"]:
        problems.append(f"main entered a {main['entered']} times")
    expect(problems)


for a_mode in EXACT_OR_NOT:
    claims.add(f"handlers that push, allocate and pop wherever they come lose no call and leave all balanced, {a_mode}",
               functools.partial(check_handlers, a_mode))


# ---- the checker itself ----


@claim
def a_figure_that_is_off_by_one_is_found_whichever_it_is():
    from tagged import Comparison

    class Whole:
        loose, behind = frozenset(), ()

        def __init__(self, figures):
            self.cell = {(1, ((0, b"a"),)): Figures(figures)}

        def by_tag(self, _):
            return self.cell

    names = {"calls of malloc": 5, "bytes": 50, "entered": 1, "freed calls": 2, "freed bytes": 9, "peak calls": 3,
             "peak bytes": 30, "other calls": 1, "other bytes": 7}
    counts = {"counted calls": 5, "counted bytes": 50, "counted freed calls": 2, "counted freed bytes": 9}
    assert Comparison(Whole(names), Whole({**names, **counts}), "exact", peak=True).problems() == []
    for name in [*names, *counts]:
        if name in ("freed calls", "freed bytes"):
            continue
        seen = Figures({**names, **counts})
        seen[name] += 1
        assert len(Comparison(Whole(names), Whole(seen), "exact", peak=True).problems()) == 1, name
    other = Whole(names)
    other.cell = {(1, ((0, b"b"),)): Figures({**names, **counts})}
    assert len(Comparison(Whole(names), other, "exact").problems()) > 5


if __name__ == "__main__":
    sys.exit(claims.main())
