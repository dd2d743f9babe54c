#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Our stacks and libgcc's agree on AArch64, too: the scenarios of tests/unwind, and a real program (see oracle.c there).

load ../unwind/oracle

# A part of the work only, in the short form of the tests.
part() {
    echo $(($1 / ${AARCH64_PART:-1}))
}

# in_sysroot PROGRAM...: a program of the arm64 Debian.
in_sysroot() {
    [ -n "${PLIMSOLL_SYSROOT:-}" ] || skip "no programs for this processor: tools/check aarch64 runs this with some"
    watch "$PLIMSOLL_SYSROOT$@"
}

@test "stacks agree with libgcc's: frames that grow, are large, or are recursive; threads; coroutines; C++" {
    watch_scenario shapes shapes $(part 8000)
    watch_scenario shapes threads $(part 1000)
    watch_scenario coroutines mapped $(part 200)
    watch_scenario coroutines threads $(part 200)
    watch "$PROGRAMS/unwind-throws" 12
    agree $(part 400000)
    ended_only_by end
}

@test "stacks agree with libgcc's: signal handlers, also in functions without a frame" {
    watch_scenario signals same-stack $(part 1000)
    watch_scenario signals alternate-stack $(part 1000)
    watch_scenario signals nested $(part 500)
    watch_scenario signals own-trampoline $(part 300)
    agree $(part 6000)
    reached exact $(part 6000)
    ended_only_by end
}

@test "stacks agree with libgcc's: frames of assembler, signed return addresses, code without unwind tables" {
    watch_scenario oddities odd-frames $(part 3000)
    watch_scenario oddities untabled $(part 300)
    watch_scenario oddities generated $(part 300)
    agree $(part 4000)
    reached guessed $(part 600)
    ended_only_by end no_cfi
}

@test "steps with every register agree" {
    ORACLE=$PLIMSOLL_BUILD/tests/unwind/unwind-oracle-registers.so
    watch_scenario shapes shapes $(part 300)
    watch_scenario signals alternate-stack $(part 200)
    watch_scenario oddities odd-frames $(part 800)
    agree $(part 8000)
    ended_only_by end
}

@test "traced stacks agree with libgcc's" {
    export UNWIND_TRACE=1
    watch_scenario shapes shapes $(part 4000)
    watch_scenario oddities odd-frames $(part 500)
    watch_scenario coroutines mapped $(part 100)
    agree $(part 100000)
    [ "$(sum traced)" -ge $(($(sum compared) * 9 / 10)) ]
}

@test "stacks agree with libgcc's: python3 with malloc for every object" {
    PYTHONHOME=$PLIMSOLL_SYSROOT/usr PYTHONMALLOC=malloc in_sysroot /usr/bin/python3 -c '
import json, re, sys
for i in range(int(sys.argv[1])):
    rows = json.loads(json.dumps([{"name": str(j), "values": [j] * 5} for j in range(100)]))
    re.sub(r"(\w+)-(\d+)", r"\2", " ".join(row["name"] + "-1" for row in rows))' "$(part 60)"
    agree $(part 200000)
    ended_only_by end
}
