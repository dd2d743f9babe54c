# SPDX-License-Identifier: MIT
# Functions, arrays, subshells and pipelines of small programs; ends with status 5.
declare -A seen
fill() {
    local i
    for ((i = 0; i < 1500; i++)); do
        seen[key$((i * 7919 % 1009))]+=$i,
        printf '%s %d\n' "$1" $((i * i % 997))
    done
}
fill a | sort -k2,2n -k1 | uniq -c | awk '{ n += $1 * $3 } END { print n }'
fill b >/dev/null
echo "${#seen[@]}" "${seen[key7]}"
echo "$(fill c | sed 's/c //' | tr '\n' ' ' | wc -c)" "$(seq 1 20000 | sha256sum)"
(fill d | grep -c '9$') || exit 1
exit 5
