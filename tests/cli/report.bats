# SPDX-License-Identifier: MIT
# The report, on synthetic profiles, so that every figure is known.

load support

@test "an auto report says how much sites may hide that were not sampled after exact counting ended" {
    forge auto-charge
    expect 0 "$plimsoll" report auto-charge.plim
    shows "1 site has not been sampled since exact counting ended: together at most 781 KiB more, with 95% confidence"
    forge exact
    expect 0 "$plimsoll" report exact.plim
    [[ $output != *"not been sampled"* ]]
}

@test "an estimated peak above RSS is shown with the largest RSS" {
    forge untouched
    expect 0 "$plimsoll" report untouched.plim
    [[ $output =~ "peak         27.3 MiB ± "[0-9.]+" MiB in ".*"; RSS never exceeded 20.0 MiB" ]]
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output != *"never exceeded"* ]]
}

@test "check names the worst site of a sampled profile with its error" {
    forge leak
    expect 1 "$plimsoll" check --max-calls 1 leak.plim
    [[ $output =~ worst:\ string_new\ src/parse.c:50\ \([0-9,]+\ ±\ [0-9,]+\) ]]
}

@test "the head names the process, how it was sampled and how it ended" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ ${lines[0]} == "./example --rows"*"pid 4711 · 12.8 s · exited 0 · x86_64" ]]
    [ "${lines[1]}" = "sampled every 512 KiB on average: 101 samples; ± = 95% confidence" ]
}

@test "totals are exact, live figures have an error" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    shows "allocated    104 MiB in 413,919 calls" "exact"
    [[ $output =~ "never freed  27.3 MiB ± "[0-9.]+" MiB in 12,251 ± "[0-9,]+" blocks  estimated" ]]
}

@test "the first screen names the culprit" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $(head -10 <<<"$output") =~ "1. index_add_term (src/index.c:40) held 19.3 MiB ± "[0-9.]+" MiB: 70.6% of what was never freed, 1.6 KiB a block" ]]
}

@test "what stands out is known to within itself" {
    forge tags-sampled
    COLUMNS=200 expect 0 "$plimsoll" report tags-sampled.plim
    [[ $output =~ "1. index_add_term".*" of what was never freed, 48 B a block on average" ]]
    [[ $output =~ "2. string_new".*" allocates 8.5 MiB ± "[0-9.]+" MiB" && $output != *"when the heap was largest"* ]]
    expect 0 "$plimsoll" report --peak tags-sampled.plim
    [[ $output =~ "1.0 MiB ± 1.2 MiB   31.8%".*"string_new" ]]
}

@test "sites are sorted by live bytes, by allocated bytes and by calls, each with its error and stack" {
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output =~ "Never freed".*index_add_term.*rows_grow.*Allocated.*index_add_term.*string_new.*Calls.*string_new.*index_add_term.*Threads ]]
    [[ $output =~ "19.3 MiB ± "[0-9.]+" MiB    70.6%  12,250 ± "[0-9,]+"  index_add_term  src/index.c:40  [example]" ]]
    shows "← index_file  src/index.c:30 ← main  src/index.c:20"
    [[ $output != *_start* ]]
}

