#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - fuzzes the code that reads profiles, under AddressSanitizer and UBSan. If an input breaks something, it fails
# and names the file.
#
# usage: tests/fuzz/run.sh BUILD [SECONDS]
#
# BUILD is configured with -Dfuzz=true; `tools/check clang` leaves one in build-check/clang. The corpus and the findings
# of a run of SECONDS stay in BUILD/fuzzing, so the next run starts from there.
#
# libFuzzer fuzzes the reader, guided by coverage, for a third of SECONDS. Exports choose what to do by the bytes of the
# profile, so coverage does not guide them: for the rest of the time they read changed copies of the seeds.
#
# Without SECONDS, as in `make check`, the reader gets a fixed number of inputs from a fixed seed and an empty corpus:
# the same inputs for every commit, on any machine. (The test fuzz-exports-replay does the same for exports.)
set -eu
build=$(cd "$1" && pwd)
seconds=${2:-}
programs=$build/tests/fuzz
work=$build/fuzz${seconds:+ing}
runs=4000

# Changes the seeds in a new way each time, until the time is over.
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

# A file of 512 KiB may cost a small multiple of its size. A single allocation of 16 MiB is a finding.
fuzz_reader()
{
    "$programs/fuzz_profile" "$@" -max_len=524288 -timeout=100 -malloc_limit_mb=16 -rss_limit_mb=1024 -len_control=0 \
        -print_final_stats=1 -artifact_prefix="$work/findings/" "$work/corpus" "$work/seeds"
}

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=handle_abort=1
export TMPDIR="$work/tmp" # a target that breaks leaves its files there
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
