#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The tracing unwinder and libgcc agree: each allocation is traced to a hash, and the frames that were first seen with
# this hash must be those of the allocation (see oracle.c). TRACE_WORK multiplies the work; `make soak` does more of it.

load oracle

WORK=${TRACE_WORK:-2}
JOBS=$PLIMSOLL_SOURCE/bench/jobs
export UNWIND_TRACE=1

# traced PERCENT: at least this share of the stacks was traced.
traced() {
    [ "$(sum traced)" -ge $(($(sum compared) * $1 / 100)) ] || { echo "$(sum traced) of $(sum compared)"; return 1; }
}

@test "traced stacks agree with libgcc's: frames that grow, are realigned, are large, or are recursive" {
    watch_scenario shapes shapes $((1000 * WORK))
    agree 25000
    traced 99
    ended_only_by end
}

@test "traced stacks agree with libgcc's: threads, whose equal stacks have equal hashes" {
    watch_scenario shapes threads 100
    agree 10000
    traced 90
    ended_only_by end
}

@test "traced stacks agree with libgcc's: recursion of 100,000 frames, most of them beyond the limit" {
    watch_scenario shapes deep 100000
    agree 600
    reached depth 300
    reached traced 30
}

@test "traced stacks agree with libgcc's: signals, coroutines and odd frames, which are walked if they cannot be traced" {
    watch_scenario signals any-instruction $((2000 * WORK))
    watch_scenario signals alternate-stack 500
    watch_scenario signals nested 500
    watch_scenario coroutines mapped 200
    watch_scenario coroutines heap 200
    watch_scenario coroutines threads 100
    watch_scenario oddities odd-frames 1000
    watch_scenario oddities untabled 200
    watch_scenario oddities generated 200
    watch_scenario reload lazy 50
    agree 20000
    reached exact 3000
    reached guessed 500
}

@test "traced stacks agree with libgcc's: different modules loaded in turn at the same address" {
    watch_scenario reload reload $((100 * WORK))
    watch_scenario reload threads 100
    agree 1500
    reached traced 500
    ended_only_by end
}

@test "the comparison detects hashes that outlive their module" {
    UNWIND_REMEMBER=1 watch_scenario reload reload 400
    [ "$(sum different)" -gt 100 ]
}

@test "traced stacks agree with libgcc's: a C++ program that throws" {
    [ -x "$PROGRAMS/unwind-throws" ] || skip "no C++ compiler"
    watch "$PROGRAMS/unwind-throws" $((12 * WORK))
    agree $((100000 * WORK))
    traced 99
}

@test "traced stacks agree with libgcc's: python3 with malloc for every object" {
    PYTHONMALLOC=malloc watch /usr/bin/python3 -S "$JOBS/json_job.py" $((3 * WORK))
    agree $((150000 * WORK))
    traced 99
}

@test "traced stacks agree with libgcc's: perl" {
    watch perl "$JOBS/words.pl" $((WORK * 3 / 2))
    agree $((150000 * WORK))
    traced 99
}

@test "traced stacks agree with libgcc's: sqlite3" {
    have sqlite3
    sed "s/ROWS/$((12000 * WORK))/" "$JOBS/orders.sql" >orders.sql
    watch sqlite3 -lookaside 0 0 :memory: ".read orders.sql" # with lookaside, small blocks would come from its own pool
    agree $((60000 * WORK))
    traced 99
}

@test "traced stacks agree with libgcc's: gcc compiling files" {
    local files=(unwind/ehframe)
    [ "$WORK" -le 2 ] || files=(unwind/{ehframe,expression,rules,trace} records/file process)
    for file in "${files[@]}"; do
        watch gcc -O2 -D_GNU_SOURCE -I"$PLIMSOLL_SOURCE/src" \
            -c "$PLIMSOLL_SOURCE/src/core/$file.c" -o object.o
    done
    agree $((80000 * ${#files[@]} / 2))
    traced 90
}

@test "traced stacks agree with libgcc's: git" {
    have git
    export HOME=$BATS_TEST_TMPDIR GIT_CONFIG_NOSYSTEM=1
    git init -q repository
    cd repository
    git config user.name nobody
    git config user.email nobody@example.com
    for ((i = 0; i < 6 * WORK; i++)); do
        cp "$PLIMSOLL_SOURCE"/src/core/{.,unwind,records}/*.c .
        sed -i "s/return/return \/* $i *\//" ./*.c
        git add .
        git commit -qm "change $i"
    done
    watch git log -p --stat
    watch git gc -q
    agree $((5000 * WORK))
    traced 95
}

@test "traced stacks agree with libgcc's: bash and awk" {
    watch bash -c "for ((i = 0; i < $((500 * WORK)); i++)); do a[i % 50]=\${i/1/x}; b=\${a[*]:0:9}; done"
    watch awk "BEGIN { for (i = 0; i < $((20000 * WORK)); i++) { s = s % 1000 \"-\" i; a[i % 500] = s i } }"
    agree $((20000 * WORK))
    traced 99
}

@test "there were enough comparisons of traced stacks" {
    total=$(awk '{ total += $1 } END { print total }' "$BATS_FILE_TMPDIR/compared")
    echo "# $total comparisons, no difference" >&3
    [ "$total" -ge "$((WORK * 500000))" ]
}
