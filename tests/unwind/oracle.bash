# SPDX-License-Identifier: MIT
#
# Shared by the tests that preload the oracle (see oracle.c).

PROGRAMS=$PLIMSOLL_BUILD/tests/unwind/programs
ORACLE=$PLIMSOLL_BUILD/tests/unwind/unwind-oracle.so

setup() {
    export UNWIND_LOG=$BATS_TEST_TMPDIR/log
    cd "$BATS_TEST_TMPDIR"
}

# Runs a program under the oracle, and fails if the program fails. Programs of another processor run in an emulator.
watch() {
    if [ -z "${PLIMSOLL_EMULATOR:-}" ]; then
        LD_PRELOAD=$ORACLE "$@" >/dev/null
    else
        $PLIMSOLL_EMULATOR -E LD_PRELOAD="$ORACLE" "$@" >/dev/null
    fi
}

watch_scenario() {
    watch "$PROGRAMS/unwind-$1" "$2" "$3"
}

sum() {
    awk -v name="$1" '$1 == "compared" { for (i = 1; i < NF; i += 2) if ($i == name) { total += $(i + 1); break } }
                      END { print total + 0 }' "$UNWIND_LOG"
}

# agree MINIMUM: every comparison agreed, and there were at least this many.
agree() {
    local compared different
    compared=$(sum compared)
    different=$(sum different)
    if [ "$different" -ne 0 ] || grep -q DIFFERS "$UNWIND_LOG" || [ "$compared" -lt "$1" ]; then
        echo "$compared compared, at least $1 expected; $different different"
        cut -c1-300 "$UNWIND_LOG"
        return 1
    fi
    echo "$compared" >>"$BATS_FILE_TMPDIR/compared"
}

# reached NAME MINIMUM: the counter NAME shows that the program did what the test needs.
reached() {
    local count
    count=$(sum "$1")
    [ "$count" -ge "$2" ] || { echo "$1: $count, at least $2 expected"; return 1; }
}

# ended_only_by REASON...: every walk ended for one of these reasons.
ended_only_by() {
    local reason allowed
    for reason in end depth no_cfi bounds zero bad_cfi foreign; do
        for allowed; do [ "$reason" = "$allowed" ] && continue 2; done
        [ "$(sum "$reason")" -eq 0 ] || { echo "$(sum "$reason") walks ended by $reason"; return 1; }
    done
}

have() {
    command -v "$1" >/dev/null || skip "$1 is not installed"
}
