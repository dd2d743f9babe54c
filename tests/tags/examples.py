# SPDX-License-Identifier: MIT
"""examples - the programs of examples/ that use tags show what their comments promise."""

import subprocess
import sys
from pathlib import Path

# First, because it adds tests/lib to the path.
from tagged import NAMED, Figures, Place, Profile
import claims
from built import BUILD, PLIMSOLL, environment, export
from claims import Skip, claim, say

SOURCE = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"


class Finished:
    """A program that was run alone and under `plimsoll run --exact`, with the same output."""

    def __init__(self, place, *command, **settings):
        command = [str(word) for word in command]
        self.path = place.path / "example.plim"
        bare = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
        assert bare.returncode == 0, f"{command[0]} alone: {bare.stderr}"
        run = [PLIMSOLL, "run", "--exact", "-o", self.path, "--", *command]
        done = subprocess.run(run, capture_output=True, text=True, env=environment(**settings), check=False)
        assert (done.returncode, done.stdout) == (0, bare.stdout), f"{done.returncode}: {done.stdout} {done.stderr}"
        self.profile = Profile(self.path)
        assert not self.profile.losses, self.profile.losses

    def table(self):
        """Path of a tag, as text -> figures of all threads."""
        table = {}
        for (_, tag), figures in self.profile.charged.items():
            table.setdefault(self.words(tag), Figures()).update(figures)
        for share, figures in self.profile.counted():
            table[self.words(self.profile.path_of_tag(self.profile.sites[share.site][2]))].update(figures)
        return table

    @staticmethod
    def words(tag):
        assert all(kind == NAMED for kind, _ in tag), tag
        return "/".join(name.decode() for _, name in tag)

    def report(self, *options):
        command = [PLIMSOLL, "report", *options, self.path]
        return subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout


def live(figures):
    return figures["counted bytes"] - figures["counted freed bytes"]


@claim
def the_server_shows_which_requests_keep_memory_and_which_only_use_it():
    with Place() as place:
        server = Finished(place, BUILD / "examples/server/server", 8, 500)
        table, report = server.table(), server.report("--by", "tag")
    say(report)
    assert table["request"]["entered"] == 4000, table["request"]
    assert sum(table[f"request/{verb}"]["entered"] for verb in ("put", "get", "list")) == 4000
    assert live(table["request/put"]) > 40 * 40 and live(table["request/get"]) == live(table["request/list"]) == 0
    assert table["request/list/copy"]["bytes"] == table["request/list/copy"]["counted freed bytes"] > 0
    for word in ("request", "put", "get", "list", "copy"):
        assert word in report, f"{word} is not in the report"


@claim
def the_workers_of_the_server_allocate_for_requests_only():
    with Place() as place:
        profile = Finished(place, BUILD / "examples/server/server", 4, 100).profile
    workers = {number for number, thread in profile.threads.items() if thread.name.startswith("worker-")}
    assert len(workers) == 3
    calls = {tag: 0 for _, tag in profile.charged}
    for (thread, tag), figures in profile.charged.items():
        if thread in workers:
            calls[tag] += figures.sum_of("calls")
    assert calls[()] == 0 and sum(calls.values()) > 400, calls


@claim
def a_program_with_tcmalloc_has_its_tags_and_still_uses_tcmalloc():
    program = BUILD / "examples/tcmalloc/words"
    if not program.exists():
        raise Skip("tcmalloc is not installed")
    texts = [SOURCE / "README.md", SOURCE / "ARCHITECTURE.md"]
    with Place() as place:
        words = Finished(place, program, *texts)
        table = words.table()
        new = sum(thread.calls["new"] for thread in words.profile.threads.values())
        report = words.report("--by", "tag")
    say(report)
    assert any("tcmalloc" in module.path for module in words.profile.modules.values()) or new, "tcmalloc is not used"
    assert new > 500, f"{new} calls of operator new"
    for text in texts:
        figures = table[f"{text}/words"]
        assert figures["entered"] == len(text.read_text().splitlines()), f"{text}: {figures}"
        assert figures["bytes"] == figures["counted bytes"] > 0, f"{text}: {figures}"
    assert live(table[f"{texts[0]}/words"]) == 0, "the table of words should have been destroyed"


@claim
def numpy_shows_its_native_frames_and_the_tags_set_by_python():
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode:
        raise Skip("python3-numpy is not installed")
    with Place() as place:
        matrix = Finished(place, PYTHON, SOURCE / "examples/numpy/matrix.py")
        table, report = matrix.table(), matrix.report("--by", "tag")
        exported = export(matrix.path)
    say(report)
    size = 400 * 400 * 8
    assert table["in steps"]["bytes"] >= 11 * size and 2 * size > table["in place"]["bytes"] >= size, table
    assert table["input"]["bytes"] >= 2 * size
    native = [module.number for module in matrix.profile.modules.values() if "/numpy/" in module.path]
    assert native, "no module of numpy"
    through = 0
    for share in matrix.profile.tallies.values():
        stack = matrix.profile.stack(matrix.profile.sites[share.site][1])
        if stack and any(module in native for module, _, _ in stack) and stack[-1][0] not in native:
            through += share.allocated.space
    assert through >= 10 * size, f"only {through} bytes were allocated on stacks that lead through numpy"
    names = {frame["function"] for frame in exported["frames"]}
    assert any("PyArray" in name or "array" in name for name in names), "no frame has a name of numpy"


if __name__ == "__main__":
    sys.exit(claims.main())
