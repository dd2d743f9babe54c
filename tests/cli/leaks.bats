# SPDX-License-Identifier: MIT
# report --leaks: what was never freed, after suppressions; leaks are suspected with evidence, and nothing else is.

load support

# Two runs are enough for all.
setup_file() {
    local serve=(python3 -B "$PLIMSOLL_SOURCE/tests/lib/service.py")
    "${serve[@]}" "$BATS_FILE_TMPDIR/killed.plim" killed >"$BATS_FILE_TMPDIR/seconds" &
    "${serve[@]}" "$BATS_FILE_TMPDIR/exited.plim"
    wait $!
}

# leaks [OPTIONS] WHICH: the report, wide enough that no line is broken
leaks() {
    unset LSAN_OPTIONS
    COLUMNS=400 expect 0 "$plimsoll" report --leaks "${@:1:$#-1}" "$BATS_FILE_TMPDIR/${!#}.plim"
}

# judged SITE: what is said about it
judged() {
    grep -A1 " $1 " <<<"$output" | tail -1
}

# judges SITE WORDS
judges() {
    [[ $(judged "$1") == *"$2"* ]] || { printf '%s is judged: %s\n%s\n' "$1" "$(judged "$1")" "$output"; return 1; }
}

lacks() {
    [[ $output != *"$1"* ]] || { printf 'stdout has: %s\n%s\n' "$1" "$output"; return 1; }
}

@test "a server that is killed in a request leaks what it leaks, and not the request" {
    leaks killed
    judges log_request "suspected leak: growing "
    judges begin_request "young: made in the last "
    judges begin_request "probably in use when it was killed"
    shows "1 suspected leak, " "live when it ended"
}

@test "the evidence is said: how fast, for how long, how old, how many were freed" {
    leaks killed
    [[ $(judged log_request) =~ "growing "[0-9.]+" "(KiB|B)"/s over "([0-9.]+)" s; "[0-9]+" are older than " ]]
    awk -v seen="${BASH_REMATCH[2]}" -v ran="$(cat "$BATS_FILE_TMPDIR/seconds")" \
        'BEGIN { exit !(seen >= 0.4 * ran && seen <= 1.2 * ran) }'
    [[ $(judged log_request) =~ "7"[345]\.[0-9]"% of its blocks were freed, nearly all within "[0-9.]+" " ]]
}

@test "tables, a cache that is full and sessions that take turns are not suspected" {
    for which in killed exited; do
        leaks $which
        judges make_tables "at the start: all made in the first "
        judges fill_cache "stopped growing: none made after "
        judges fill_pool "stopped growing: hardly any made after "
        fails grep -q "suspected leak" <<<"$(judged replace_session)"
    done
}

@test "a leak is suspected all the same when the program exits by itself" {
    leaks exited
    judges log_request "suspected leak: growing "
    shows "never freed" "2.9 KiB in 30 blocks freed by exit handlers"
    lacks "read_config"
}

@test "suspected leaks come first, whatever their size" {
    leaks killed
    [[ $(grep -m1 -A1 "blocks  made when" <<<"$output" | tail -1) == *log_request* ]]
}

@test "the first screen begins with a suspected leak, its evidence, and where there is more" {
    COLUMNS=400 expect 0 "$plimsoll" report "$BATS_FILE_TMPDIR/killed.plim"
    [[ $(grep -A1 "^What stands out" <<<"$output" | tail -1) =~ \
        ^" 1. log_request (".*") holds ".*" that only grow, by "[0-9.]+" "(KiB|B)"/s: suspected leak: ".*"plimsoll report --leaks" ]]
    [ "$(grep -c "^ [0-9]\. log_request .*never freed" <<<"$output")" -eq 0 ]
}

@test "advice names the command as it was typed, but not in what programs read" {
    mkdir t
    ln -s "$executable" t/plimsoll
    COLUMNS=400 expect 0 t/plimsoll report --advice "$BATS_FILE_TMPDIR/killed.plim"
    shows "find out who should have freed them; t/plimsoll report --leaks shows when they were made"
    COLUMNS=400 expect 0 t/plimsoll report "$BATS_FILE_TMPDIR/killed.plim"
    shows "find out who should have freed them; t/plimsoll report --leaks shows when they were made"
    export SOURCE_DATE_EPOCH=1700000000 # page data says when it was made
    for format in json page; do
        t/plimsoll export -f $format "$BATS_FILE_TMPDIR/killed.plim" -o typed.$format
        "$plimsoll" export -f $format "$BATS_FILE_TMPDIR/killed.plim" -o found.$format
        cmp typed.$format found.$format
    done
    grep -q '"find out who should have freed them; plimsoll report --leaks shows when they were made"' typed.json
}

