#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - fuzzes for SECONDS (60) in all, under AddressSanitizer and UBSan: the reader for a third of it, and whatever
# can be done with a profile for the rest. What it learns stays in FUZZ_BUILD, so the next run starts from there. Fails,
# and names the file, when an input breaks something.
#
# With clang: the reader by libFuzzer, guided by coverage. What is done with a profile is chosen by its bytes, so there
# coverage is no guide: copies of the seeds are changed without, and many more of them.
#
# FUZZ_SEED: what chance begins with; unless it is given, every run is another. `make check` asks the same of every
# change.
#
# PLIMSOLL_BUILD: where a plimsoll is that makes a profile of a real program, for one more seed.
#
# usage: tests/fuzz/run.sh [SECONDS]
set -eu
seconds=${1:-60}
tree=$(cd "$(dirname "$0")/../.." && pwd)
scenarios="empty leak inlined losses hostile-names duplicates killed threads pools deep exact auto"
scenarios="$scenarios tags tags-sampled snapshot reset"

if printf 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
    clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then
    export CC=clang
    options=-Dc_args=-fsanitize=fuzzer-no-link
else
    echo "no clang with libFuzzer here: changing seeds without its guidance"
    export CC=gcc
    options=
fi

build=${FUZZ_BUILD:-$tree/build-check/fuzz}/$CC
seeds=$build/seeds
corpus=$build/corpus
findings=$build/findings
if ! [ -f "$build/build.ninja" ]; then
    # shellcheck disable=SC2086 # no option, or one
    meson setup "$build" "$tree" -Db_sanitize=address,undefined -Db_lundef=false $options >/dev/null
fi

# needs PROGRAM...: builds them, in tests/.
needs()
{
    for program; do
        set -- "$@" "tests/$program"
        shift
    done
    ninja -C "$build" --quiet "$@"
}

make_seeds()
{
    mkdir -p "$seeds" "$corpus" "$findings"
    for scenario in $scenarios; do
        "$build/tests/reader/forge" "$scenario" "$seeds/$scenario.plim"
    done
    "$build/tests/fuzz/seed_hostile" "$seeds/hostile.plim"
    "$build/tests/fuzz/seed_chain" "$seeds/chain.plim"
    "$build/tests/fuzz/seed_crowd" "$seeds/crowd.plim" 3
    if [ -x "${PLIMSOLL_BUILD:-}/plimsoll" ]; then
        "$PLIMSOLL_BUILD/plimsoll" run --exact --quiet -o "$seeds/real.plim" -- ls / >/dev/null
    fi
}

# change_seeds TARGET SECONDS: what broke it is left in findings.
change_seeds()
{
    end=$(($(date +%s) + $2))
    seed=${FUZZ_SEED:-$(date +%s)}
    while [ "$(date +%s)" -lt "$end" ]; do
        echo "$1, seed $seed"
        FUZZ_KEEP=$findings/$1 "$build/tests/fuzz/fuzz_$1_replay" "$seed" 20 "$seeds"/*.plim || {
            echo "$findings/$1 broke it; again: $build/tests/fuzz/fuzz_$1_replay 1 0 $findings/$1"
            exit 1
        }
        seed=$((seed + 1))
    done
    rm -f "$findings/$1"
}

# A file of 512 KiB may cost a small multiple of its size: one allocation of 16 MiB is a finding.
fuzz_profile()
{
    "$build/tests/fuzz/fuzz_profile" -max_total_time="$1" -max_len=524288 -timeout=10 -malloc_limit_mb=16 \
        -rss_limit_mb=1024 -len_control=0 -seed="${FUZZ_SEED:-0}" -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" "$seeds"
}

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=handle_abort=1
export TMPDIR="$build/tmp" # what breaks leaves its files there
mkdir -p "$TMPDIR"
needs reader/forge fuzz/seed_hostile fuzz/seed_chain fuzz/seed_crowd fuzz/fuzz_exports_replay
make_seeds
if [ "$CC" = clang ]; then
    needs fuzz/fuzz_profile
    fuzz_profile $((seconds / 3))
else
    needs fuzz/fuzz_profile_replay
    change_seeds profile $((seconds / 3))
fi
change_seeds exports $((seconds - seconds / 3))
