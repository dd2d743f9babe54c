#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - fuzzes what reads profiles, under AddressSanitizer and UBSan. Fails, and names the file, when an input breaks
# something.
#
# usage: tests/fuzz/run.sh BUILD [SECONDS]
#
# BUILD is configured with -Dfuzz=true; `tools/check clang` leaves one in build-check/clang. What a run of SECONDS learns
# and finds stays in BUILD/fuzzing, so the next one starts from there.
#
# The reader is fuzzed by libFuzzer, guided by coverage, for a third of SECONDS. Exports choose what to do by the bytes
# of the profile, so that coverage is no guide: they read changed copies of the seeds for the rest.
#
# Without SECONDS, as `make check` runs it, the reader gets a fixed number of inputs from a fixed seed and an empty
# corpus: every change is asked the same, on any machine. (Exports are asked the same by the test fuzz-exports-replay.)
set -eu
build=$(cd "$1" && pwd)
seconds=${2:-}
programs=$build/tests/fuzz
work=$build/fuzz${seconds:+ing}
runs=4000

# Changes seeds, another way each time, until the time is up.
fuzz_exports()
{
    end=$(($(date +%s) + $1))
    seed=$(date +%s)
    while [ "$(date +%s)" -lt "$end" ]; do
        echo "exports, seed $seed"
        FUZZ_KEEP=$work/findings/exports "$programs/fuzz_exports_replay" "$seed" 20 "$work"/seeds/*.plim || {
            echo "$work/findings/exports broke it; again: $programs/fuzz_exports_replay 1 0 $work/findings/exports"
            exit 1
        }
        seed=$((seed + 1))
    done
    rm -f "$work/findings/exports"
}

# A file of 512 KiB may cost a small multiple of its size: one allocation of 16 MiB is a finding.
fuzz_reader()
{
    "$programs/fuzz_profile" "$@" -max_len=524288 -timeout=100 -malloc_limit_mb=16 -rss_limit_mb=1024 -len_control=0 \
        -print_final_stats=1 -artifact_prefix="$work/findings/" "$work/corpus" "$work/seeds"
}

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=handle_abort=1
export TMPDIR="$work/tmp" # what breaks leaves its files there
[ -n "$seconds" ] || rm -rf "$work"
mkdir -p "$work/seeds" "$work/corpus" "$work/findings" "$TMPDIR"
cp "$programs"/*.plim "$work/seeds"
if [ -n "$seconds" ]; then
    "$build/plimsoll" run --exact --quiet -o "$work/seeds/real.plim" -- ls / >/dev/null
    fuzz_reader "-max_total_time=$((seconds / 3))"
    fuzz_exports $((seconds - seconds / 3))
else
    fuzz_reader "-runs=$runs" -seed=1
fi
