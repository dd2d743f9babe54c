# SPDX-License-Identifier: MIT
"""told - what known.py says its stacks were, and what an exported profile says."""

import json
from pathlib import Path

KNOWN = Path(__file__).resolve().parent / "known.py"


def stacks_in(exported):
    """size of a block -> the stacks that have allocated blocks of this size; a frame is (function, file, line)."""
    frames = [(f["function"], f["file"], f["line"]) for f in exported["frames"]]
    found = {}
    for site in exported["sites"]:
        for size in {site["smallest"], site["largest"]}:
            found.setdefault(size, []).append([frames[i] for i in exported["stacks"][site["stack"]]])
    return found


def told(output):
    """What the program says: size -> stack. A stack that comes twice has its first and its last size in the profile."""
    lines = [json.loads(line) for line in output.splitlines()]
    last = {json.dumps(stack): size for size, stack in lines}
    return {size: list(map(tuple, stack)) for size, stack in lines if last[json.dumps(stack)] == size}


def differences(wanted, found):
    return [f"{size}: {stack[:6]} is shown as {[s[:6] for s in found.get(size, [])]}"
            for size, stack in wanted.items() if stack not in found.get(size, [])]  # fmt: skip
