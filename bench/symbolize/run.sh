#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh [BUILD] - symbolizes 10,000 addresses of a 70 MB C++ program, and 1,000 of them with llvm-symbolizer.
#
# BUILD is the Meson build directory (default: build). The first call builds the program there, in about a minute and a
# half. Both tools take turns. The smallest CPU time of each counts, because noise only adds to it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd)
rounds=${ROUNDS:-7}
out=$build/bench/symbolize/big
binary=$out/big
target=2.0 # at most twice the time, for ten times the addresses

if ! command -v llvm-symbolizer >/dev/null; then
    echo "run.sh: llvm-symbolizer is missing (package llvm): nothing to compare with" >&2
    exit 1
fi
ninja -C "$build" bench/symbolize/places bench/measure >/dev/null
[ -e "$binary" ] || echo "building a large C++ program in $out (once) ..." >&2
"$here/build.sh" "$out" >&2

# Addresses all over .text, the same ones on every run.
readelf -SW "$binary" | sed -n 's/^ *\[ *[0-9]*\] \.text *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\) .*/\1 \2/p' |
    while read -r start bytes; do
        awk -v start=$((16#$start)) -v bytes=$((16#$bytes)) \
            'BEGIN { srand(1); for (i = 0; i < 10000; i++) printf "0x%x\n", start + int(rand() * bytes) }'
    done >"$out/10000"
head -n 1000 "$out/10000" >"$out/1000"

# Appends "cpu_us rss_kib" of a run to NAME.runs.
measure() {
    local name=$1 addresses=$2
    shift 2
    "$build/bench/measure" "$out/used" -- "$@" <"$addresses" >"$out/$name.places"
    awk '{ print $1 + $2, $3 }' "$out/used" >>"$out/$name.runs"
}
rm -f "$out"/*.runs
for _ in $(seq "$rounds"); do
    measure ours-10000 "$out/10000" "$build/bench/symbolize/places" "$binary"
    measure ours-1000 "$out/1000" "$build/bench/symbolize/places" "$binary"
    measure llvm-1000 "$out/1000" llvm-symbolizer --inlines --obj="$binary"
    measure llvm-10000 "$out/10000" llvm-symbolizer --inlines --obj="$binary"
done

least() {
    sort -n "$out/$1.runs" | head -n 1 | cut -d' ' -f1
}
most_memory() {
    sort -k2 -n "$out/$1.runs" | tail -n 1 | cut -d' ' -f2
}
# Places without names, which the two demanglers write differently. Without a line llvm-symbolizer may still give the
# file from the symbol table.
lines_only() {
    awk '/^$/ { print; n = 0; next } ++n % 2 == 0 { sub(/.*:0:0$/, "no line"); print }' "$1"
}
row() {
    awk -v name="$1" -v us="$(least "$2")" -v kib="$(most_memory "$2")" \
        'BEGIN { printf "| %-34s | %5.2f s | %4d MiB |\n", name, us / 1e6, kib / 1024 }'
}

echo "symbolizing a C++ program of $(($(stat -c %s "$binary") / 1000000)) MB, inlined calls included:"
echo
echo "|                                    | CPU time |   memory |"
echo "|------------------------------------|---------:|---------:|"
row "Plimsoll, 10,000 addresses" ours-10000
row "llvm-symbolizer, 1,000 of them" llvm-1000
row "Plimsoll, the same 1,000" ours-1000
row "llvm-symbolizer, all 10,000" llvm-10000
echo
awk -v ours="$(least ours-10000)" -v theirs="$(least llvm-1000)" -v target=$target 'BEGIN {
    printf "ratio of the first two: %.2f (target: at most %.1f): %s\n", ours / theirs, target,
        ours <= target * theirs ? "met" : "MISSED" }'
different=$(diff <(lines_only "$out/ours-10000.places") <(lines_only "$out/llvm-10000.places") | grep -c '^<' || true)
echo "places whose file, line or column differ: $different of $(grep -vc '^$' <(lines_only "$out/ours-10000.places"))"
