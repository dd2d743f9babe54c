# SPDX-License-Identifier: MIT
"""retained - `plimsoll retained PID` says of each root what it retains, as the ledger of the program does."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from looking import BUILD, PLIMSOLL, children, plimsoll, python

import claims
from claims import claim
from patience import await_readable

HOLDS = BUILD / "tests" / "reach" / "holds"


class Holder:
    """The program, its pid, and its ledger: root -> (bytes, blocks)."""

    def __init__(self):
        self.place = tempfile.TemporaryDirectory(prefix="plimsoll-retained.")
        self.process = subprocess.Popen(
            [PLIMSOLL, "run", "--exact", "-q", "-o", "holds.plim", "--", HOLDS], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, cwd=self.place.name, text=True)
        self.ledger = {}
        await_readable(self.process.stdout)
        for line in iter(self.process.stdout.readline, "ready\n"):
            root, size, blocks = line.split()
            self.ledger[root] = int(size), int(blocks)
        self.pid = int(children(self.process.pid)[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.place.cleanup()


def roots(text):
    """What is retained: root -> (bytes of make_node, blocks of make_node), from the sites below each root."""
    found, root = {}, None
    for line in text.splitlines():
        row = re.match(r" *[\d,.]+ (?:B|KiB|MiB) +[\d.<>%]+ +[\d,]+  (?:\((several) roots\)|(thread) \d+|([\w:]+))", line)
        site = re.match(r" +([\d,]+) B in ([\d,]+) blocks?: make_node", line)
        if row:
            root = next(name for name in row.groups() if name)
        elif site:
            size, blocks = found.get(root, (0, 0))
            found[root] = size + int(site[1].replace(",", "")), blocks + int(site[2].replace(",", ""))
    return found


@claim
def every_root_retains_what_the_ledger_says():
    with Holder() as holder:
        done = plimsoll("retained", holder.pid, "--all-digits", "--top", "100")
        assert done.returncode == 0, done.stderr
        exact = re.sub(r"(?m)^( *)([\d,]+) B", r"\1\2 B", done.stdout)
        assert roots(exact) == holder.ledger, (roots(exact), holder.ledger, done.stdout)


@claim
def variables_have_their_type_and_line():
    with Holder() as holder:
        text = plimsoll("retained", holder.pid).stdout
        assert re.search(r"tree_root  (struct )?node \*  holds\.c:\d+  \[holds\]", text), text
        assert re.search(r"table_root  (struct )?table  holds\.c:\d+  \[holds\]", text), text


@claim
def ways_lead_from_a_root_to_the_blocks_of_a_site():
    with Holder() as holder:
        text = plimsoll("retained", holder.pid, "--site", "make_node", "--all-digits").stdout
        for root in ("tree_root", "table_root", "ring_root", "into_shared"):
            assert re.search(rf"blocks?: {root} → .*make_node", text), (root, text)
        refused = plimsoll("retained", holder.pid, "--site", "nobody_is_called_so")
        assert refused.returncode == 1 and "no live block" in refused.stderr, refused.stderr


def name_of(holder):
    return holder["name"].split("  ")[0]


@claim
def what_is_stored_is_what_was_found():
    with Holder() as holder:
        path = Path(holder.place.name) / "held.plim"
        options = ("--all-digits", "--top", "100")
        now = plimsoll("retained", holder.pid, *options, "-o", path)
        assert now.returncode == 0, now.stderr
        then = plimsoll("retained", path, *options)
        assert then.returncode == 0, then.stderr
        assert roots(then.stdout) == roots(now.stdout) and roots(now.stdout), then.stdout + now.stdout
        again = plimsoll("retained", holder.pid, "-o", path)
        assert again.returncode == 1 and "already exists" in again.stderr, again.stderr
        holders = json.loads(plimsoll("export", "--format", "json", path).stdout)["holders"]
    sums, line = {}, []
    for each in holders:
        line.append(name_of(each) if each["kind"] == "root" else line[each["parent"]])
        if each["kind"] != "way":
            space, blocks = sums.get(line[-1], (0, 0))
            sums[line[-1]] = (space + each["bytes"], blocks + each["blocks"])
        if each["way"] is not None:
            assert holders[each["way"]]["kind"] == "way" and holders[each["way"]]["stack"] is not None, each
    for root, figures in holder.ledger.items():
        assert root not in sums or sums[root] == figures, (root, figures, sums)
    assert {"tree_root", "table_root", "ring_root"} <= set(sums), sums


@claim
def the_process_goes_on():
    with Holder() as holder:
        for _ in range(2):
            assert plimsoll("retained", holder.pid).returncode == 0
        assert children(holder.pid) == []
    assert holder.process.returncode == 0


@claim
def an_interpreter_without_symbols_is_answered_too():
    with python("d={i:[str(i)] for i in range(20000)}") as process:
        done = plimsoll("retained", process.pid)
        assert done.returncode == 0 and "retains" in done.stdout, done.stdout + done.stderr


@claim
def what_cannot_be_asked_is_refused():
    place = tempfile.TemporaryDirectory(prefix="plimsoll-retained.")
    plain = Path(place.name) / "plain.plim"
    assert plimsoll("run", "--exact", "-q", "-o", plain, "--", "true").returncode == 0
    for words, status, text in ((("retained",), 2, "needs the PID"), (("retained", "x.plim"), 1, "there is no file"),
                                (("retained", "1", "2"), 2, "takes one"),
                                (("retained", "x.plim", "-o", "y.plim"), 2, "--output is for a PID"),
                                (("retained", "x.plim", "--site", "y"), 2, "--site is for a PID"),
                                (("retained", plain), 1, "does not say what holds the heap")):
        done = plimsoll(*words)
        assert done.returncode == status and text in done.stderr, (words, done.stderr)


if __name__ == "__main__":
    sys.exit(claims.main())
