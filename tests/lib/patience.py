# SPDX-License-Identifier: MIT
"""patience - waits for what another process does, until it is done.

PATIENCE_S decides nothing but how late a hang is noticed. It is the same for all tests, and far longer than the busiest
machine needs: no test may depend on it.
"""

import re
import select
import time
from pathlib import Path

HEADER = Path(__file__).resolve().parent / "patience.h"
PATIENCE_S = int(re.search(r"#define PATIENCE_S (\d+)", HEADER.read_text())[1])
PAUSE_S = 0.01


def await_true(condition, what="what was waited for"):
    """Until the condition holds: for what has no other way to say that it happened. Returns what the condition did."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, f"{what() if callable(what) else what} did not happen in {PATIENCE_S} s"
        time.sleep(PAUSE_S)
    return found


def await_readable(descriptor, what="an answer"):
    """Until something can be read without waiting, be it the end."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(PATIENCE_S * 1000), f"{what() if callable(what) else what} did not come in {PATIENCE_S} s"
