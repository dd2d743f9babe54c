# SPDX-License-Identifier: MIT
# The report, on profiles that were made up, so that every figure is known.

load support

@test "the head says whose profile it is, how it was made and how it ended" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ ${lines[0]} == "./example --rows"*"pid 4711 · 12.8 s · exited 0 · x86_64" ]]
    [ "${lines[1]}" = "sampled every 512 KiB on average: 101 samples; ± is 95%" ]
}

@test "totals are exact, live figures have their error" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    shows "allocated    104 MiB in 413,919 calls" "exact"
    [[ $output =~ "never freed  27.3 MiB ± "[0-9.]+" MiB in 12,251 ± "[0-9,]+" blocks  estimated" ]]
}

@test "the first screen names the culprit" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $(head -10 <<<"$output") =~ "1. index_add_term (src/index.c:40) holds 19.3 MiB ± "[0-9.]+" MiB: 70.6% of what was never freed, 1.6 KiB a block" ]]
}

@test "sites are sorted by live bytes, by allocated bytes and by calls, each with its error and stack" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output =~ "Never freed".*index_add_term.*rows_grow.*Allocated.*index_add_term.*string_new.*Calls.*string_new.*index_add_term.*Threads ]]
    [[ $output =~ "19.3 MiB ± "[0-9.]+" MiB   70.6%  12,250 ± "[0-9,]+"  index_add_term  src/index.c:40  [example]" ]]
    shows "← index_file  src/index.c:30 ← main  src/index.c:20"
    [[ $output != *_start* ]]
}

@test "an exact figure has no error" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    grep -E '8\.0 MiB +29\.4% +1 +rows_grow' <<<"$output"
}

@test "columns line up" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    for width in 80 120 200; do
        COLUMNS=$width "$plimsoll" report leak.plim | python3 -c '
import re, sys
tables = re.split(r"\n\n", sys.stdin.read())
for table in (t for t in tables if "± 95%" in t.split("\n")[0]):
    rows = table.split("\n")
    column = rows[0].index("site")
    sites = [row for row in rows[1:] if "%" in row]
    assert len(sites) >= 2 and all(row[column - 1] == " " and row[column] != " " for row in sites), table'
    done
}

@test "--metric chooses one table, by either name" {
    forge leak
    for metric in calls alloc_objects; do
        expect 0 "$plimsoll" report --metric $metric leak.plim
        shows "Calls"
        [[ $output != *"Allocated  "* && $output != *"Never freed   "* ]]
    done
    expect 0 "$plimsoll" report -m live leak.plim
    shows "Never freed"
    expect 0 "$plimsoll" report -m blocks leak.plim
    shows "Blocks never freed"
    expect 0 "$plimsoll" report -m allocated leak.plim
    shows "Allocated"
}

@test "--top bounds the sites and says how many are left" {
    forge leak
    expect 0 "$plimsoll" report --metric allocated --top 1 leak.plim
    shows index_add_term "(2 more)"
    fails grep -E '^ +.*string_new.*\[example\]' <<<"$output"
}

@test "--threshold leaves out what is small" {
    forge leak
    expect 0 "$plimsoll" report --metric calls --threshold 10% leak.plim
    [ "$(grep -c '\[example\]' <<<"$output")" -eq 1 ]
    shows "(2 more)"
}

@test "--depth bounds the stack, and stacks that agree so far are one site" {
    forge leak
    expect 0 "$plimsoll" report -m calls --depth 2 leak.plim
    shows "← parse_line  src/parse.c:40 ← …"
    [[ $output != *"parse.c:40 ← index_file"* ]]
    expect 0 "$plimsoll" report -m calls --depth 1 leak.plim
    [[ $output != *"← parse_line"* ]]
    forge 1k-stacks
    deep=$("$plimsoll" report --depth 50 -n 100000 -m calls 1k-stacks.plim 2>/dev/null | grep -c '%  *[0-9].*\[')
    shallow=$("$plimsoll" report --depth 1 -n 100000 -m calls 1k-stacks.plim 2>/dev/null | grep -c '%  *[0-9].*\[')
    [ "$deep" -gt "$shallow" ]
}

@test "--tree shows calls from main inward" {
    forge leak
    expect 0 "$plimsoll" report --tree leak.plim
    [[ $output =~ "100.0%  main  src/index.c:20  [example]".*"├─ index_file".*"│  index_add_term".*"└─ rows_grow" ]]
}

@test "--tree leaves out what is below the threshold and says so" {
    forge leak
    expect 0 "$plimsoll" report --tree --metric calls --threshold 5% leak.plim
    shows "more below 5.0%)" "string_new"
    [[ $output != *rows_grow* ]]
}

@test "--reverse shows calls from the allocator outward" {
    forge leak
    expect 0 "$plimsoll" report --reverse --metric calls leak.plim
    [[ $output =~ "├─ string_new".*"│  parse_line".*"│  index_file".*"│  main".*"├─ index_add_term" ]]
}

@test "--tree and --reverse together are refused" {
    forge leak
    expect 2 "$plimsoll" report --tree --reverse leak.plim
    says "choose one"
}

