# SPDX-License-Identifier: MIT
"""counting - the last line of `make check` must count the tests that ran, and must not lose a failure.
The lines before it repeat what failed."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

from build import SOURCE, verdict

CASES = [
    ("points of a TAP stream", "OK", "1..3\nok 1 - a\nok 2 - b\nok 3 # SKIP c\n", "2 passed, 0 failed, 1 skipped"),
    ("a test that cmocka skipped", "FAIL", "1..2\nok 1 - a\nnot ok 2 # SKIP b\n", "1 passed, 0 failed, 1 skipped", 0),
    ("a skipped test and a crash", "FAIL", "1..2\nnot ok 2 # SKIP b\n", "0 passed, 1 failed, 1 skipped"),
    ("a failed point", "FAIL", "1..2\nok 1 - a\nnot ok 2 - b\n", "1 passed, 1 failed"),
    ("a program that died after a good point", "FAIL", "1..2\nok 1 - a\n", "1 passed, 1 failed"),
    ("cmocka's tests", "OK", "[==========] 12 test(s) run.\n[  PASSED  ] 12 test(s).\n", "12 passed, 0 failed"),
    ("cmocka's failures", "FAIL", "[  PASSED  ] 3 test(s).\n[  FAILED  ] 2 test(s), below:\n", "3 passed, 2 failed"),
    ("a script that prints what it likes", "OK", "hello\n", "1 passed, 0 failed"),
    ("a timeout", "TIMEOUT", "", "0 passed, 1 failed"),
    ("a skipped entry", "SKIP", "", "0 passed, 0 failed, 1 skipped"),
]

# What the end of the output repeats of a failed entry, and a line that it leaves out.
REPEATED = [
    ("a failed point and its reason", "ok 1 - a\nnot ok 2 - b\n# for 3, got 4\n", "# for 3, got 4", "ok 1 - a"),
    ("a reason that stands before the point", "ok 1 - a\n# for 5, got 6\nnot ok 2 - b\nok 3 - c\n", "got 6", "ok 3"),
    ("a point that was skipped is no failure", "not ok 1 # SKIP b\nnot ok 2 - c\n", "not ok 2 - c", "SKIP"),
    ("a program that died", "begun\n", "begun", "ended"),
]


def load_check():
    sys.dont_write_bytecode = True
    loader = SourceFileLoader("check", str(SOURCE / "tools/check"))
    module = module_from_spec(spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


def main():
    check = load_check()
    problems = []
    for what, result, stdout, expected, *status in CASES:
        got = str(check.count_entry({"result": result, "stdout": stdout, "returncode": status[0] if status else 1}))
        if got != expected:
            problems.append(f"{what}: counted as {got}, not {expected}")
    for what, stdout, kept, dropped in REPEATED:
        told = check.failure_of({"name": "entry", "result": "FAIL", "stdout": stdout})
        if "FAILED entry" not in told or kept not in told or dropped in told:
            problems.append(f"{what}: repeated as {told!r}")
    verdict(problems, len(CASES) + len(REPEATED))


if __name__ == "__main__":
    main()
