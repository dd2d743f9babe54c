#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Our stacks against libgcc's, frame by frame, for every allocation of each program (see oracle.c).

load oracle

@test "frames that grow, are realigned, are large, or are recursive" {
    watch_scenario shapes shapes 4000
    agree 100000
    ended_only_by end
}

@test "threads on stacks of the library's and of the program's" {
    watch_scenario shapes threads 400
    agree 50000
    ended_only_by end
}

@test "100,000 frames deep keeps both ends" {
    watch_scenario shapes deep 100000
    agree 600
    reached deepest 100000
    reached depth 300
    ended_only_by end depth
}

@test "a thread whose first allocation is 100,000 frames deep" {
    watch_scenario shapes deep-threads 100000
    agree 600
    reached deepest 100000
    ended_only_by end depth
}

@test "signal handlers on the same stack" {
    watch_scenario signals same-stack 3000
    agree 10000
    reached exact 10000
    ended_only_by end
}

@test "signal handlers on a stack of their own" {
    watch_scenario signals alternate-stack 3000
    agree 10000
    reached exact 10000
    ended_only_by end
}

@test "a signal handler within a signal handler" {
    watch_scenario signals nested 3000
    agree 10000
    reached exact 15000
    ended_only_by end
}

@test "a signal trampoline without unwind tables" {
    watch_scenario signals own-trampoline 1000
    agree 4000
    reached exact 4000
    ended_only_by end
}

@test "signals at any instruction" {
    watch_scenario signals any-instruction 10000
    agree 10000
    reached exact 9000
    ended_only_by end
}

@test "signals at any instruction, handled on another stack" {
    watch_scenario signals any-instruction-alternate 10000
    agree 10000
    reached exact 9000
    ended_only_by end
}

@test "after a stack overflow, with the stack pointer in the guard page" {
    watch_scenario signals overflow 20
    agree 20
    reached exact 20
    ended_only_by end depth
}

@test "coroutines on stacks between guard pages" {
    watch_scenario coroutines mapped 500
    agree 10000
    ended_only_by end
}

@test "coroutines on the heap" {
    watch_scenario coroutines heap 500
    agree 10000
    ended_only_by end
}

@test "coroutines in threads" {
    watch_scenario coroutines threads 500
    agree 20000
    ended_only_by end
}

@test "different modules one after the other at the same address" {
    watch_scenario reload reload 400
    agree 3000
    ended_only_by end
}

@test "the comparison finds what is wrong: rules kept beyond their module's end" {
    UNWIND_REMEMBER=1 watch_scenario reload reload 400
    [ "$(sum different)" -gt 100 ]
}

@test "modules come and go while other threads allocate" {
    watch_scenario reload threads 300
    agree 5000
    ended_only_by end
}

@test "below the loader's lazy binding, whose frame needs other registers" {
    watch_scenario reload lazy 200
    agree 1000
    ended_only_by end
}

@test "assembler frames with a CFA in any register or behind an expression" {
    watch_scenario oddities odd-frames 3000
    agree 3000
    ended_only_by end
}

@test "code without unwind tables is left by frame pointer, and says so" {
    watch_scenario oddities untabled 1000
    agree 3000
    reached guessed 2000
    reached no_cfi 1000
    ended_only_by end no_cfi
}

@test "generated code is left by frame pointer, and says so" {
    watch_scenario oddities generated 1000
    agree 2000
    reached guessed 2000
    ended_only_by end
}

@test "a C++ program that throws" {
    [ -x "$PROGRAMS/unwind-throws" ] || skip "no C++ compiler"
    watch "$PROGRAMS/unwind-throws" 12
    agree 100000
    ended_only_by end
}

@test "python3, every object by malloc" {
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

@test "git" {
    have git
    export HOME=$BATS_TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1
    git init -q repository
    cd repository
    git config user.name nobody
    git config user.email nobody@example.com
    for i in {1..12}; do
        cp "$PLIMSOLL_SOURCE"/src/core/*.c .
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

@test "gcc compiling a file" {
    watch gcc -O2 -D_GNU_SOURCE -I"$PLIMSOLL_SOURCE/src/core" -I"$PLIMSOLL_SOURCE/src/format" \
        -c "$PLIMSOLL_SOURCE/src/core/ehframe.c" -o object.o
    agree 80000
    ended_only_by end
}

@test "perl" {
    watch perl -e 'my %h; for my $i (1 .. 10000) { $h{$i} = join ",", map { $_ * $i } 1 .. 5 } print sort values %h'
    agree 10000
    ended_only_by end
}

@test "node, in and out of generated code" {
    have node
    watch node -e 'const a = []; for (let i = 0; i < 3000; i++) a.push(JSON.stringify({i, b: [i]})); console.log(a.length)'
    agree 30000
    reached guessed 10000
}

@test "every step with every register: frames, threads, signals, coroutines, odd frames, modules" {
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

@test "every step with every register: python3 and a C++ program that throws" {
    ORACLE=$PLIMSOLL_BUILD/tests/unwind/unwind-oracle-registers.so
    watch /usr/bin/python3 -c 'import json; json.dumps([1] * 1000)'
    [ ! -x "$PROGRAMS/unwind-throws" ] || watch "$PROGRAMS/unwind-throws" 1
    agree 5000
    ended_only_by end
}

@test "a module snapshot in place of the loader: frames, threads, signals, coroutines" {
    export UNWIND_SNAPSHOT=1
    watch_scenario shapes shapes 1000
    watch_scenario shapes threads 100
    watch_scenario signals alternate-stack 1000
    watch_scenario signals any-instruction 1000
    watch_scenario coroutines mapped 200
    watch_scenario oddities odd-frames 1000
    agree 50000
    [ "$(sum unlisted)" -eq 0 ]
    ended_only_by end
}

@test "a module snapshot in place of the loader: modules that come and go" {
    export UNWIND_SNAPSHOT=1
    watch_scenario reload reload 200
    watch_scenario reload threads 100
    agree 2000
}

@test "a module snapshot in place of the loader: python3 and its imports" {
    UNWIND_SNAPSHOT=1 PYTHONMALLOC=malloc watch /usr/bin/python3 -c 'import json, decimal, ctypes; json.dumps([1] * 1000)'
    agree 30000
}

@test "more than a million comparisons in all" {
    total=$(awk '{ total += $1 } END { print total }' "$BATS_FILE_TMPDIR/compared")
    echo "# $total comparisons, no difference" >&3
    [ "$total" -ge 1000000 ]
}
