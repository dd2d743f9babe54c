#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Our stacks and libgcc's agree, frame by frame, for every allocation of each program (see oracle.c).

load oracle

@test "stacks agree with libgcc's: frames that grow, are realigned, are large, or are recursive" {
    watch_scenario shapes shapes 4000
    agree 100000
    ended_only_by end
}

@test "stacks agree with libgcc's: threads on stacks from the library and from the program" {
    watch_scenario shapes threads 400
    agree 50000
    ended_only_by end
}

@test "stacks agree with libgcc's: of 100,000 frames both ends are kept" {
    watch_scenario shapes deep 100000
    agree 600
    reached deepest 100000
    reached depth 300
    ended_only_by end depth
}

@test "stacks agree with libgcc's: a thread whose first allocation is 100,000 frames deep" {
    watch_scenario shapes deep-threads 100000
    agree 600
    reached deepest 100000
    ended_only_by end depth
}

@test "stacks agree with libgcc's: signal handlers on the same stack" {
    watch_scenario signals same-stack 3000
    agree 10000
    reached exact 10000
    ended_only_by end
}

@test "stacks agree with libgcc's: signal handlers on an alternate stack" {
    watch_scenario signals alternate-stack 3000
    agree 10000
    reached exact 10000
    ended_only_by end
}

@test "stacks agree with libgcc's: a signal handler within a signal handler" {
    watch_scenario signals nested 3000
    agree 10000
    reached exact 15000
    ended_only_by end
}

@test "stacks agree with libgcc's: a signal trampoline without unwind tables" {
    watch_scenario signals own-trampoline 1000
    agree 4000
    reached exact 4000
    ended_only_by end
}

@test "stacks agree with libgcc's: signals at any instruction" {
    watch_scenario signals any-instruction 10000
    agree 10000
    reached exact 9000
    ended_only_by end
}

@test "stacks agree with libgcc's: signals at any instruction, handled on an alternate stack" {
    watch_scenario signals any-instruction-alternate 10000
    agree 10000
    reached exact 9000
    ended_only_by end
}

@test "stacks agree with libgcc's: a stack overflow, with the stack pointer in the guard page" {
    [ -z "${PLIMSOLL_EMULATOR:-}" ] || skip "an emulator does not survive it"
    watch_scenario signals overflow 20
    agree 20
    reached exact 20
    ended_only_by end depth
}

@test "stacks agree with libgcc's: coroutines on stacks between guard pages" {
    watch_scenario coroutines mapped 500
    agree 10000
    ended_only_by end
}

@test "stacks agree with libgcc's: coroutines on the heap" {
    watch_scenario coroutines heap 500
    agree 10000
    ended_only_by end
}

@test "stacks agree with libgcc's: coroutines in threads" {
    watch_scenario coroutines threads 500
    agree 20000
    ended_only_by end
}

@test "stacks agree with libgcc's: different modules loaded in turn at the same address" {
    watch_scenario reload reload 400
    agree 3000
    ended_only_by end
}

@test "the comparison detects rules that outlive their module" {
    UNWIND_REMEMBER=1 watch_scenario reload reload 400
    [ "$(sum different)" -gt 100 ]
}

@test "stacks agree with libgcc's: modules loaded and unloaded while other threads allocate" {
    watch_scenario reload threads 300
    agree 5000
    ended_only_by end
}

@test "stacks agree with libgcc's: below the loader's lazy binding, whose frame needs other registers" {
    watch_scenario reload lazy 200
    agree 1000
    ended_only_by end
}

@test "stacks agree with libgcc's: assembler frames with a CFA in any register or from an expression" {
    watch_scenario oddities odd-frames 3000
    agree 3000
    ended_only_by end
}

@test "code without unwind tables is unwound by frame pointer and marked as a guess" {
    watch_scenario oddities untabled 1000
    agree 3000
    reached guessed 2000
    reached no_cfi 1000
    ended_only_by end no_cfi
}

