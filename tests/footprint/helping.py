# SPDX-License-Identifier: MIT
"""helping - what `report --memory` advises: each gain is what the program measures when it follows the advice."""

import re
import sys

from holding import BUILD, MIB, Held, holds, number, plimsoll

import claims
from claims import claim
from patience import await_readable

ARENAS = BUILD / "tests" / "footprint" / "arenas"
THREADS = 8
KEPT = THREADS * 1999 * 2048  # what the threads of arenas.c have freed


def advice_of(held, *options):
    """word of the kind -> (the function or "", headline, gain)"""
    done = plimsoll("report", *options, "--all-digits", held.pid)
    assert done.returncode == 0, done.stderr
    pieces = {}
    for piece in re.split(r"\n(?= ?\d+\. )", done.stdout.split("What would help")[-1])[1:]:
        text = " ".join(piece.split())
        kind = re.search(r"\[(\w+)\]", text)
        gain = re.search(r"Gain: about ([\d,]+ B)", text)
        pieces.setdefault(kind[1], []).append((text, number(gain[1]) if gain else 0))
    return pieces, done.stdout


def only(pieces, kind, text):
    assert len(pieces.get(kind, [])) == 1, f"{kind}: {pieces.get(kind)}, in\n{text}"
    return pieces[kind][0]


@claim
def what_malloc_trim_is_said_to_give_back_it_gives_back():
    with Held(["--exact"], [ARENAS, THREADS]) as held:
        pieces, text = advice_of(held, "--memory")
        said = only(pieces, "trim", text)[1]
        before = held.rss()
        held.process.stdin.write(b"x")
        held.process.stdin.flush()
        await_readable(held.process.stdout)
        assert held.process.stdout.readline() == b"trimmed\n"
        given = before - held.rss()
        assert abs(given - said) < 256 << 10, f"{said:,} said, {given:,} given back, in\n{text}"
        assert abs(said - KEPT) < MIB, f"{said:,}, not {KEPT:,}"
        after, text = advice_of(held, "--memory")
        assert "trim" not in after, text


def only_arenas(held):
    pieces, text = advice_of(held, "--advice")
    return only(pieces, "arenas", text)


@claim
def arenas_of_threads_are_named_with_what_they_keep():
    for options in (["--exact"], ["--sample", "64K"]):
        with Held(options, [ARENAS, THREADS]) as held:
            piece, gain = only_arenas(held)
            assert f"in {THREADS} heaps" in piece and "MALLOC_ARENA_MAX" in piece, piece
            assert abs(gain - KEPT) < MIB, piece


@claim
def buffers_that_are_hardly_touched_are_named():
    for options in (["--exact"], ["--sample", "64K"]):
        with holds(options) as held:
            pieces, text = advice_of(held, "--advice")
            found = [piece for piece, _ in pieces["untouched"]]
            assert any("untouched (footprint/holds.c:" in each and "touches 4,080 B" in each for each in found), text
            assert any("half_touched (footprint/holds.c:" in each for each in found), text
            assert len(found) == 2, text


@claim
def holes_are_told_from_pages_that_can_be_given_back():
    with holds(["--exact"], threads=40) as held:
        pieces, text = advice_of(held, "--memory")
        # Of 20,000 blocks of 1,008 bytes, every second; of 40,000 of 208 bytes, 19 in 20. The 8,000 of 2,048 bytes are
        # in whole pages.
        holes, trim = only(pieces, "holes", text)[1], only(pieces, "trim", text)[1]
        assert abs(holes - (10_000 * 1008 + 38_000 * 208)) < MIB, f"{holes:,} in\n{text}"
        assert abs(trim - 8000 * 2048) < MIB, f"{trim:,} in\n{text}"
        assert "41 threads" in only(pieces, "stacks", text)[0], text


@claim
def a_program_that_wastes_nothing_gets_no_advice():
    with Held(["--exact"], [sys.executable, "-S", "-c", "print('ready', flush=True); input()"]) as held:
        pieces, text = advice_of(held, "--memory")
        assert not pieces, text


if __name__ == "__main__":
    sys.exit(claims.main())
