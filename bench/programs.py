# SPDX-License-Identifier: MIT
"""programs - the measured programs: the microbenchmark and real programs, each a row of PROGRAMS.

A program is prepared once (its input files are generated, always the same) and gives a command for a given amount of
work. Commands are single processes that print little and depend on nothing outside of the scratch directory.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

JOBS = Path(__file__).resolve().parent / "jobs"


@dataclass
class Program:
    name: str
    command: Callable  # (place, work) -> argv; place has .build and .scratch
    work: int  # for timing, about half a second; 0: not in these tables
    small: int  # for counting instructions, fifty times slower: some 2,500 million
    threads: int = 1
    real: bool = True  # False: the microbenchmark
    extra: bool = False  # a row for comparison, without targets
    exact: int = 0  # for the table of exact mode, where heaptrack may take a hundred times as long


def micro(threads, depth, stacks):
    def command(place, work):
        program = place.build / "bench" / "micro"
        return [program, "-d", depth, "-s", stacks, "-t", threads, "-p", work // threads]

    return command


def cross(kind, threads):
    def command(place, work):
        return [place.build / "bench" / "cross", kind, threads, work]

    return command


def churn(place, work):
    return [place.build / "bench" / "churn", work]


def maps(place, work):
    return [place.build / "bench" / "maps", work]


def live(place, work):
    return [place.build / "bench" / "live", work]


def live_mixed(place, work):
    return [*live(place, work), 200, 10_000]


def python_json(_place, work):
    return ["/usr/bin/python3", "-S", JOBS / "json_job.py", work]


def perl_words(_place, work):
    return ["/usr/bin/perl", JOBS / "words.pl", work]


def sqlite_orders(place, work):
    script = place.scratch / f"orders-{work}.sql"
    script.write_text((JOBS / "orders.sql").read_text().replace("ROWS", str(work)))
    return ["/usr/bin/sqlite3", ":memory:", f".read {script}"]


def make_repository(repository, commits):
    """A history of edits to a few files, by fast-import: quick to make and always the same."""
    files = [[f"file {f} line {n} says nothing in particular" for n in range(200)] for f in range(8)]
    stream = []
    for commit in range(commits):
        stream.append(f"commit refs/heads/main\ncommitter A <a@b> {1700000000 + commit} +0000\ndata 4\nedit\n")
        for number, lines in enumerate(files):
            if (commit + number) % 2 == 0:
                lines[(commit * 31 + number * 17) % len(lines)] = f"changed in {commit}: {commit * 7919 % 1009}"
                text = "\n".join(lines) + "\n"
                stream.append(f"M 100644 inline file{number}.txt\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
    subprocess.run(["git", "-C", repository, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)


def git_log(place, work):
    repository = place.scratch / "repository"
    if not repository.exists():
        make_repository(repository, 2500)
    return ["/usr/bin/git", "-C", repository, "--no-pager", "log", "-p", f"--max-count={work}", "main"]


def compile_c(place, work):
    source = place.scratch / f"source-{work}.c"
    functions = [
        f"static struct node *grow_{n}(struct node *list, int count)\n{{\n"
        f"    for (int i = 0; i < count; i++) {{\n"
        f"        struct node *fresh = alloc(sizeof *fresh);\n"
        f"        fresh->value = i * {n} % {n + 3};\n"
        f"        if (fresh->value & {1 << n % 8})\n            fresh->next = list;\n"
        f"        else\n            fresh->next = list ? list->next : 0;\n"
        f"        list = fresh;\n    }}\n    return list;\n}}\n"
        for n in range(work)
    ]
    calls = "".join(f"    list = grow_{n}(list, {n % 9 + 2});\n" for n in range(work))
    source.write_text(
        "void *alloc(unsigned long);\nstruct node { struct node *next; int value; };\n"
        + "".join(functions)
        + "struct node *all(struct node *list)\n{\n" + calls + "    return list;\n}\n"
    )
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True).stdout.strip()
    return [cc1, "-quiet", "-O2", source, "-o", "/dev/null"]


ONE_THREAD = Program("malloc/free, depth 20, 1 thread", micro(1, 20, 50), work=15_000_000, small=1_000_000, real=False,
                     exact=4_000_000)
TWO_THREADS = Program("malloc/free, depth 20, 2 threads", micro(2, 20, 50), work=15_000_000, small=1_000_000, threads=3,
                      real=False, exact=4_000_000)

PROGRAMS = [
    ONE_THREAD,
    TWO_THREADS,
    Program("malloc/free, depth 60, 5,000 stacks", micro(1, 60, 5000), work=4_000_000, small=0, real=False, extra=True,
            exact=2_000_000),
    Program("C++ containers", churn, work=0, small=0, real=False, exact=20_000),
    Program("std::map", maps, work=0, small=0, real=False, exact=1_500_000),
    Program("freed by another thread, 2 threads", cross("pass", 2), work=0, small=0, threads=3, real=False,
            exact=3_000_000),
    Program("handed on to new threads, 2 at a time", cross("hand", 2), work=0, small=0, threads=3, real=False,
            exact=4_000_000),
    Program("random table of 262,144 blocks", cross("table", 1), work=0, small=0, threads=2, real=False,
            exact=3_000_000),
    Program("python3 json", python_json, work=120, small=60, exact=120),
    Program("git log -p", git_log, work=2500, small=1600),
    Program("sqlite3", sqlite_orders, work=250_000, small=150_000, exact=250_000),
    Program("perl", perl_words, work=4, small=3, exact=4),
    Program("cc1 -O2", compile_c, work=200, small=180, exact=200),
]

# All blocks are kept: the cost of tracking live blocks.
LIVE = Program("5 million live blocks", live, work=0, small=5_000_000, real=False)
LIVE_MIXED = Program("live blocks of 200 to 10,000 bytes", live_mixed, work=0, small=100_000, real=False)

# Half a minute and a minute, for auto mode.
LONG = [
    Program("malloc/free, half a minute", micro(1, 20, 50), work=1_100_000_000, small=0, real=False),
    Program("std::map, half a minute", maps, work=140_000_000, small=0, real=False),
    Program("C++ containers, a minute", churn, work=3_500_000, small=0, real=False),
]
