# SPDX-License-Identifier: MIT
# report --leaks: the blocks that were never freed, after suppressions. A leak suspect needs evidence.

load support

# All tests read the profiles of two runs.
setup_file() {
    local serve=(python3 -B "$PLIMSOLL_SOURCE/tests/lib/service.py")
    "${serve[@]}" "$BATS_FILE_TMPDIR/killed.plim" killed >"$BATS_FILE_TMPDIR/seconds" &
    "${serve[@]}" "$BATS_FILE_TMPDIR/exited.plim"
    wait $!
}

# leaks [OPTIONS] WHICH: runs the report, so wide that no line is wrapped
leaks() {
    unset LSAN_OPTIONS
    COLUMNS=400 expect 0 "$plimsoll" report --leaks "${@:1:$#-1}" "$BATS_FILE_TMPDIR/${!#}.plim"
}

# judged SITE: prints the verdict on a site
judged() {
    grep -A1 " $1 " <<<"$output" | tail -1
}

# judges SITE WORDS: the verdict on SITE contains WORDS
judges() {
    [[ $(judged "$1") == *"$2"* ]] || { printf '%s is judged: %s\n%s\n' "$1" "$(judged "$1")" "$output"; return 1; }
}

lacks() {
    [[ $output != *"$1"* ]] || { printf 'stdout has: %s\n%s\n' "$1" "$output"; return 1; }
}

@test "for a killed server the leak is suspected and the request in progress is not" {
    leaks killed
    judges log_request "suspected leak: growing "
    judges begin_request "young: made in the last "
    judges begin_request "probably in use when it was killed"
    shows "1 suspected leak, " "live when it ended"
}

@test "the evidence is the growth rate, its duration, the ages and the share of freed blocks" {
    leaks killed
    [[ $(judged log_request) =~ "growing "[0-9.]+" "(KiB|B)"/s over "([0-9.]+)" s; "[0-9]+" are older than " ]]
    awk -v seen="${BASH_REMATCH[2]}" -v ran="$(cat "$BATS_FILE_TMPDIR/seconds")" \
        'BEGIN { exit !(seen >= 0.4 * ran && seen <= 1.2 * ran) }'
    [[ $(judged log_request) =~ "7"[345]\.[0-9]"% of its blocks were freed, nearly all within "[0-9.]+" " ]]
}

@test "tables, a full cache and sessions that replace each other are not suspected" {
    for which in killed exited; do
        leaks $which
        judges make_tables "at the start: all made in the first "
        judges fill_cache "stopped growing: none made after "
        judges fill_pool "stopped growing: hardly any made after "
        sessions=$(grep -A1 " replace_session " <<<"$output") # the sessions, and the array that holds them
        [[ $sessions == *"[cli-service]"* && $sessions != *"suspected leak"* ]]
    done
}

@test "a list that doubles may still grow, and is no proof of a leak before its next step is due" {
    for which in killed exited; do
        leaks $which
        judges grow_list "may still grow: it grows in steps, to ever larger blocks: to 16.0 KiB at "
        judges grow_list "; the next step is due by about "
    done
}

@test "a leak is also suspected when the program exits normally" {
    leaks exited
    judges log_request "suspected leak: growing "
    shows "never freed" "2.9 KiB in 30 blocks freed by exit handlers"
    lacks "read_config"
}

@test "what exit handlers freed is exact only where everything was counted" {
    cc -O0 -o leaving -x c - <<'C'
#include <stdlib.h>
static void *block[1000];
static void leave(void)
{
    for (int i = 0; i < 1000; i++)
        free(block[i]);
}
int main(void)
{
    for (int i = 0; i < 1000; i++)
        block[i] = malloc(1000);
    return atexit(leave);
}
C
    expect 0 "$plimsoll" run -q --exact -o exact.plim -- ./leaving
    expect 0 "$plimsoll" run -q -s 10K --seed 1 -o sampled.plim -- ./leaving
    COLUMNS=200 expect 0 "$plimsoll" report --leaks exact.plim
    shows "; 977 KiB in 1,000 blocks freed by exit handlers"
    COLUMNS=200 expect 0 "$plimsoll" report --leaks sampled.plim
    shows "; about " " in about " " blocks freed by exit handlers"
}

