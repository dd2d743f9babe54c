# SPDX-License-Identifier: MIT
"""patience - waits until another process has done something.

PATIENCE_S decides only how late a hang is noticed. It is the same for all tests and far longer than the busiest machine
needs. No test may depend on its value.
"""

import re
import select
import time
from pathlib import Path

HEADER = Path(__file__).resolve().parent / "patience.h"
PATIENCE_S = int(re.search(r"#define PATIENCE_S (\d+)", HEADER.read_text())[1])
PAUSE_S = 0.01


def await_true(condition, what="the awaited event"):
    """Polls until the condition holds, for events without notification. Returns the condition's result."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, f"{what() if callable(what) else what} did not happen in {PATIENCE_S} s"
        time.sleep(PAUSE_S)
    return found


def await_readable(descriptor, what="an answer"):
    """Waits until the descriptor can be read without blocking, which includes end of file."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(PATIENCE_S * 1000), f"{what() if callable(what) else what} did not come in {PATIENCE_S} s"
