# SPDX-License-Identifier: MIT
"""scopes - the cost of entering and leaving a tag, and that tags do not slow malloc down: the table `scopes`.

The cost of a scope is the difference of two runs of bench/scopes, with scopes and without, divided by their number.
Start-up is in both. Times are medians of interleaved rounds, instructions are counted by callgrind. To show that malloc
costs the same inside a tag, the instructions of a malloc and free pair are compared, outside of any tag and inside one.
Nothing is sampled meanwhile, because the cost of samples is random.
"""

import random
import statistics
import sys

from measure import INTERVAL_BYTES, Way, instructions, plimsoll_way, run_once
from tables import table

SCOPE_NS_MAX = 15
PAIR_MORE_MAX = 0.1  # instructions, which are whole, so this means none
TIMED = 20_000_000
COUNTED = 200_000
RARE = 1 << 40

KINDS = {"literal": "push of a literal, pop", "prepared": "enter of a prepared tag, pop"}
BETWEEN = {"": [], ", malloc and free between": ["malloc"]}


def command(place, kind, count, between):
    return [place.build / "bench/scopes", kind, count, *between]


def ways(place):
    return [
        Way("bare", "bare"),
        plimsoll_way(place, "plimsoll", "Plimsoll, 512 KiB", INTERVAL_BYTES),
        plimsoll_way(place, "exact", "exact", "exact"),
    ]


def rounds_of(options):
    return options.few if options.quick else options.exact_rounds


def time_scopes(place, columns, between, options):
    """(kind, name of way) -> ns that a scope adds: the median over interleaved rounds."""
    count = TIMED // options.shrink
    chance = random.Random(1)
    added = {(kind, way.name): [] for kind in KINDS for way in columns}
    for _ in range(rounds_of(options)):
        turn = [(kind, way) for kind in ("none", *KINDS) for way in columns]
        chance.shuffle(turn)
        cpu_s = {(kind, way.name): run_once(place, way, command(place, kind, count, between)).cpu_s
                 for kind, way in turn}
        for kind, name in added:
            added[kind, name].append((cpu_s[kind, name] - cpu_s["none", name]) / count * 1e9)
    return {key: statistics.median(several) for key, several in added.items()}


def count_kind(place, way, kind, between, options):
    """Instructions of one turn of the loop: twice the work minus the work."""
    count = COUNTED // options.shrink
    once, twice = (instructions(place, way, command(place, kind, times * count, between)) for times in (1, 2))
    return (twice - once) / count


def count_scopes(place, columns, between, options):
    """(kind, name of way) -> instructions that a scope adds."""
    counts = {(kind, way.name): count_kind(place, way, kind, between, options)
              for kind in ("none", *KINDS) for way in columns}
    return {(kind, name): count - counts["none", name] for (kind, name), count in counts.items() if kind in KINDS}


def scope_rows(place, columns, options, targets):
    quiet = [columns[0], plimsoll_way(place, "plimsoll", "", RARE), columns[2]]
    for suffix, between in BETWEEN.items():
        added_ns = time_scopes(place, columns, between, options)
        added = count_scopes(place, quiet, between, options)
        for kind, title in KINDS.items():
            row = [title + suffix]
            for way in columns:
                ns = added_ns[kind, way.name]
                row += [f"{ns:.1f} ns", f"{added[kind, way.name]:.0f}"]
                if way.profile and not between:
                    targets.add(f"scopes: {title}, {way.title}", f"{ns:.1f} ns", f"at most {SCOPE_NS_MAX} ns",
                                ns <= SCOPE_NS_MAX)
            yield row
        print(f"measured scopes{suffix}", file=sys.stderr)


def check_malloc(place, options, targets):
    """A malloc and free pair takes the same instructions inside a tag as outside."""
    way = plimsoll_way(place, "plimsoll", "", RARE)
    outside, inside = (count_kind(place, way, kind, ["malloc"], options) for kind in ("none", "around"))
    targets.add("scopes: instructions of malloc and free inside a tag", f"{inside:.1f}",
                f"as outside of any: {outside:.1f}", abs(inside - outside) <= PAIR_MORE_MAX)


def measure_scopes(place, _programs, options, targets):
    columns = ways(place)
    rows = list(scope_rows(place, columns, options, targets))
    check_malloc(place, options, targets)
    table("Scopes", "CPU time and instructions that one scope adds, entering and leaving together: the difference to "
          f"the same loop without scopes, median of {rounds_of(options)} rounds.",
          ["scope", *(head for way in columns for head in (way.title, "instructions"))], rows)