@test "suspected leaks come first, regardless of their size" {
    leaks killed
    [[ $(grep -m1 -A1 "blocks  allocated" <<<"$output" | tail -1) == *log_request* ]]
}

@test "the first screen begins with the suspected leak, its evidence and the command for details" {
    COLUMNS=400 expect 0 "$plimsoll" report "$BATS_FILE_TMPDIR/killed.plim"
    [[ $(grep -A1 "^What stands out" <<<"$output" | tail -1) =~ \
        ^" 1. log_request (".*") holds ".*" and keeps growing, by "[0-9.]+" "(KiB|B)"/s: suspected leak: ".*"plimsoll report --leaks" ]]
    [ "$(grep -c "^ [0-9]\. log_request .*never freed" <<<"$output")" -eq 0 ]
}

@test "advice names the command as it was typed, with the profile, except in exports" {
    mkdir t
    ln -s "$executable" t/plimsoll
    COLUMNS=400 expect 0 t/plimsoll report --advice "$BATS_FILE_TMPDIR/killed.plim"
    shows "find the code that should have freed them; t/plimsoll report --leaks $BATS_FILE_TMPDIR/killed.plim shows when they were made"
    COLUMNS=400 expect 0 t/plimsoll report "$BATS_FILE_TMPDIR/killed.plim"
    shows "find the code that should have freed them; t/plimsoll report --leaks $BATS_FILE_TMPDIR/killed.plim shows when they were made"
    export SOURCE_DATE_EPOCH=1700000000 # page data says when it was made
    for format in json page; do
        t/plimsoll export -f $format "$BATS_FILE_TMPDIR/killed.plim" -o typed.$format
        "$plimsoll" export -f $format "$BATS_FILE_TMPDIR/killed.plim" -o found.$format
        cmp typed.$format found.$format
    done
    grep -q '"find the code that should have freed them; plimsoll report --leaks shows when they were made"' typed.json
}

@test "the first screen does not list blocks that libraries keep on purpose as findings" {
    c++ -o hello -x c++ - <<<'#include <iostream>
int main() { std::cout << "hello\n"; }' 2>/dev/null || skip "no C++ compiler"
    "$plimsoll" run -q --exact -o hello.plim -- ./hello
    expect 0 "$plimsoll" report hello.plim
    shows "Never freed" "[libstdc++.so.6]"
    lacks "What stands out"
    c++ -o keeper -x c++ - <<<'#include <iostream>
#include <cstdlib>
void *volatile kept;
int main() { kept = malloc(100000); std::cout << "hello\n"; }'
    "$plimsoll" run -q --exact -o keeper.plim -- ./keeper
    COLUMNS=400 expect 0 "$plimsoll" report keeper.plim
    [[ $output =~ "What stands out"$'\n'" 1. main ("[^$'\n']*") held "[0-9]+" KiB: "[^$'\n']*$'\n' ]]
    [[ $output =~ $'\n'"    ("[0-9.]+" KiB of "[0-9.]+" KiB never freed matches suppressions: "[^$'\n']*"plimsoll report --leaks keeper.plim)" ]]
}

@test "a suppression that matches nothing is reported once" {
    printf 'leak:^log_requests$\nleak:make_tables\n' >a.supp
    leaks --suppressions a.supp killed
    [ "$stderr" = 'plimsoll: 1 rule matched nothing: leak:^log_requests$' ]
}

@test "blocks that libraries keep are suppressed, counted and shown on demand" {
    leaks killed
    shows " of that matches suppressions (" "--no-default-suppressions shows them"
    lacks "→"
    leaks --no-default-suppressions killed
    lacks "suppressions ("
    shows "main " "→ " # the buffer of stdout, allocated by puts
}

@test "user suppressions have LeakSanitizer's syntax and come from any number of files" {
    printf '# known\nleak:^log_request$\n' >a.supp
    printf 'leak:make_tab*les\n' >b.supp
    leaks --suppressions a.supp --suppressions b.supp killed
    lacks log_request
    lacks make_tables
    [[ $output =~ "no leak is suspected, but 1 of "[0-9]+" sites may still grow, in steps" ]]
    echo 'leak:grow_list' >>b.supp
    leaks --suppressions a.supp --suppressions b.supp killed
    shows "no leak is suspected: no site shows steady growth"
    [ -z "$stderr" ]
}