@test "generated code is unwound by frame pointer and marked as a guess" {
    watch_scenario oddities generated 1000
    agree 2000
    reached guessed 2000
    ended_only_by end
}

@test "stacks agree with libgcc's: a C++ program that throws" {
    [ -x "$PROGRAMS/unwind-throws" ] || skip "no C++ compiler"
    watch "$PROGRAMS/unwind-throws" 12
    agree 100000
    ended_only_by end
}

@test "stacks agree with libgcc's: python3 with malloc for every object" {
    PYTHONMALLOC=malloc watch /usr/bin/python3 -c '
import argparse, decimal, json, re, threading
def work():
    for i in range(25):
        rows = json.loads(json.dumps([{"name": str(j), "values": [j] * 5} for j in range(100)]))
        re.sub(r"(\w+)-(\d+)", r"\2", " ".join(row["name"] + "-1" for row in rows))
        sorted(rows, key=lambda row: decimal.Decimal(row["name"]) / 7)
thread = threading.Thread(target=work)
thread.start()
work()
thread.join()'
    agree 200000
    ended_only_by end
}

@test "stacks agree with libgcc's: git" {
    have git
    export HOME=$BATS_TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1
    git init -q repository
    cd repository
    git config user.name nobody
    git config user.email nobody@example.com
    for i in {1..12}; do
        cp "$PLIMSOLL_SOURCE"/src/core/{.,unwind,records}/*.c .
        sed -i "s/return/return \/* $i *\//" ./*.c
        watch git add .
        watch git commit -qm "change $i"
    done
    watch git log -p --stat
    watch git gc -q
    watch git blame unwind.c
    agree 20000
    ended_only_by end
}

@test "stacks agree with libgcc's: gcc compiling a file" {
    watch gcc -O2 -D_GNU_SOURCE -I"$PLIMSOLL_SOURCE/src" \
        -c "$PLIMSOLL_SOURCE/src/core/unwind/ehframe.c" -o object.o
    agree 80000
    ended_only_by end
}

@test "stacks agree with libgcc's: perl" {
    watch perl -e 'my %h; for my $i (1 .. 10000) { $h{$i} = join ",", map { $_ * $i } 1 .. 5 } print sort values %h'
    agree 10000
    ended_only_by end
}

@test "stacks agree with libgcc's: node, in and out of generated code" {
    have node
    watch node -e 'const a = []; for (let i = 0; i < 3000; i++) a.push(JSON.stringify({i, b: [i]})); console.log(a.length)'
    agree 30000
    reached guessed 10000
}

@test "steps with every register agree: frames, threads, signals, coroutines, odd frames, modules" {
    ORACLE=$PLIMSOLL_BUILD/tests/unwind/unwind-oracle-registers.so
    watch_scenario shapes shapes 500
    watch_scenario shapes threads 50
    watch_scenario shapes deep 20000
    watch_scenario signals alternate-stack 500
    watch_scenario signals nested 500
    watch_scenario signals any-instruction 2000
    watch_scenario signals own-trampoline 200
    watch_scenario coroutines mapped 200
    watch_scenario reload lazy 50
    watch_scenario reload reload 50
    watch_scenario oddities odd-frames 1000
    watch_scenario oddities untabled 100
    agree 30000
    reached exact 3000
    reached guessed 200
    ended_only_by end depth no_cfi
}

@test "steps with every register agree: python3 and a C++ program that throws" {
    ORACLE=$PLIMSOLL_BUILD/tests/unwind/unwind-oracle-registers.so
    watch /usr/bin/python3 -c 'import json; json.dumps([1] * 1000)'
    [ ! -x "$PROGRAMS/unwind-throws" ] || watch "$PROGRAMS/unwind-throws" 1
    agree 5000
    ended_only_by end
}

@test "there were more than a million comparisons in all" {
    total=$(awk '{ total += $1 } END { print total }' "$BATS_FILE_TMPDIR/compared")
    echo "# $total comparisons, no difference" >&3
    [ "$total" -ge 1000000 ]
}