@test "standard library code is not the program's own: the site is its caller" {
    forge inlined
    expect 0 "$plimsoll" report inlined.plim
    shows "Table::add  src/table.cpp:41" "→ std::vector<Row>::push_back"
}

@test "--full-names keeps names and paths as they are" {
    forge inlined
    expect 0 "$plimsoll" report --full-names --tree inlined.plim
    shows "/usr/include/c++/12/bits/stl_vector.h:1280"
}

@test "--no-symbols shows addresses" {
    forge leak
    expect 0 "$plimsoll" report --no-symbols leak.plim
    [[ $output != *index_add_term* && $output =~ 0x[0-9a-f]+ ]]
}

@test "threads are listed with their exact figures" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    grep -E '^  example +4711 +412,918 +96\.1 MiB +92\.3%$' <<<"$output"
    forge threads
    expect 0 "$plimsoll" report threads.plim
    shows "threads      100,299"
}

@test "threads of one name are one line, and numbered names are one where there are many" {
    forge threads
    expect 0 "$plimsoll" report threads.plim
    grep -E '^  thread \* +100,299 threads +47,850 +337 KiB +100\.0%$' <<<"$output"
    forge pools
    expect 0 "$plimsoll" report pools.plim
    grep -E '^  worker +8 threads +80 +8\.0 KiB +88\.9%$' <<<"$output"
    grep -E '^  worker-1 +4719 +10 +1\.0 KiB +11\.1%$' <<<"$output"
}

@test "a site that freed everything is in no table of what is live" {
    forge leak
    for metric in live blocks; do
        expect 0 "$plimsoll" report --metric $metric leak.plim
        table=$(sed -n '/ever freed *$/,$p; /^Never freed/,$p' <<<"$output")
        [[ $table == *index_add_term* && $table != *string_new* ]]
    done
    expect 0 "$plimsoll" report --metric calls leak.plim
    shows string_new
}

@test "where every allocation was counted there is no error, nor a column for it" {
    "$plimsoll" run -q -s 1 -o all.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    for option in --top=5 --tree --reverse; do
        expect 0 "$plimsoll" report $option all.plim
        shows "counted every allocation ("
        [[ $output != *±* ]]
    done
}

@test "the frames around main are left out, named or not" {
    cp "$(program cli-leaky)" leaky
    strip leaky
    "$plimsoll" run -q -s 1K -o out.plim -- ./leaky || [ $? -eq 3 ]
    expect 0 "$plimsoll" report out.plim
    [[ $output == *'[leaky]'* && $output != *libc_start* ]]
}

@test "a process that was killed unseen has no duration" {
    forge killed
    expect 0 "$plimsoll" report killed.plim
    [[ ${lines[0]} == *"pid 4711 · ended without a word · x86_64" ]]
}

@test "every loss is shown in words" {
    forge losses
    expect 0 "$plimsoll" report losses.plim
    for number in $(seq 100 109) $(seq 201 206); do
        grep -E "^ +$number  [a-z]" <<<"$output"
    done
    shows "(no room in the file for this stack)"
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output != *Losses* ]]
}

@test "a killed process has live figures, not never freed ones" {
    forge killed
    expect 0 "$plimsoll" report killed.plim
    shows "ended without a word" "live when it ended" "Live when it ended"
    [[ $output != *"ever freed"* ]]
}

@test "a profile without samples says what is known, and how to know more" {
    forge empty
    expect 0 "$plimsoll" report empty.plim
    shows "0 samples" "not known: no allocation was sampled"
    "$plimsoll" run -q -s 1G -o none.plim -- "$(program cli-leaky)" 10 || true
    expect 0 "$plimsoll" report none.plim
    shows "nothing is known by site; plimsoll run --exact counts every allocation"
}

@test "few samples are called few, with what gives more" {
    forge inlined
    expect 0 "$plimsoll" report inlined.plim
    shows "few samples: figures by site are rough; plimsoll run --exact counts every allocation"
}

@test "frames that were left out are marked" {
    forge deep
    expect 0 "$plimsoll" report deep.plim
    shows "(frames left out)"
}

@test "names cannot command the terminal, nor break lines" {
    forge hostile-names
    expect 0 "$plimsoll" report --top 100 hostile-names.plim
    [[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\r'* && $output != *$'\t'* ]]
    shows '\x1b[31mred' 'line one\x0aline two'
    iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null
}

@test "a report fits into the width there is" {
    for width in 60 80 100 200; do
        for scenario in leak inlined hostile-names threads losses; do
            forge $scenario
            COLUMNS=$width expect 0 "$plimsoll" report $scenario.plim
            python3 -c '
import sys, unicodedata
for line in sys.stdin:
    columns = sum(0 if unicodedata.combining(c) else 1 for c in line.rstrip("\n"))
    assert columns <= int(sys.argv[1]), (columns, line)' $width <<<"$output"
        done
    done
}

@test "there is no colour in a pipe" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output != *$'\e'* ]]
}

@test "there is colour on a terminal, and the program's own frames are bold" {
    forge leak
    output=$(TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output == *$'\e[1mindex_add_term'* ]]
}