@test "suppressions match source files and modules" {
    echo 'leak:programs/service.c' >file.supp
    echo 'leak:/cli-service' >module.supp
    for which in file module; do
        leaks --suppressions $which.supp killed
        shows "; all of it matches suppressions ("
    done
}

@test "suppressions named in LSAN_OPTIONS are used too" {
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

@test "suppression lines for other tools are ignored with a message" {
    printf 'race:x\nleak:log_request\nmutex:y\n' >a.supp
    leaks --suppressions a.supp killed
    says "a.supp:1: race: and 1 more line" "for other tools; ignored"
    lacks log_request
}

@test "an invalid suppression line is an error with file and line" {
    printf '# fine\nleak:a\nlog_request\n' >a.supp
    expect 1 "$plimsoll" report --leaks --suppressions a.supp "$BATS_FILE_TMPDIR/killed.plim"
    says "a.supp:3: not a suppression; lines are leak:PATTERN"
    [ -z "$output" ]
    expect 1 "$plimsoll" report --leaks --suppressions gone.supp "$BATS_FILE_TMPDIR/killed.plim"
    says "cannot read suppressions from gone.supp: No such file or directory"
    expect 2 "$plimsoll" report --leaks --suppressions= "$BATS_FILE_TMPDIR/killed.plim"
}

@test "a short program is not judged by its growth" {
    "$plimsoll" run -q --exact -o short.plim -- "$(program cli-leaky)" 4000 || [ $? -eq 3 ]
    COLUMNS=400 expect 0 "$plimsoll" report --leaks short.plim
    shows "977 KiB in 1,000 blocks never freed" "the run took " "; leaks are judged only in runs of about two seconds or more"
    judges keep_block "none of its blocks was ever freed"
    lacks "suspected"
    COLUMNS=400 expect 0 "$plimsoll" report short.plim
    shows "keep_block (" "held 977 KiB: "
    lacks "says whether it grows"
}

@test "the blocks that bash keeps until exit are suppressed by default" {
    "$plimsoll" run -q --exact -o bash.plim -- bash -c :
    COLUMNS=400 expect 0 "$plimsoll" report --leaks bash.plim
    [[ $output =~ ([0-9]+)" blocks "("of that"|"never freed; all of it")" matches suppressions (" ]]
    [ "${BASH_REMATCH[1]}" -gt 100 ]
}

@test "the report of leaks fits every width" {
    for columns in 60 80 120; do
        COLUMNS=$columns expect 0 "$plimsoll" report --leaks "$BATS_FILE_TMPDIR/killed.plim"
        shows "log_request" "suspected leak: growing"
        while IFS= read -r line; do
            [ "${#line}" -le $columns ] || { printf 'longer than %d: %s\n' $columns "$line"; return 1; }
        done <<<"$output"
    done
}

@test "the report says when a profile has no ages" {
    forge leak
    expect 0 "$plimsoll" report --leaks leak.plim
    shows "no block ages, so it cannot show growth" "± "
    lacks "suspected"
}

@test "the report of an empty profile says that nothing is known" {
    forge empty
    expect 0 "$plimsoll" report --leaks empty.plim
    shows "Live memory is not known: no allocation was sampled"
}

@test "a cache that the program frees in the end is on the first screen, with its growth up to the peak" {
    local profile=$BATS_TEST_TMPDIR/cleanup.plim
    expect 0 "$plimsoll" run --exact -o "$profile" -- "$(program cli-cleanup)"
    COLUMNS=400 expect 0 "$plimsoll" report "$profile"
    grep -E '^ [12]\. cache_put .* held 3\.1 MiB when the heap was largest: .* It grew steadily until then, by ' <<<"$output"
    shows "Never freed" "At the peak"
    grep -E '^ [12]\. make_buffer .* held 781 KiB: ' <<<"$output"
    [[ ! $output =~ make_buffer[^$'\n']*grew ]]
    COLUMNS=400 expect 0 "$plimsoll" report --timeline "$profile"
    grep -A3 'What grew' <<<"$output" | grep cache_put
}
