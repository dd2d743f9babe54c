# SPDX-License-Identifier: MIT
"""attached - mappings of a process that was attached to: its own account since then, and nothing of the C library's."""

import functools
import subprocess
import sys

from heaps import *  # noqa: F403
from claims import claim, say
from patience import PATIENCE_S, await_readable

MAPPED = PROGRAMS / "mapped"


class Later:
    """mapped.c, before it maps anything."""

    def __init__(self, *command):
        self.process = subprocess.Popen([MAPPED, "later", *command], env=environment(), bufsize=0,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.line() == "ready"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def line(self):
        await_readable(self.process.stdout)
        return self.process.stdout.readline().decode().strip()

    def account(self):
        """Lets it go on."""
        lines = []
        self.process.stdin.write(b"x")
        while not lines or not lines[-1].startswith("peak"):
            lines.append(self.line())
        return next(accounts("\n".join(lines)))

    def plimsoll(self, command, *words):
        done = subprocess.run([PLIMSOLL, command, str(self.process.pid), "--wait", f"{PATIENCE_S}s", *words], text=True,
                              env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.returncode == 0, done.stderr


def check(command, with_peak=True):
    profile = new_place() / "attached.plim"
    with Later(*command) as later:
        later.plimsoll("attach", "-o", profile)
        account, peak = later.account()
        later.plimsoll("detach")
    found, total = figures_of(profile)
    if "share" in account and account["share"] == (0, 0, 0, 0):
        say("no shared memory of System V here")
    assert found == filled(account), (found, account)
    if with_peak:
        assert total["peak_space"]["value"] == peak, (total["peak_space"], peak)
    losses = export(profile)["losses"]
    assert not any(losses.values()), losses


for command in (["random", "1"], ["random", "2"], ["break"]):
    claims.add(f"after attach, {' '.join(command)} is counted as the program does it", functools.partial(check, command))
claims.add("after attach, mappings of four threads are counted exactly", lambda: check(["threads"], with_peak=False))


@claim
def the_functions_are_what_they_were_after_detach_and_a_second_attach_begins_anew():
    first, second = (new_place() / "attached.plim" for _ in range(2))
    with Later("random", "3") as later:
        later.plimsoll("attach", "-o", first)
        later.plimsoll("detach")
        later.plimsoll("attach", "-o", second)
        account, _ = later.account()
        later.plimsoll("detach")
        later.process.stdin.write(b"x")
        assert later.process.wait(PATIENCE_S) == 0
    assert figures_of(second)[0] == filled(account)
    assert "mappings" not in ask("report", profile=first)


@claim
def no_mappings_records_none():
    profile = new_place() / "attached.plim"
    with Later("random", "1") as later:
        later.plimsoll("attach", "--no-mappings", "-o", profile)
        later.account()
        later.plimsoll("detach")
    assert "mappings" not in ask("report", profile=profile)


sys.exit(main())
