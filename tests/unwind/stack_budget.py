#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stack_budget - how much of the program's stack a walk and a trace use, including pl_unwind and pl_trace_stack.

The limit of the whole cold path is 1 KiB (tests/layers/stack.py). This limits the unwinder's part, so that growth is
seen where it happens.
"""

import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(os.environ["PLIMSOLL_SOURCE"]) / "tests/layers"))

import stack  # noqa: E402
from build import LIBRARY, verdict  # noqa: E402

LIMIT_BYTES = {"pl_unwind": 496, "pl_trace_stack": 400}


def main():
    functions = stack.call_graph(LIBRARY)
    walk = stack.Walk(functions, stack.frame_bytes(LIBRARY))
    problems, looked_at = [], 0
    for start, function in functions.items():
        if function.name not in LIMIT_BYTES:
            continue
        total, chain = walk.deepest(start)
        print(f"{total} bytes: " + " -> ".join(f"{step.name} {taken}" for step, taken in chain))
        looked_at += len(chain) > 2
        if total > LIMIT_BYTES[function.name]:
            problems.append(f"{function.name}: more than {LIMIT_BYTES[function.name]} bytes")
    verdict(problems + walk.problems, looked_at)


if __name__ == "__main__":
    main()
