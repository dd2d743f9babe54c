#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Our stacks and libgcc's agree on AArch64, too: the scenarios of tests/unwind, and a real program (see oracle.c there).

load ../unwind/oracle

# in_sysroot PROGRAM...: a program of the arm64 Debian.
in_sysroot() {
    [ -n "${PLIMSOLL_SYSROOT:-}" ] || skip "no programs for this processor: tools/check aarch64 runs this with some"
    watch "$PLIMSOLL_SYSROOT$@"
}

@test "stacks agree with libgcc's: frames that grow, are large, or are recursive; threads; coroutines; C++" {
    watch_scenario shapes shapes 8000
    watch_scenario shapes threads 1000
    watch_scenario coroutines mapped 200
    watch_scenario coroutines threads 200
    watch "$PROGRAMS/unwind-throws" 12
    agree 400000
    ended_only_by end
}

@test "stacks agree with libgcc's: signal handlers, also in functions without a frame" {
    watch_scenario signals same-stack 1000
    watch_scenario signals alternate-stack 1000
    watch_scenario signals nested 500
    watch_scenario signals own-trampoline 300
    agree 6000
    reached exact 6000
    ended_only_by end
}

@test "stacks agree with libgcc's: frames of assembler, signed return addresses, code without unwind tables" {
    watch_scenario oddities odd-frames 3000
    watch_scenario oddities untabled 300
    watch_scenario oddities generated 300
    agree 4000
    reached guessed 600
    ended_only_by end no_cfi
}

@test "steps with every register agree" {
    ORACLE=$PLIMSOLL_BUILD/tests/unwind/unwind-oracle-registers.so
    watch_scenario shapes shapes 300
    watch_scenario signals alternate-stack 200
    watch_scenario oddities odd-frames 800
    agree 8000
    ended_only_by end
}

@test "traced stacks agree with libgcc's" {
    export UNWIND_TRACE=1
    watch_scenario shapes shapes 4000
    watch_scenario oddities odd-frames 500
    watch_scenario coroutines mapped 100
    agree 100000
    [ "$(sum traced)" -ge $(($(sum compared) * 9 / 10)) ]
}

@test "stacks agree with libgcc's: python3 with malloc for every object" {
    PYTHONHOME=$PLIMSOLL_SYSROOT/usr PYTHONMALLOC=malloc in_sysroot /usr/bin/python3 -c '
import json, re
for i in range(60):
    rows = json.loads(json.dumps([{"name": str(j), "values": [j] * 5} for j in range(100)]))
    re.sub(r"(\w+)-(\d+)", r"\2", " ".join(row["name"] + "-1" for row in rows))'
    agree 200000
    ended_only_by end
}
