# SPDX-License-Identifier: MIT
"""figures - every figure of every thread and tag is right: exact where it should be, within its error otherwise.

Each program of programs/ keeps an account of what it does. The profile must have the same figures (tagged.py).
"""

import functools
import sys

# First, because it adds tests/lib to the path.
from tagged import BUMP, MODES, Figures, check, expect, merged
import claims
from claims import claim, say

ALL_MODES = tuple(MODES)
EXACT_OR_NOT = ("exact", "sampled")


def claim_in(modes, sentence, *words, **options):
    for mode in modes:
        claims.add(f"{sentence}, {mode}", functools.partial(check, *words, mode=mode, **options))


# ---- nesting ----

claim_in(ALL_MODES, "100 nested scopes have correct figures", "nesting", "deep", peak=True)
claim_in(ALL_MODES, "1,000 tags in four threads have correct figures", "nesting", "wide")
claim_in(ALL_MODES, "200 concurrent threads have correct figures", "nesting", "crowd")
claim_in(EXACT_OR_NOT, "similar names are different tags, and so are names longer than any buffer",
         "nesting", "names", losses={"tag_names": 3})

# ---- random operations ----

claim_in(ALL_MODES, "one thread with random operations has correct figures", "mix", 1, 40000, "alone", peak=True)
claim_in(ALL_MODES, "four threads with random operations have correct figures", "mix", 4, 10000, "alone")
claim_in(ALL_MODES, "four threads that exchange blocks have correct figures", "mix", 4, 10000, "together")

# ---- frees and reallocs under other tags ----

claim_in(ALL_MODES, "a block is charged to the tag that allocated it, wherever and whenever it is freed",
         "elsewhere", "frees")
claim_in(ALL_MODES, "realloc moves bytes from the old tag to the current tag", "elsewhere", "reallocs",
         peak=True)

# Each of three threads keeps up to 64 KiB (PL_BATCH_BYTES) of its changes to itself. Blocks have 1,000 bytes.
claim_in(("exact",), "with several threads the peak of each tag is right within their batches",
         "elsewhere", "peak", peak=True, slack={"peak bytes": 3 * 65536, "peak calls": 3 * 66})

# ---- scopes ----

claim_in(EXACT_OR_NOT, "prepared tags are the same as tags by name", "scopes", "prepared")
claim_in(EXACT_OR_NOT, "names formatted like printf are tags", "scopes", "formatted")
claim_in(EXACT_OR_NOT, "work that is given to a pool is charged to the tag of its caller", "scopes", "pool")
claim_in(EXACT_OR_NOT, "surplus pops do nothing but are counted", "scopes", "pops",
         losses=lambda account: {"pops": account.pops})
claim_in(EXACT_OR_NOT, "a thread that ends inside scopes leaves none open", "scopes", "ends")
claim_in(EXACT_OR_NOT, "a thread that reuses the record of an ended one begins at the root", "scopes", "ends",
         PLIMSOLL_MAX_THREADS=2, per_thread=False)
claim_in(EXACT_OR_NOT, "after a longjmp out of scopes plimsoll_adopt restores the tag", "scopes", "jumps")
claim_in(EXACT_OR_NOT, "C++ scopes end by return and by exception", "raii")

# ---- limits ----

claim_in(EXACT_OR_NOT, "tags without room are charged to the tag around them, and their pops are balanced",
         "bounds", PLIMSOLL_MAX_TAGS=8, losses=lambda account: {"tags": account.lost})


def check_full(mode):
    """The file has no room for all of the 1,000 tags. Totals stay right, and lost tags are counted as lost."""
    account, profile = check("nesting", "wide", mode=mode, compare_nothing=True, PLIMSOLL_MAX_FILE="256K")
    assert profile.losses.get("tags") and set(profile.losses) <= {"tags", "file_full", "table_full"}, profile.losses
    seen, whole = (merged(table, lambda key: 0)[0] for table in (profile.by_tag(account), account.cell))
    loose = profile.by_tag(account)[0, ((0, b"crew"),)]
    for name in ("calls of malloc", "calls of realloc", "calls of aligned"):
        assert seen[name] - loose[name] == whole[name], f"{name}: {seen[name]}, should be {whole[name]}"
    assert not profile.behind, profile.behind


for a_mode in EXACT_OR_NOT:
    claims.add(f"a full file loses tags and no calls, {a_mode}", functools.partial(check_full, a_mode))


# ---- auto mode ----


@claim
def calls_bytes_and_entries_stay_exact_when_auto_mode_begins_to_sample():
    _, profile = check("nesting", "long", mode="auto", PLIMSOLL_OVERHEAD="0.5%")
    say(f"{profile.exact_calls} calls were counted, {profile.total('allocated').samples} recorded")
    assert profile.left_exact and profile.rows, "auto mode stayed exact, so nothing was tested"


# ---- signals ----


def check_handlers(mode):
    """A handler that interrupts a change of tags loses its scopes, and nothing else: totals stay the same."""
    account, profile = check("handlers", 40000, 200, mode=mode, behind=[BUMP], compare_nothing=True)
    say(f"losses {profile.losses}")
    assert set(profile.losses) <= {"nested", "tags"}, profile.losses
    seen, whole = merged(profile.by_tag(account), lambda key: 0)[0], merged(account.cell, lambda key: 0)[0]
    names = [name for name in Figures(whole) if name.startswith("calls of") or name == "bytes"]
    problems = [f"{name}: {seen[name]} in the profile, should be {whole[name]}" for name in names
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
    claims.add(f"handlers that push, allocate and pop at any point lose no call and leave scopes balanced, {a_mode}",
               functools.partial(check_handlers, a_mode))


# ---- the checker itself ----


@claim
def the_comparison_finds_any_figure_that_is_off_by_one():
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
