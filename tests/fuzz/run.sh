#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh - fuzzes the reader for SECONDS (60), under AddressSanitizer and UBSan. What it learns stays in FUZZ_BUILD, so the
# next run starts from there. Fails, and names the file, when an input breaks the reader.
#
# With clang: libFuzzer, guided by coverage. Without: changed copies of the seeds, with gcc and the same sanitizers.
#
# usage: tests/fuzz/run.sh [SECONDS]
set -eu
seconds=${1:-60}
tree=$(cd "$(dirname "$0")/../.." && pwd)
scenarios="empty leak inlined losses hostile-names duplicates killed threads deep exact auto"
scenarios="$scenarios tags tags-sampled snapshot reset"

if printf 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
    clang -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null; then
    export CC=clang
    options=-Dc_args=-fsanitize=fuzzer-no-link
    fuzzer=tests/fuzz/fuzz_profile
else
    echo "no clang with libFuzzer here: changing seeds without its guidance"
    export CC=gcc
    options=
    fuzzer=tests/fuzz/fuzz_replay
fi

build=${FUZZ_BUILD:-$tree/build-check/fuzz}/$CC
seeds=$build/seeds
corpus=$build/corpus
findings=$build/findings
if ! [ -f "$build/build.ninja" ]; then
    # shellcheck disable=SC2086 # no option, or one
    meson setup "$build" "$tree" -Db_sanitize=address,undefined -Db_lundef=false $options >/dev/null
fi
ninja -C "$build" --quiet "$fuzzer" tests/reader/forge
mkdir -p "$seeds" "$corpus" "$findings"
for scenario in $scenarios; do
    "$build/tests/reader/forge" "$scenario" "$seeds/$scenario.plim"
done

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
if [ "$CC" = clang ]; then
    # A file of 256 KiB may cost a small multiple of its size: one allocation of 16 MiB is a finding.
    exec "$build/$fuzzer" -max_total_time="$seconds" -max_len=262144 -timeout=10 -malloc_limit_mb=16 -rss_limit_mb=1024 \
        -len_control=0 -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" "$seeds"
fi
end=$(($(date +%s) + seconds))
seed=$(date +%s)
while [ "$(date +%s)" -lt "$end" ]; do
    echo "seed $seed"
    "$build/$fuzzer" "$seed" 500 "$seeds"/*.plim
    seed=$((seed + 1))
done
