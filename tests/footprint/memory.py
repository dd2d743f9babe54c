# SPDX-License-Identifier: MIT
"""memory - `report --memory` explains RSS: each line is what the program knows of itself, and all add up."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from holding import ENVIRONMENT, MIB, PLIMSOLL, Held, holds, memory, number, plimsoll

import claims
from claims import Skip, claim

LIVE, FREE, REST = "live blocks, as requested", "free, between other blocks", "the rest of malloc's mappings"
KEPT = (10_000 * 1000 + 2000 * 200 + 2040) + 80 * MIB  # what holds.c has not freed
FREED = 10_000 * 1008 + 38_000 * 208 + 8000 * 2048


def near(what, value, expected, tolerance):
    if abs(value - expected) > tolerance:
        return [f"{what}: {value:,}, not {expected:,} ± {tolerance:,.0f}"]
    return []


def adds_up(rows, rss):
    whole = rows["RSS"][0]
    parts = sum(row[0] for name, row in rows.items() if name not in ("RSS", "malloc"))
    problems = near("sum of the lines", parts, whole, 0.001 * whole + 20)
    problems += near("RSS", whole, rss, 0.02 * rss)
    if rows["unexplained"][0] > 0.05 * whole:
        problems.append(f"unexplained: {rows['unexplained'][0]:,} of {whole:,}")
    return problems


def check_mappings(rows):
    problems = near("shared", rows["shared memory"][0], 5 * MIB, 64 << 10)
    problems += near("copies", rows["private copies of their pages"][0], MIB, 64 << 10)
    problems += near("files", rows["other mapped files"][0], 3 * MIB, MIB)
    # The 10 MiB that were only read are pages of zeros, which are not resident.
    problems += near("mapped", rows["anonymous mappings"][0], 6 * MIB, MIB)
    problems += near("mapped, virtual", rows["anonymous mappings"][1], 22 * MIB, 2 * MIB)
    return problems


@claim
def every_line_is_what_the_program_knows_of_itself():
    with holds(["--exact"]) as held:
        rows, text = memory(held.pid)
        live = 8 * MIB + 10_000 * 1000 + 2000 * 200
        problems = adds_up(rows, held.rss()) + check_mappings(rows)
        problems += near("live", rows[LIVE][0], live, MIB)
        problems += near("live, virtual", rows[LIVE][1], KEPT, 64 << 10)
        problems += near("free", rows[FREE][0], FREED, 200 << 10)
        claims.expect(problems, f"in\n{text}")
        assert "counted" in text, text


@claim
def estimates_agree_with_it_within_their_error():
    with holds(["--sample", "64K"]) as held:
        rows, text = memory(held.pid)
        problems = adds_up(rows, held.rss()) + check_mappings(rows)
        error = 3 * MIB  # 64 KiB of 10 MB: the standard error is 0.8 MiB
        problems += near("live, virtual", rows[LIVE][1], KEPT, error)
        problems += near("live", rows[LIVE][0], 8 * MIB + 10_000 * 1000 + 2000 * 200, error)
        problems += near("free", rows[FREE][0], FREED, 200 << 10)
        claims.expect(problems, f"in\n{text}")
        assert "estimated, ± " in text, text


@claim
def stacks_of_idle_threads_are_counted_and_measured():
    with holds(["--exact"], threads=200) as held:
        rows, text = memory(held.pid)
        resident, virtual = rows["thread stacks"]
        problems = adds_up(rows, held.rss()) + near("resident", resident, 201 * 12 << 10, 201 * 8 << 10)
        problems += near("virtual", virtual, 200 * 8 * MIB, 4 * MIB)
        claims.expect(problems, f"in\n{text}")
        assert "201 threads; 8,388,608 B each" in text, text


def in_huge_pages(pid):
    with open(f"/proc/{pid}/smaps") as smaps:
        return sum(int(line.split()[1]) << 10 for line in smaps if line.startswith("AnonHugePages:"))


@claim
def huge_pages_are_resident_as_a_whole_and_named():
    with holds(["--exact"], also=["huge"]) as held:
        before = in_huge_pages(held.pid)
        rows, text = memory(held.pid)
        if before < 16 * MIB or before != in_huge_pages(held.pid):
            raise Skip(f"the kernel gave {before:,} bytes of huge pages, or changes them now")
        # One byte was written in each 2 MiB. Where the kernel gave no huge page, a page of 4 KiB is resident.
        problems = adds_up(rows, held.rss())
        problems += near("mapped", rows["anonymous mappings"][0], 6 * MIB + before, MIB)
        problems += near("mapped, virtual", rows["anonymous mappings"][1], 56 * MIB, 2 * MIB)
        claims.expect(problems, f"in\n{text}")
        assert f"{before:,} B of it are in transparent huge pages" in text and "[hugepages]" in text, text


@claim
def the_chunk_of_a_pool_is_counted_once():
    with holds(["--exact"], also=["pool"]) as held:
        rows, text = memory(held.pid)
        problems = adds_up(rows, held.rss()) + check_mappings(rows)
        problems += near("live", rows[LIVE][0], (8 + 4) * MIB + 10_000 * 1000 + 2000 * 200, MIB)
        problems += near("live, virtual", rows[LIVE][1], KEPT + 8 * MIB, 64 << 10)
        claims.expect(problems, f"in\n{text}")
        said = " ".join(text.split())
        assert "heap pool, not included: 500,000 B live in 500 blocks, of 1,000,000 B in 1,000 calls" in said, text
        assert "in chunks of 8,388,608 B, 7,888,608 B of it (94.0%) not in use" in said, text


def check_allocator(library, options):
    found = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False)
    if library not in found.stdout:
        raise Skip(f"there is no {library}")
    with holds(options, LD_PRELOAD=library) as held:
        rows, text = memory(held.pid)
        problems = adds_up(rows, held.rss())
        error = 128 << 10 if "--exact" in options else 3 * MIB
        problems += near("live, virtual", rows[LIVE][1], KEPT, error)
        problems += near("live", rows[LIVE][0], 8 * MIB + 10_000 * 1000 + 2000 * 200, error + MIB)
        claims.expect(problems, f"in\n{text}")
        assert REST in rows, text


for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
    for option in (["--exact"], ["--sample", "64K"]):
        claims.add(f"{library} with {option[0]}: live blocks are told from the rest of its mappings",
                   functools.partial(check_allocator, library, option))


def site(text, title, name):
    """The figures of a site in the table with this title: [(value, error)]."""
    part = text.split(f"\n{title}")[1]
    row = next(line for line in part.splitlines() if f"  {name}  footprint/holds.c" in line)
    row = re.sub(r"([\d,]+ B) +± ([\d,]+ B)", r"\1±\2", row)
    cells = re.findall(r"([\d,]+ B|(?<= )-(?= ))(?:±([\d,]+ B))?", row)
    return [(number(value), number(error or "-")) for value, error in cells]


def within(what, cell, expected, tolerance):
    # Twice the half width of the interval: a false alarm in 10,000.
    return near(what, cell[0], expected, 2 * cell[1] + tolerance)


def check_residency(options):
    with holds(options) as held:
        done = plimsoll("report", "--resident", "--all-digits", held.pid)
        assert done.returncode == 0, done.stderr
        text, problems = done.stdout, []
        for name, size, touched in (("untouched", 64 * MIB, 0), ("half_touched", 16 * MIB, 8 * MIB)):
            live, resident, rest = site(text, "Not resident", name)[:3]
            problems += within(f"{name}: live", live, size, 0)
            problems += within(f"{name}: resident", resident, touched, 8 << 10)
            problems += within(f"{name}: not touched", rest, size - touched, 8 << 10)
        claims.expect(problems, f"in\n{text}")
        assert "  survivor  " not in text, text


def check_pins(options):
    with holds(options) as held:
        text = memory(held.pid)[1]
        keeps = site(text, "What keeps those pages", "keeper")
        # 2,000 blocks, one for each 4,160 bytes: nearly all of those are free, and a few pages have two blocks or none.
        problems = within("keeps", keeps[0], 2000 * 3952, 400 << 10)
        problems += within("with blocks of", keeps[2], 2000 * 200, 20 << 10)
        claims.expect(problems, f"in\n{text}")


for option in (["--exact"], ["--sample", "32K"]):
    claims.add(f"with {option[0]}: buffers that were never touched are not resident, by site",
               functools.partial(check_residency, option))
    claims.add(f"with {option[0]}: the site whose few blocks keep mostly free pages is named",
               functools.partial(check_pins, option))


PROGRAMS = {
    "python3": ["-c", "import json\nx = [str(i) * 20 for i in range(99999)]\ndel x[::3]\nprint('ready', flush=True)\n"
                      "import sys\nsys.stdin.read()"],
    "perl": ["-e", '$| = 1; @a = map {"x$_" x 10} 1..50000; @a = @a[0..100]; print "ready\\n"; <STDIN>'],
    "node": ["-e", "let a = []; for (let i = 0; i < 99999; i++) a.push({i, s: 'x' + i}); console.log('ready');"
                   "process.stdin.resume()"],
}


def check_program(program, options):
    if not shutil.which(program):
        raise Skip(f"there is no {program}")
    with Held(options, [program, *PROGRAMS[program]]) as held:
        rows, text = memory(held.pid)
        claims.expect(adds_up(rows, held.rss()), f"in\n{text}")


for program in PROGRAMS:
    claims.add(f"the memory of {program} is explained", functools.partial(check_program, program, ["--exact"]))


def present_pages(pid):
    """Pages that the kernel has put into its page tables, and how much these take."""
    pages = 0
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap, open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if start < 1 << 47:
                pagemap.seek(start // 4096 * 8)
                pages += sum(entry >> 7 for entry in pagemap.read((end - start) // 4096 * 8)[7::8])
    return pages


@claim
def reading_puts_no_page_into_the_process():
    with holds(["--exact"]) as held:
        before = present_pages(held.pid)
        for view in ("--resident", "--memory"):
            assert plimsoll("report", view, held.pid).returncode == 0
        # The upper levels of the table of blocks are read whole: a few pages, once.
        assert present_pages(held.pid) - before < 64, (before, present_pages(held.pid))


# Holds many blocks, and says at the end how much memory it had at most.
HOLDER = """
my @blocks = map { "x" x 90 } 1 .. 200_000;
open my $status, "<", "/proc/self/status";
print grep /VmHWM/, <$status>;
"""


def run_holder(*options):
    """The program's highest RSS, by its own account, and the report and the timeline of its profile."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-own.") as place:
        command = ["perl", "-e", HOLDER]
        profile = f"{place}/own.plim"
        if options:
            command = [PLIMSOLL, "run", "-q", "-o", profile, *options, "--", *command]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
        highest = int(done.stdout.split()[1]) << 10
        if not options:
            return highest, None, None
        timeline = json.loads(plimsoll("export", "--format", "json", profile).stdout)["timeline"]
        return highest, plimsoll("report", profile).stdout, timeline


@claim
def rss_without_what_is_plimsolls_own_is_that_of_the_program_alone():
    bare, _, _ = run_holder()
    for options in (["--exact"], ["--sample", "64K"]):
        highest, text, timeline = run_holder(*options)
        moment = max(timeline, key=lambda each: each["rss_bytes"] or 0)
        # The library's code and variables are not in our part.
        problems = near("the program's part", highest - moment["profiler_bytes"], bare, 2 * MIB)
        claims.expect(problems, f"{options}, {moment}, alone {bare:,}, in\n{text}")
        said = re.search(r"RSS .*?, (\S+) MiB of it Plimsoll's own", text)
        if options == ["--exact"]:
            claims.expect(near("said", float(said[1]) * MIB, moment["profiler_bytes"], 0.1 * MIB), text)
        else:
            assert not said, text  # too little to be mentioned


@claim
def a_process_that_is_not_profiled_is_refused():
    done = plimsoll("report", "--memory", os.getpid())
    assert done.returncode == 1 and "without Plimsoll" in done.stderr, done


if __name__ == "__main__":
    sys.exit(claims.main())
