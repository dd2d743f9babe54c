# SPDX-License-Identifier: MIT
"""retained - `plimsoll retained PID` says of each root what it retains, as the ledger of the program does."""

import re
import subprocess
import sys
import tempfile

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
    for words, status, text in ((("retained",), 2, "needs the PID"), (("retained", "x.plim"), 2, "not a PID"),
                                (("retained", "1", "2"), 2, "takes one")):
        done = plimsoll(*words)
        assert done.returncode == status and text in done.stderr, (words, done.stderr)


if __name__ == "__main__":
    sys.exit(claims.main())