@test "the first screen accuses nobody of what libraries keep on purpose" {
    c++ -o hello -x c++ - <<<'#include <iostream>
int main() { std::cout << "hello\n"; }' 2>/dev/null || skip "no C++ compiler"
    "$plimsoll" run -q --exact -o hello.plim -- ./hello
    expect 0 "$plimsoll" report hello.plim
    shows "Never freed" "[libstdc++.so.6]"
    lacks "What stands out"
}

@test "a rule that matches nothing is mentioned, once" {
    printf 'leak:^log_requests$\nleak:make_tables\n' >a.supp
    leaks --suppressions a.supp killed
    [ "$stderr" = 'plimsoll: 1 rule matched nothing: leak:^log_requests$' ]
}

@test "what libraries keep is suppressed, counted, and shown on demand" {
    leaks killed
    shows "suppressed (by " "--no-default-suppressions shows them"
    lacks "→"
    leaks --no-default-suppressions killed
    lacks "suppressed (by"
    shows "main " "→ " # the buffer of stdout, which puts made
}

@test "one's own suppressions are LeakSanitizer's, from any number of files" {
    printf '# known\nleak:^log_request$\n' >a.supp
    printf 'leak:make_tab*les\n' >b.supp
    leaks --suppressions a.supp --suppressions b.supp killed
    lacks log_request
    lacks make_tables
    shows "no leak is suspected: nothing here is seen to grow"
    [ -z "$stderr" ]
}

@test "suppressions by source file and by module" {
    echo 'leak:programs/service.c' >file.supp
    echo 'leak:/cli-service' >module.supp
    for which in file module; do
        leaks --suppressions $which.supp killed
        shows "nothing is left; "
    done
}

@test "LSAN_OPTIONS names suppressions, too" {
    printf 'leak:log_request\n' >"a b.supp"
    printf 'leak:make_tables\n' >c.supp
    COLUMNS=400 LSAN_OPTIONS="verbosity=1:suppressions='a b.supp'" expect 0 "$plimsoll" report --leaks \
        --suppressions c.supp "$BATS_FILE_TMPDIR/killed.plim"
    lacks log_request
    lacks make_tables
    LSAN_OPTIONS=suppressions=gone.supp expect 0 "$plimsoll" report --leaks "$BATS_FILE_TMPDIR/killed.plim"
    says "cannot read suppressions from gone.supp: No such file or directory (from LSAN_OPTIONS); ignored"
    shows log_request
}

@test "lines for other tools are ignored, with a word" {
    printf 'race:x\nleak:log_request\nmutex:y\n' >a.supp
    leaks --suppressions a.supp killed
    says "a.supp:1: race: and 1 more line" "for other tools; ignored"
    lacks log_request
}

@test "a line that is no suppression is an error with file and line" {
    printf '# fine\nleak:a\nlog_request\n' >a.supp
    expect 1 "$plimsoll" report --leaks --suppressions a.supp "$BATS_FILE_TMPDIR/killed.plim"
    says "a.supp:3: not a suppression; lines are leak:PATTERN"
    [ -z "$output" ]
    expect 1 "$plimsoll" report --leaks --suppressions gone.supp "$BATS_FILE_TMPDIR/killed.plim"
    says "cannot read suppressions from gone.supp: No such file or directory"
    expect 2 "$plimsoll" report --leaks --suppressions= "$BATS_FILE_TMPDIR/killed.plim"
}

@test "a short program is not judged by its growth" {
    "$plimsoll" run -q --exact -o short.plim -- "$(program cli-leaky)" 4000 || true
    COLUMNS=400 expect 0 "$plimsoll" report --leaks short.plim
    shows "977 KiB in 1,000 blocks never freed" "too short to see what grows"
    judges keep_block "none of its blocks was ever freed"
    lacks "suspected"
}

@test "bash leaves next to nothing that is its own" {
    "$plimsoll" run -q --exact -o bash.plim -- bash -c :
    COLUMNS=400 expect 0 "$plimsoll" report --leaks bash.plim
    shows "suppressed (by "
    [[ $output =~ ([0-9]+)" blocks suppressed" ]]
    [ "${BASH_REMATCH[1]}" -gt 100 ]
}

@test "every width has room for it" {
    for columns in 60 80 120; do
        COLUMNS=$columns expect 0 "$plimsoll" report --leaks "$BATS_FILE_TMPDIR/killed.plim"
        shows "log_request" "suspected leak: growing"
        while IFS= read -r line; do
            [ "${#line}" -le $columns ] || { printf 'longer than %d: %s\n' $columns "$line"; return 1; }
        done <<<"$output"
    done
}

@test "a profile without ages says so" {
    forge leak
    expect 0 "$plimsoll" report --leaks leak.plim
    shows "nothing can be said of growth" "± "
    lacks "suspected"
}

@test "a profile with nothing in it has nothing left" {
    forge empty
    expect 0 "$plimsoll" report --leaks empty.plim
    shows "What is left is not known: no allocation was sampled"
}