@test "NO_COLOR and TERM=dumb turn colour off, an empty NO_COLOR does not" {
    forge leak
    output=$(NO_COLOR=1 TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output != *$'\e[1m'* ]]
    output=$(TERM=dumb script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output != *$'\e[1m'* ]]
    output=$(NO_COLOR= TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output == *$'\e[1m'* ]]
}

@test "--color always and never win over everything" {
    forge leak
    NO_COLOR=1 expect 0 "$plimsoll" report --color always leak.plim
    [[ $output == *$'\e[1m'* ]]
    output=$(TERM=xterm script -qec "$plimsoll report --color never leak.plim" /dev/null)
    [[ $output != *$'\e[1m'* ]]
}

@test "what to type next is said on a terminal only" {
    forge leak
    [[ $(TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null) == *"plimsoll report --tree leak.plim"* ]]
    expect 0 "$plimsoll" report leak.plim
    [ -z "$stderr" ]
}

@test "a file that is not a profile is called what it is" {
    expect 1 "$plimsoll" report /bin/true
    says "/bin/true" "not a Plimsoll profile" "ELF"
    : >empty
    expect 1 "$plimsoll" report empty
    says "empty"
    expect 1 "$plimsoll" report nowhere.plim
    says "there is no file nowhere.plim" "plimsoll ls"
    expect 1 "$plimsoll" report .
    says "plimsoll: "
    forge leak
    head -c 1000 leak.plim >cut.plim
    expect 1 "$plimsoll" report cut.plim
    says "cut.plim"
}

@test "a file named like a number is a file" {
    forge leak
    mv leak.plim 12345
    expect 0 "$plimsoll" report 12345
    shows index_add_term
}

@test "a process that is not profiled, and one that does not exist, are told apart" {
    expect 1 "$plimsoll" report $$
    says "process $$ is not being profiled"
    expect 1 "$plimsoll" report 999999999
    says "there is no process 999999999"
}

@test "what an earlier process of the same number left is not taken for this one's" {
    forge leak
    python3 -c 'import struct, sys; f = open("leak.plim", "r+b"); f.seek(32); f.write(struct.pack("=I", int(sys.argv[1])))' $$
    mv leak.plim live/plimsoll.old.$$.plim
    expect 1 "$plimsoll" report $$
    says "process $$ is not being profiled; an earlier one of that number left a profile: plimsoll report /"
}

@test "a missing binary is named" {
    cp "$(program cli-leaky)" gone
    "$plimsoll" run -q --no-symbols -s 16K -o out.plim -- ./gone || [ $? -eq 3 ]
    rm gone
    expect 0 "$plimsoll" report out.plim
    says "/gone is not there any more, so its functions have no names"
    forge 1k-stacks
    expect 0 "$plimsoll" report 1k-stacks.plim
    [ "$(grep -c 'is not there any more' <<<"$stderr")" -eq 3 ]
    says "and 1 more; "
}

@test "a stripped binary is named, with what would give it names" {
    cp "$(program cli-leaky)" bare
    strip bare
    "$plimsoll" run -q -s 16K -o out.plim -- ./bare || [ $? -eq 3 ]
    expect 0 "$plimsoll" report out.plim
    says "/bare is stripped, so its functions show as addresses" "DEBUGINFOD_URLS"
}

@test "a rebuilt binary is named by its build-ids, and used only by force" {
    printf '#include <stdlib.h>\nvoid *volatile p;\nint main(void) { for (int i = 0; i < 10000; i++) p = malloc(1000); return VALUE; }\n' >a.c
    cc -g -DVALUE=0 -Wl,--build-id -o prog a.c
    "$plimsoll" run -q --no-symbols -s 16K -o out.plim -- ./prog
    expect 0 "$plimsoll" report out.plim
    shows "a.c:3"
    cc -g -DVALUE=5 -Wl,--build-id -o prog a.c
    expect 0 "$plimsoll" report out.plim
    [[ $stderr =~ "prog was rebuilt since this profile was made (build-id "[0-9a-f]{4}"… now "[0-9a-f]{4}"…)" ]]
    [[ $output != *a.c* ]]
    expect 0 "$plimsoll" report --force out.plim
    shows "a.c:3"
    says "names may be wrong"
}

@test "a profile with its names in it needs no binaries" {
    cp "$(program cli-leaky)" gone
    "$plimsoll" run -q -s 16K -o out.plim -- ./gone || [ $? -eq 3 ]
    rm gone
    expect 0 "$plimsoll" report out.plim
    [ -z "$stderr" ]
    shows "keep_block" "leaky.c:"
}

@test "a reader that leaves early is no failure" {
    forge 1k-stacks
    set -o pipefail
    "$plimsoll" report --top 100000 -m calls 1k-stacks.plim 2>/dev/null | head -1 || [ $? -eq 141 ]
}

@test "a full stdout is a failure" {
    forge leak
    run -1 bash -c '"$0" report leak.plim >/dev/full' "$plimsoll"
    [ "$output" = "plimsoll: cannot write to stdout: No space left on device" ]
    [[ $output == *"cannot write to stdout"* ]]
}