@test "an exact figure has no error, and an estimate always has one" {
    forge exact
    expect 0 "$plimsoll" report exact.plim
    [[ $output != *"±"* ]]
    forge leak
    expect 0 "$plimsoll" report leak.plim
    grep -E '8\.0 MiB ± 0\.75 MiB +29\.4% +1 ± [0-9]+ +rows_grow' <<<"$output"
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

@test "--top limits the sites and says how many more there are" {
    forge leak
    expect 0 "$plimsoll" report --metric allocated --top 1 leak.plim
    shows index_add_term "(2 more)"
    fails grep -E '^ +.*string_new.*\[example\]' <<<"$output"
}

@test "--threshold leaves out small sites" {
    forge leak
    expect 0 "$plimsoll" report --metric calls --threshold 10% leak.plim
    [ "$(grep -c '\[example\]' <<<"$output")" -eq 1 ]
    shows "(2 more)"
}

@test "--depth limits the stack, and stacks that are equal up to there are one site" {
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

@test "--tree leaves out branches below the threshold and says so" {
    forge leak
    expect 0 "$plimsoll" report --tree --metric calls --threshold 5% leak.plim
    shows string_new "Left out: 2 branches, with less than 5% even together with their neighbours"
    [[ $output != *rows_grow* ]]
    expect 0 "$plimsoll" report --tree --metric live --threshold 40% leak.plim # leaves out a branch of 29.4%
    shows "Left out: 1 branch"
    story exact
    expect 0 "$plimsoll" report --tree --metric allocated --threshold 40% exact.plim
    shows "29.5 MiB    253,098  55.7%  └─ (2 more below 40%: 55.7% of bytes)"
}

@test "a tree has calls, bytes and shares, sorted siblings, and columns as wide as all digits" {
    story exact
    expect 0 "$plimsoll" report --tree --metric calls exact.plim
    [[ $output =~ "calls      bytes of all  Calls".*"256,098   52.9 MiB 100.0%  main".*"251,880   11.5 MiB  98.4%".*"3,000   23.4 MiB   1.2%" ]]
    expect 0 "$plimsoll" report --tree --metric allocated --all-digits exact.plim
    shows "55,489,232 B    256,098 100.0%  main" " 2,046,800 B      1,204   3.7%     └─ index_add_term"
}

@test "recursion of any depth is shown once, in trees and stacks; --full-names shows every frame" {
    printf '%s\n' '#include <stdlib.h>' 'void *volatile p;' 'void even(int);' \
        'void odd(int n) { if (n) even(n - 1); else p = malloc(100); }' \
        'void even(int n) { if (n) odd(n - 1); else p = malloc(100); }' \
        'int main(void) { for (int i = 0; i < 40; i++) odd(i); }' >deep.c
    cc -g -O0 -o deep deep.c
    "$plimsoll" run -q --exact -o deep.plim -- ./deep
    expect 0 "$plimsoll" report --tree deep.plim
    [ "$(grep -c 'even\|odd' <<<"$output")" -le 6 ]
    expect 0 "$plimsoll" report -m calls deep.plim
    [ "$(grep -c '%.*deep.c:[45]' <<<"$output")" -le 4 ]
    expect 0 "$plimsoll" report --full-names --tree deep.plim
    [ "$(grep -c 'even\|odd' <<<"$output")" -ge 40 ]
}

@test "the report fits on one screen, with the callers of a site on one line" {
    forge 1k-stacks
    expect 0 "$plimsoll" report 1k-stacks.plim
    [ "$(wc -l <<<"$output")" -le 45 ]
    "$plimsoll" run -q --exact -o out.plim -- "$(program cli-templates)"
    expect 0 "$plimsoll" report out.plim
    [ "$(wc -l <<<"$output")" -le 48 ]
    [ "$(grep -c '^ *← ' <<<"$output")" -le 12 ]
}

@test "callers are shown once; later tables refer to them" {
    story exact
    expect 0 "$plimsoll" report exact.plim
    [ "$(grep -c '← index_file  src/index.c:30 ← main' <<<"$output")" -eq 2 ] # for string_new and for index_add_term
    [ "$(sed -n '/^Calls /,$p' <<<"$output" | grep -c '\[example\]  (callers above)$')" -eq 4 ] # every site of the last table
    expect 0 "$plimsoll" report --metric calls exact.plim
    [[ $output != *"callers above"* ]]
}

@test "when hardly anything is live the peak is shown instead" {
    printf '#include <stdlib.h>\nvoid *p[1000], *volatile kept;\nint main(void) { kept = malloc(10); for (int i = 0; i < 1000; i++) p[i] = malloc(1000); for (int i = 0; i < 1000; i++) free(p[i]); }\n' >a.c
    cc -g -o prog a.c
    "$plimsoll" run -q --exact -o out.plim -- ./prog
    expect 0 "$plimsoll" report out.plim
    shows "never freed  10 B in 1 block" "At the peak   bytes"
    [[ $output != *"Never freed  "* && $output != *" of what was never freed"* ]]
}

@test "library frames between two of the program's own functions are one step" {
    "$plimsoll" run -q --exact -o out.plim -- "$(program cli-templates)"
    expect 0 "$plimsoll" report -m calls --depth 50 -n 1000 out.plim
    fails grep -E '← std::[^←]* ← std::' <<<"$output"
    expect 0 "$plimsoll" report -m calls --depth 50 -n 1000 --full-names out.plim
    grep -E 'bits/|c\+\+' <<<"$output"
}

@test "--source shows the source lines around each site, escaped, and does not fail without them" {
    mkdir src
    printf '#include <stdlib.h>\nvoid *volatile p;\nint main(void)\n{\n\tfor (int i = 0; i < 1000; i++)\n\t\tp = malloc(1000); /* \033[31mred\t\377 */\n\treturn 0;\n}\n' >src/a.c
    cc -g -o prog src/a.c
    "$plimsoll" run -q --exact -o out.plim -- ./prog
    expect 0 "$plimsoll" report --source out.plim
    shows "     5 │ for (int i" '     6 │     p = malloc(1000); /* \x1b[31mred' '\xff */' "     7 │ return 0;"
    [[ $output != *"newer than"* && $output != *$'\e'* && $output != *$'\t'* ]]
    for view in --peak --leaks --timeline --advice "--by thread" "-m calls"; do
        expect 0 "$plimsoll" report --source $view out.plim
    done
    touch -d '+1 hour' src/a.c
    expect 0 "$plimsoll" report --source out.plim
    shows "src/a.c is newer than prog: lines may have moved"
    : >src/a.c
    expect 0 "$plimsoll" report --source out.plim
    [[ $output != *│* ]]
    rm src/a.c
    mkfifo src/a.c
    expect 0 timeout "$patience" "$plimsoll" report --source out.plim
    [[ $output != *│* ]]
    expect 2 "$plimsoll" report --source --tree out.plim
    says "--source works only with tables of sites; drop it or --tree"
}

@test "a relative source path is looked for where the program was started, then in the current directory" {
    mkdir built other
    printf '#include <stdlib.h>\nvoid *volatile p;\nint main(void) { for (int i = 0; i < 1000; i++) p = malloc(1000); }\n' >built/a.c
    (cd built && cc -g -fdebug-prefix-map="$PWD"=. -o prog a.c && "$plimsoll" run -q --exact -o ../out.plim -- ./prog)
    cd other
    expect 0 "$plimsoll" report --source ../out.plim
    shows "3 │ int main(void)"
    mv ../built ../gone
    expect 0 "$plimsoll" report --source ../out.plim
    [[ $output != *│* ]]
    cp ../gone/a.c .
    expect 0 "$plimsoll" report --source ../out.plim
    shows "3 │ int main(void)"
}

@test "--all-digits shows every digit, the same as the JSON export" {
    story exact
    for format in "" "--peak" "--temporary" "--leaks" "--by thread" "--sizes" "--reallocs"; do
        expect 0 "$plimsoll" report --all-digits $format exact.plim
        [[ $output != *[KMG]iB* ]]
    done
    "$plimsoll" export --format json exact.plim >all.json
    expect 0 "$plimsoll" report --all-digits exact.plim
    printf '%s' "$output" >text
    python3 - <<'P'
import json
totals = json.load(open("all.json"))["totals"]
text = open("text").read().replace(",", "")
for key, words in (("alloc_space", "allocated    %d B in"), ("alloc_objects", " B in %d calls"),
                   ("inuse_space", "never freed  %d B in"), ("inuse_objects", " B in %d blocks"),
                   ("peak_space", "peak         %d B in")):
    value = totals[key]
    value = value["value"] if isinstance(value, dict) else value
    assert words % value in text, (key, value, text)
P
}

@test "estimated live bytes never exceed the allocated bytes" {
    local seed outcome seen=0
    for seed in $(seq 6); do
        PLIMSOLL_SEED=$seed "$plimsoll" run -q -s 1M -o s.plim -- "$(program cli-leaky)" 600 || [ $? -eq 3 ]
        "$plimsoll" report --all-digits s.plim >out
        outcome=0
        python3 - <<'P' || outcome=$?
import re, sys
text = open("out").read().replace(",", "")
allocated = int(re.search(r"allocated +(\d+) B", text)[1])
live = re.search(r"never freed +(\d+) B", text)
assert not live or int(live[1]) <= allocated, text
sys.exit(3 if live and int(live[1]) == allocated else 0)
P
        [ $outcome -eq 0 ] || [ $outcome -eq 3 ]
        [ $outcome -eq 0 ] || seen=1 # the estimate was limited
    done
    [ $seen -eq 1 ] # at least one of these runs would have exceeded it
}

@test "progress is never printed into a pipe" { # on a terminal: test_words.c
    forge 100k-stacks
    expect 0 "$plimsoll" report --top 1 100k-stacks.plim
    [[ $stderr != *plimsoll:\ [rsl]* && $stderr != *$'\r'* && $output != *$'\e'* && $output != *$'\r'* ]]
}

@test "--reverse shows calls from the allocator outward" {
    forge leak
    expect 0 "$plimsoll" report --reverse --metric calls leak.plim
    [[ $output =~ "├─ string_new".*"│  parse_line".*"│  index_file".*"│  main".*"└─ index_add_term" ]]
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

@test "--full-names keeps names and paths unchanged" {
    forge inlined
    expect 0 "$plimsoll" report --full-names --tree inlined.plim
    shows "/usr/include/c++/12/bits/stl_vector.h:1280"
}

@test "--full-names shortens nothing, even long names on a narrow terminal" {
    long=$(printf 'a_very_long_name_%.0s' {1..40})
    printf '#include <stdlib.h>\nvoid *volatile p;\nvoid %s(void) { for (int i = 0; i < 1000; i++) p = malloc(100); }\nint main(void) { %s(); }\n' "$long" "$long" >a.c
    cc -g -O0 -o prog a.c
    "$plimsoll" run -q --exact -o out.plim -- ./prog
    for view in "" --tree --leaks "--metric calls" --reverse; do
        COLUMNS=80 expect 0 "$plimsoll" report $view out.plim
        [[ $output != *"$long"* ]]
        COLUMNS=80 expect 0 "$plimsoll" report --full-names $view out.plim
        shows "$long" "$PWD/a.c:3"
        [[ $output != *…* ]]
    done
}

@test "unreadable stacks of a damaged file are marked, and no finding blames them" {
    story torn
    expect 0 "$plimsoll" report torn.plim
    shows "from a damaged file: 256,098 counted allocations could be read" "in 256,098 calls" \
        "(damaged: this stack cannot be read)" "threads      1 "
    [[ $output != *"no room in the file"* && $output != *"What stands out"* ]]
}

@test "a function whose reallocs stay in place is not advised to make fewer" {
    printf '#include <stdlib.h>\nvoid *volatile kept;\nvoid grow(void) { char *p = malloc(1); for (int i = 2; i < 100000; i++) p = realloc(p, (size_t) i %% 16 + 1); free(p); }\nint main(void) { kept = malloc(100000); grow(); }\n' >a.c
    cc -g -o prog a.c
    "$plimsoll" run -q --exact -o out.plim -- ./prog
    expect 0 "$plimsoll" report out.plim
    output=$(tr -s ' \n' ' ' <<<"$output")
    shows "nearly all by realloc in place, which copies nothing"
    [[ $output != *"fewer and larger"* ]]
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

@test "threads of one name share a line, and so do many numbered names" {
    forge threads
    expect 0 "$plimsoll" report threads.plim
    grep -E '^  thread \* +100,299 threads +47,850 +337 KiB +100\.0%$' <<<"$output"
    forge pools
    expect 0 "$plimsoll" report pools.plim
    grep -E '^  worker +8 threads +80 +8\.0 KiB +88\.9%$' <<<"$output"
    grep -E '^  worker-1 +4719 +10 +1\.0 KiB +11\.1%$' <<<"$output"
}

@test "a site that freed everything is in no table of live blocks" {
    forge leak
    for metric in live blocks; do
        expect 0 "$plimsoll" report --metric $metric leak.plim
        table=$(sed -n '/ever freed *$/,$p; /^Never freed/,$p' <<<"$output")
        [[ $table == *index_add_term* && $table != *string_new* ]]
    done
    expect 0 "$plimsoll" report --metric calls leak.plim
    shows string_new
}

@test "when every allocation was counted there is no error and no column for it" {
    "$plimsoll" run -q -s 1 -o all.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
    for option in --top=5 --tree --reverse; do
        expect 0 "$plimsoll" report $option all.plim
        shows "counted every allocation ("
        [[ $output != *±* ]]
    done
}

@test "the frames around main are left out, even in a stripped program" {
    cp "$(program cli-leaky)" leaky
    strip leaky
    "$plimsoll" run -q -s 1K -o out.plim -- ./leaky || [ $? -eq 3 ]
    expect 0 "$plimsoll" report out.plim
    [[ $output == *'[leaky]'* && $output != *libc_start* ]]
}

@test "a process that ended unobserved has no duration" {
    forge killed
    expect 0 "$plimsoll" report killed.plim
    [[ ${lines[0]} == *"pid 4711 · ended, exit status unknown · x86_64" ]]
}

@test "every loss is shown with its reason" {
    forge losses
    expect 0 "$plimsoll" report losses.plim
    for number in $(seq 100 109) $(seq 201 206); do
        grep -E "^ +$number  [a-z]" <<<"$output"
    done
    shows "(no room in the file for this stack)"
    expect 0 "$plimsoll" report --leaks losses.plim
    shows "not one site: the stacks of these blocks are unknown"
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output != *Losses* ]]
}

@test "for a killed process blocks are live, not never freed" {
    forge killed
    expect 0 "$plimsoll" report killed.plim
    shows "ended, exit status unknown" "live when it ended" "Live when it ended"
    [[ $output != *"ever freed"* ]]
}

@test "a profile without samples says what is known and how to get more" {
    forge empty
    expect 0 "$plimsoll" report empty.plim
    shows "0 samples" "not known: no allocation was sampled"
    "$plimsoll" run -q -s 1G -o none.plim -- "$(program cli-leaky)" 10 || [ $? -eq 3 ]
    expect 0 "$plimsoll" report none.plim
    shows "no sample was taken: there are no figures by site; plimsoll run --exact counts every allocation"
}

@test "few samples are reported as few, with the command that gives more" {
    forge inlined
    expect 0 "$plimsoll" report inlined.plim
    shows "few samples: figures by site are rough; plimsoll run --exact counts every allocation"
}

@test "truncated stacks are marked" {
    forge deep
    expect 0 "$plimsoll" report deep.plim
    shows "(frames left out)"
}

@test "control characters in names are escaped" {
    forge hostile-names
    expect 0 "$plimsoll" report --top 100 hostile-names.plim
    [[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\r'* && $output != *$'\t'* ]]
    shows '\x1b[31mred' 'line one\x0aline two'
    iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null
}

@test "a report fits the width of the terminal" {
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

@test "NO_COLOR and TERM=dumb switch colour off, an empty NO_COLOR does not" {
    forge leak
    output=$(NO_COLOR=1 TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output != *$'\e[1m'* ]]
    output=$(TERM=dumb script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output != *$'\e[1m'* ]]
    output=$(NO_COLOR= TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null)
    [[ $output == *$'\e[1m'* ]]
}

@test "--color always and never override the environment and the terminal" {
    forge leak
    NO_COLOR=1 expect 0 "$plimsoll" report --color always leak.plim
    [[ $output == *$'\e[1m'* ]]
    output=$(TERM=xterm script -qec "$plimsoll report --color never leak.plim" /dev/null)
    [[ $output != *$'\e[1m'* ]]
}

@test "the next command is suggested only on a terminal" {
    forge leak
    [[ $(TERM=xterm script -qec "$plimsoll report leak.plim" /dev/null) == *"plimsoll report --tree leak.plim"* ]]
    expect 0 "$plimsoll" report leak.plim
    [ -z "$stderr" ]
}

@test "a file that is not a profile is refused with the reason" {
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

@test "a process that is not profiled and one that does not exist get different messages" {
    start_unprofiled
    expect 1 "$plimsoll" report $started
    says "process $started (sleep) was started without Plimsoll"
    kill $started
    wait $started || true
    expect 1 "$plimsoll" report 999999999
    says "there is no process 999999999"
}

@test "a profile of an earlier process with the same pid is not taken for this one's" {
    forge leak
    python3 -c 'import struct, sys; f = open("leak.plim", "r+b"); f.seek(32); f.write(struct.pack("=I", int(sys.argv[1])))' $$
    mv leak.plim live/plimsoll.old.$$.plim
    expect 1 "$plimsoll" report $$
    says "process $$ is not being profiled; an earlier process with that PID left a profile: plimsoll report /"
}

@test "a missing binary is reported" {
    cp "$(program cli-leaky)" gone
    "$plimsoll" run -q --no-symbols -s 16K -o out.plim -- ./gone || [ $? -eq 3 ]
    rm gone
    expect 0 "$plimsoll" report out.plim
    says "/gone no longer exists, so its functions have no names"
    forge 1k-stacks
    expect 0 "$plimsoll" report 1k-stacks.plim
    [ "$(grep -c 'no longer exists' <<<"$stderr")" -eq 3 ]
    says "and 1 more; "
}

@test "a stripped binary is reported, with the way to get names" {
    cp "$(program cli-leaky)" bare
    strip bare
    "$plimsoll" run -q -s 16K -o out.plim -- ./bare || [ $? -eq 3 ]
    expect 0 "$plimsoll" report out.plim
    says "/bare is stripped, so its functions show as addresses" "DEBUGINFOD_URLS"
}

@test "a rebuilt binary is reported with its build-ids and used only with --force" {
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

@test "a profile that contains its names needs no binaries" {
    cp "$(program cli-leaky)" gone
    "$plimsoll" run -q -s 16K -o out.plim -- ./gone || [ $? -eq 3 ]
    rm gone
    expect 0 "$plimsoll" report out.plim
    [ -z "$stderr" ]
    shows "keep_block" "leaky.c:"
}

@test "a reader that closes the pipe early causes no failure" {
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

@test "the report on one process of a run names the others" {
    forge leak && mv leak.plim out.plim.1 # of an earlier run
    printf '#!/bin/sh\n%s 10\n%s 4000\nexit 0\n' "$(program cli-leaky)" "$(program cli-leaky)" >both
    chmod +x both
    expect 0 "$plimsoll" run --exact -o out.plim -- ./both
    expect 0 "$plimsoll" report out.plim
    [[ $stderr =~ "this is one of 3 profiles of the run; others: cli-leaky (out.plim."[0-9]+"), cli-leaky (out.plim."[0-9]+")" ]]
    expect 0 "$plimsoll" report out.plim.1
    [[ $stderr != *"profiles of the run"* ]]
    expect 0 "$plimsoll" report --leaks out.plim
    [[ $stderr != *"profiles of the run"* ]]
}
