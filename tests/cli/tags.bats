# SPDX-License-Identifier: MIT
# Reports by tag and by thread, on a synthetic server: tests/cli/tagged.c.

load support

# tagged WHICH: writes WHICH.plim
tagged() {
    "$PLIMSOLL_BUILD/tests/cli/tagged" "$1" "$1.plim"
}

# line TEXT: prints the lines of stdout that contain TEXT, with runs of blanks squeezed to one
line() {
    grep -F -- "$1" <<<"$output" | tr -s ' '
}

@test "--by tag shows the tree: total, share, self, calls, live and how often a tag was entered" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --threshold 0 exact.plim
    [ "$(line '  all')" = " 5.8 MiB 100.0% 31,890 1.0 MiB all" ]
    [ "$(line '─ request')" = " 4.8 MiB 82.8% 1.6 KiB 30,850 40.0 KiB 100 ▶ ├─ request" ]
    [ "$(line '─ render')" = " 2.9 MiB 50.9% 2.9 MiB 750 40.0 KiB 150 ▶ │ ├─ render" ]
    [ "$(line '─ parse')" = " 1.8 MiB 31.8% 1.8 MiB 30,000 0 B 150 │ └─ parse" ]
    [ "$(line '─ index')" = " 1,000 KiB 17.0% 1,000 KiB 1,000 1,000 KiB 1 ├─ index" ]
    [ "$(line '─ (no tag)')" = " 10.0 KiB 0.2% 10.0 KiB 10 10.0 KiB ├─ (no tag)" ]
    [[ $output != *±* ]]
}

@test "names with the same beginning are different tags" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --threshold 0 exact.plim
    [ "$(line '─ Func' | tr -d '├└─')" = " 1.2 KiB 0.0% 1.2 KiB 20 0 B 1  FuncLong
 640 B 0.0% 640 B 10 0 B 1  Func" ]
    expect 0 "$plimsoll" report --tag Func exact.plim
    shows "selected: tag Func, and below" "allocated    640 B in 10 calls"
    expect 0 "$plimsoll" report --tag FuncLong exact.plim
    shows "allocated    1.2 KiB in 20 calls"
}

@test "--metric chooses the order of the tree and its totals" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --metric live exact.plim
    [[ $output =~ "Never freed, by tag".*"▶ ├─ index".*"─ request" ]]
    [ "$(line '─ index')" = " 1,000 KiB 95.2% 1,000 KiB 1,000 1,000 KiB 1 ▶ ├─ index" ]
    expect 0 "$plimsoll" report --by tag --metric calls exact.plim
    [ "$(line '─ parse')" = " 30,000 94.1% 30,000 1.8 MiB 0 B 150 ▶ │ └─ parse" ] ||
        [ "$(line '─ parse')" = " 30,000 94.1% 30,000 1.8 MiB 0 B 150 ▶ │ ├─ parse" ]
}

@test "tags below the threshold share a line with their number; a single one keeps its name" {
    tagged exact
    expect 0 "$plimsoll" report --by tag exact.plim
    [ "$(line more)" = " 11.9 KiB 0.2% 40 10.0 KiB └─ (3 more below 1.0%)" ]
    [[ $output != *Func* ]]
    shows "Tags below 1.0% are combined; --threshold 0 shows each."
    expect 0 "$plimsoll" report --by tag --threshold 0 exact.plim
    [[ $output != *"--threshold"* ]]
    expect 0 "$plimsoll" report --by tag --threshold 20% exact.plim
    [ "$(line '(4 more below 20.0%)')" ]
    expect 0 "$plimsoll" report --by tag --threshold 90% exact.plim
    [ "$(line '(7 more below 90.0%)')" ] # including those below request
    expect 0 "$plimsoll" report --by tag --threshold 60% exact.plim
    [ "$(line '─ request')" = " 4.8 MiB 82.8% 1.6 KiB 30,850 40.0 KiB 100 ▶ ├─ request (2 more below 60.0%)" ]
    expect 0 "$plimsoll" report --by tag --threshold 40% exact.plim
    [ "$(line '└─ parse')" = " 1.8 MiB 31.8% 1.8 MiB 30,000 0 B 150 │ └─ parse" ]
}

@test "in sampled profiles calls and bytes of a tag are exact and live bytes are estimated" {
    tagged sampled
    expect 0 "$plimsoll" report --by tag sampled.plim
    [[ $(line '─ render') =~ ^" 2.9 MiB 50.9% 2.9 MiB 750 40.0 KiB ± "[0-9.]+" KiB 150 ▶" ]]
    [ "$(grep -c 'are exact; figures with ± are estimated' <<<"$output")" -eq 1 ]
    tagged exact
    expect 0 "$plimsoll" report --by tag exact.plim
    [[ $output != *"are exact; figures"* ]]
}

@test "--functions shows the calls of each allocation function" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --functions exact.plim
    [ "$(line '  all')" = " 5.8 MiB 100.0% 30,890 1,000 all" ]
    [ "$(line '─ index')" = " 1,000 KiB 17.0% 1,000 KiB 0 1,000 ├─ index" ]
    [[ $output =~ "self  malloc  calloc    tag" ]]
    expect 2 "$plimsoll" report --functions exact.plim
    says "--functions works only with --by tag; add --by tag"
}

@test "--freed shows how much of a tag's memory was freed, by any thread or tag" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --freed --threshold 0 exact.plim
    [[ $output =~ self\ +calls\ +frees\ +freed\ +live\ +entered ]]
    [ "$(line '─ request')" = " 4.8 MiB 82.8% 1.6 KiB 30,850 30,840 4.7 MiB 40.0 KiB 100 ▶ ├─ request" ]
    [ "$(line '─ render')" = " 2.9 MiB 50.9% 2.9 MiB 750 740 2.9 MiB 40.0 KiB 150 ▶ │ ├─ render" ]
    [ "$(line '─ index')" = " 1,000 KiB 17.0% 1,000 KiB 1,000 0 0 B 1,000 KiB 1 ├─ index" ]
    expect 0 "$plimsoll" report --by tag --functions --freed exact.plim
    [ "$(line '─ index')" = " 1,000 KiB 17.0% 1,000 KiB 0 1,000 0 0 B ├─ index" ]
    [[ $output =~ self\ +malloc\ +calloc\ +frees\ +freed\ +tag ]]
    tagged sampled
    expect 0 "$plimsoll" report --by tag --freed sampled.plim
    [[ $(line "─ render") =~ " 750 740 ± "[0-9]+" 2.9 MiB ± "[0-9.]+" MiB " ]]
    expect 2 "$plimsoll" report --freed exact.plim
    says "--freed works only with --by tag; add --by tag"
}

@test "exact counts have all their digits" {
    tagged many
    expect 0 "$plimsoll" report --by tag --metric calls many.plim
    [ "$(line '─ many')" = " 2,345,678 98.7% 2,345,678 35.8 MiB 0 B 1 ▶ ├─ many" ]
    [ "$(line '  all')" = " 2,377,568 100.0% 41.5 MiB 1.0 MiB all" ]
}

@test "when several threads make the peak inexact, the report gives the margin" {
    tagged exact
    expect 0 "$plimsoll" report exact.plim
    [[ $output != *"to within"* ]]
    tagged rough # three threads, of which at most two run at the same time
    expect 0 "$plimsoll" report rough.plim
    grep -E 'peak +1\.0 MiB, to within 512 KiB, in 1,020 blocks at ' <<<"$output"
    expect 0 "$plimsoll" report --by tag --metric peak rough.plim
    shows "The peak of the whole heap is 1.0 MiB, to within 512 KiB, as several threads allocate."
    expect 0 "$plimsoll" report --by tag rough.plim
    [[ $output != *"to within"* ]]
}

@test "a peak that is uncertain by more than itself is at most all that was allocated" {
    tagged rougher
    expect 0 "$plimsoll" report rougher.plim
    grep -E 'allocated +5\.8 MiB in ' <<<"$output"
    grep -E 'peak +1\.0 MiB, at most 5\.8 MiB, in 1,020 blocks at ' <<<"$output"
    expect 0 "$plimsoll" report --by tag --metric peak rougher.plim
    shows "The peak of the whole heap is 1.0 MiB, at most 5.8 MiB, as several threads allocate."
}

@test "an estimate of live bytes does not exceed the allocated bytes" {
    tagged lucky
    expect 0 "$plimsoll" report --by tag lucky.plim
    [[ $(line '─ load') =~ ^" 156 KiB 100.0% 156 KiB 100 156 KiB ± "[0-9.]+" KiB 1 " ]]
    expect 0 "$plimsoll" report --tag load lucky.plim
    grep -E 'never freed +156 KiB ± [0-9.]+ KiB in 100 ± [0-9]+ blocks' <<<"$output"
}

@test "one block and one call are in the singular" {
    tagged one
    expect 0 "$plimsoll" report one.plim
    shows "14 B in 1 call (" "14 B in 1 block at" "never freed  14 B in 1 block"
    expect 0 "$plimsoll" report --peak one.plim
    shows "14 B in 1 block"
    expect 0 "$plimsoll" report --by thread one.plim
    shows "14 B in 1 call (100.0% of all) · 14 B in 1 block never freed · 14 B in 1 block at the peak"
    [[ $output != *"1 blocks"* && $output != *"1 calls"* ]]
}

@test "the hot path is bold on a terminal and marked everywhere" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --color always exact.plim
    shows $'\e[33m▶ \e[0m\e[2m├─ \e[0m\e[1mrequest\e[0m' $'\e[2m│  \e[0m\e[2m└─ \e[0mparse'
    expect 0 "$plimsoll" report --by tag exact.plim
    [ "$(grep -c ▶ <<<"$output")" -eq 3 ] # two lines of the path and the legend
    [[ $output != *$'\e'* ]]
    tagged odd # no tag has half of the total
    expect 0 "$plimsoll" report --by tag odd.plim
    [[ $output != *▶* ]]
}

@test "each group of threads has a tree, merged by --merge-threads, heaviest first" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --merge-threads 'worker-.*' exact.plim
    [[ $output =~ "worker-.* (2 threads)".*render.*" server".*index ]]
    [ "$(line 'threads)')" = " 4.8 MiB 82.8% 30,880 40.0 KiB worker-.* (2 threads)" ]
    [ "$(line ' server')" = " 1,010 KiB 17.2% 1,010 1,010 KiB server" ]
    expect 0 "$plimsoll" report --by thread,tag exact.plim
    [[ $output =~ " worker-1".*render.*" worker-2".*render.*" server".*index ]]
    [ "$(line ' worker-2')" = " 1.6 MiB 27.6% 10,280 0 B worker-2" ]
}

@test "--merge-threads that matches no thread is reported with the threads there are" {
    tagged exact
    for view in "report --by thread" "report --by tag" "report" "export -f tags-json"; do
        expect 0 "$plimsoll" $view --merge-threads 'work' exact.plim
        says "--merge-threads work: matches no whole thread name; threads are: worker-1, worker-2, server"
        [ "${#stderr_lines[@]}" -eq 1 ]
        expect 0 "$plimsoll" $view --merge-threads 'work.*' exact.plim
        [ -z "$stderr" ]
    done
}

@test "--by tag --thread shows the tree of these threads" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --thread 'er-2$' exact.plim
    shows "selected: threads matching er-2$: 27.6% of all bytes, 32.2% of all calls"
    [ "$(line '─ parse')" = " 625 KiB 38.4% 625 KiB 10,000 0 B 50 │ └─ parse" ]
    [[ $output != *index* ]]
}

@test "--by thread shows each thread with its figures and its heaviest sites" {
    tagged exact
    expect 0 "$plimsoll" report --by thread exact.plim
    shows "  3.2 MiB in 20,600 calls (55.2% of all) · 40.0 KiB in 10 blocks never freed · 40.0 KiB in 10 blocks at the peak" \
        "  1.6 MiB in 10,280 calls (27.6% of all) · 0 B never freed"
    [[ $output =~ worker-1.*page_new.*string_new.*request_new.*worker-2.*page_new.*server.*index_add.*setup ]]
    grep -E '1\.2 MiB +38\.4% +20,000 +string_new' <<<"$output"
    grep -E '627 KiB +38\.5% +10,030 +string_new' <<<"$output"
    expect 0 "$plimsoll" report --by thread --metric live --top 1 exact.plim
    [[ $output =~ server.*"Never freed".*index_add.*"(1 more)".*worker-1 ]]
    expect 0 "$plimsoll" report --by thread --metric live --thread worker exact.plim
    [[ $output =~ worker-1.*"Never freed".*page_new.*worker-2 ]]
}

@test "many threads whose names differ in a number are shown as one" {
    tagged crowd
    expect 0 "$plimsoll" report --by thread crowd.plim
    shows "worker-*  12 threads" "4.8 MiB in 30,880 calls (82.8% of all)"
    expect 0 "$plimsoll" report crowd.plim
    grep -E '^  worker-\* +12 threads +30,880 +4\.8 MiB +82\.8%$' <<<"$output"
    expect 0 "$plimsoll" report --merge-threads '.*-1.?' crowd.plim
    grep -E '^  \.\*-1\.\? +4 threads +20,600 +3\.2 MiB +55\.2%$' <<<"$output"
}

@test "--tag limits every view to a tag and the tags below it, and says so" {
    tagged exact
    for view in --top=5 --leaks --peak --temporary --sizes --tree --reverse --timeline "--by tag" "--by thread"; do
        expect 0 "$plimsoll" report $view --tag request exact.plim
        shows "selected: tag request, and below: 82.8% of all bytes, 96.7% of all calls; all figures are of this part"
        [[ $output != *index_add* && $output != *setup* ]]
    done
    expect 0 "$plimsoll" report --tag request exact.plim
    shows "allocated    4.8 MiB in 30,850 calls" "never freed  40.0 KiB in 10 blocks" "threads      2 · stacks 3 · tags 3" \
        "40.0 KiB in 10 blocks at 12.8 s, when the whole heap was largest"
    grep -E '^  worker-1 +4712 +20,600 +3\.2 MiB +66\.7%$' <<<"$output"
    expect 0 "$plimsoll" report --leaks --tag request exact.plim
    shows "40.0 KiB in 10 blocks never freed"
    expect 0 "$plimsoll" report --peak --tag index exact.plim
    shows "1.0 MiB in 1,020 blocks; of that, selected: 1,000 KiB in 1,000 blocks."
}

@test "--tag accepts a name, a path or the path from the root" {
    tagged exact
    for name in parse request/parse /request/parse; do
        expect 0 "$plimsoll" report --tag $name exact.plim
        shows "selected: tag request/parse, and below" "allocated    1.8 MiB in 30,000 calls"
    done
    for name in /parse arse quest/parse requestXparse request/pars parse/; do
        expect 2 "$plimsoll" report --tag $name exact.plim
        says "--tag $name: no such tag"
    done
    expect 0 "$plimsoll" report --tag '(no tag)' exact.plim
    shows "allocated    10.0 KiB in 10 calls"
    tagged odd
    expect 0 "$plimsoll" report --tag '""' odd.plim
    shows 'selected: tag "", and below' "allocated    1.0 MiB in 1,000 calls"
    expect 0 "$plimsoll" report --tag '\xff\xfe' odd.plim # the escaped form, as the report prints it
    shows 'selected: tag \xff\xfe, and below'
    expect 0 "$plimsoll" report --tag $'\xff\xfe' odd.plim
    expect 2 "$plimsoll" report --tag 'a' odd.plim
    says 'tags are: a/b, "", '
}

@test "--tag and --thread together select the allocations of a thread under a tag" {
    tagged exact
    expect 0 "$plimsoll" report --tag request --thread worker-2 exact.plim
    shows "selected: tag request, and below; threads matching worker-2" "allocated    1.6 MiB in 10,250 calls" "threads      1"
}

@test "a selection without samples shows an upper limit instead of zero" {
    tagged sampled
    expect 0 "$plimsoll" report --tag request/parse sampled.plim
    shows "allocated    1.8 MiB in 30,000 calls" "never freed  at most "
    expect 0 "$plimsoll" report --by thread --tag FuncLong sampled.plim
    shows "1.2 KiB in 20 calls (100.0% of all) · at most 1.2 KiB in at most 20 blocks never freed"
}

@test "an unknown tag is answered with the existing tags, nearest first" {
    tagged exact
    expect 2 "$plimsoll" report --tag reqest exact.plim
    says "--tag reqest: no such tag; tags are: request, " "to list all tags: plimsoll report --by tag exact.plim"
    expect 2 "$plimsoll" report --tag Fun exact.plim
    says "tags are: Func, FuncLong, "
    expect 2 "$plimsoll" report --tag INDEX exact.plim
    says "tags are: index, "
    expect 2 "$plimsoll" report --tag REND exact.plim
    says "tags are: request/render, "
    forge leak
    expect 2 "$plimsoll" report --tag request leak.plim
    says "--tag request: this program used no tags; see \`plimsoll help tags\`"
    expect 0 "$plimsoll" report --by tag leak.plim
    shows "This program used no tags" "plimsoll help tags" "-fno-pic"
    expect 0 "$plimsoll" help tags
    shows plimsoll_push
}

@test "an unknown thread is answered with the existing threads, a bad expression with an example" {
    tagged exact
    expect 2 "$plimsoll" report --thread nobody exact.plim
    says "--thread nobody: no thread name matches; threads are: server, worker-1, worker-2"
    expect 2 "$plimsoll" report --thread '(' exact.plim
    says "is not a regular expression" "for example --thread 'worker-.*'"
    expect 2 "$plimsoll" report --by tag --merge-threads '[' exact.plim
    says "is not a regular expression" "for example --merge-threads 'worker-.*'"
    [ -z "$output" ]
}

@test "an unknown --by, and two views at once, are refused" {
    tagged exact
    expect 2 "$plimsoll" report --by tags exact.plim
    says "use stack, tag, thread or thread,tag" "did you mean --by tag?"
    expect 2 "$plimsoll" report --by tag,thread exact.plim
    says "did you mean --by thread,tag?"
    expect 2 "$plimsoll" report --by tag --peak exact.plim
    says "--by tag and --peak are two views; choose one"
    expect 2 "$plimsoll" report --merge-threads x --peak exact.plim
    says "--merge-threads works only with --by thread and --by tag"
    expect 0 "$plimsoll" report --by stack --peak exact.plim
    shows "At the peak"
}

@test "the first screen has the heaviest tags, by allocated and by live bytes, and their number" {
    tagged exact
    expect 0 "$plimsoll" report exact.plim
    shows "threads      3 · stacks 5 · tags 6"
    [[ $output =~ "What stands out".*Tags.*"request/render".*"request/parse".*" index".*"(no tag)".*" request".*"(2 more)".*"Never freed" ]]
    [ "$(line '  index' | head -1)" = " 1,000 KiB 17.0% 1,000 1,000 KiB 1 index" ]
    forge leak
    expect 0 "$plimsoll" report leak.plim
    [[ $output != *tags* && $output != *Tags* ]]
}

@test "a site shows its tag; with several tags, the heaviest and how many more" {
    tagged exact
    expect 0 "$plimsoll" report exact.plim
    shows "index_add  src/index.c:40  [example]  tag index" "string_new  src/parse.c:30  [example]  tags request/parse and 2 more"
    fails grep -E 'setup.*tag' <<<"$output"
    expect 0 "$plimsoll" report --leaks exact.plim
    shows "page_new  src/render.c:30  [example]  tag request/render"
}

@test "the head lists what was off, paused, of other sizes, before a reset, and lost" {
    tagged limits
    expect 0 "$plimsoll" report limits.plim
    shows "since the reset at 3.2 s; earlier allocations are not included" \
        "switched off for a while: 50 calls (4.9 KiB) counted as (off), without stacks" \
        "paused by some threads: 1 call (2.0 KiB) counted as (paused), without stacks" \
        "stacks recorded only for blocks of 16 B to 64 KiB: 300 other calls (2.3 KiB) are counted together as (other sizes)" \
        "7  scopes without room for their tag" "3  pops without a matching push" "(614 KiB/s)"
    expect 0 "$plimsoll" report --metric calls limits.plim
    grep -E '300 +0\.9% +2\.3 KiB +\(other sizes\)  tag request' <<<"$output"
    grep -E '5 +0\.0% +160 B +\(no room in the file for this stack\)' <<<"$output"
    expect 0 "$plimsoll" report --by tag -t 0 limits.plim
    [ "$(line '─ (off)')" = " 4.9 KiB 0.1% 4.9 KiB 50 0 B ├─ (off)" ]
    expect 0 "$plimsoll" report --tag '(paused)' limits.plim
    shows "allocated    2.0 KiB in 1 call"
    tagged exact
    expect 0 "$plimsoll" report exact.plim
    [[ $output != *"(off)"* && $output != *paused* && $output != *reset* && $output != *"other sizes"* ]]
}

@test "a snapshot is labelled as one, and its blocks are live, not never freed" {
    tagged warm
    expect 0 "$plimsoll" report warm.plim
    [[ ${lines[0]} == *"snapshot \`warm\`"*"6.4 s"* ]]
    shows "live       1.0 MiB in 1,020 blocks"
    [[ $output != *"ever freed"* && $output != *ended* && $output != *killed* ]]
    expect 0 "$plimsoll" report --leaks warm.plim
    [[ $output != *"ever freed"* && $output != *ended* && $output != *killed* ]]
}

@test "tag names are escaped, and shortened to the width without --full-names" {
    tagged odd
    expect 0 "$plimsoll" report --by tag odd.plim
    shows '\x1b[31mred' 'two\x0alines' größer '\xff\xfe' '├─ ""' xxx…
    [[ $output != *$'\e'* ]]
    for width in 60 80 120 200; do
        for view in "--by tag" "--by tag --functions" "--by thread" "--by thread,tag" --top=5; do
            for which in odd deep sampled limits; do
                tagged $which
                COLUMNS=$width "$plimsoll" report $view $which.plim >out
                python3 -c '
import sys
for line in open("out", encoding="utf-8").read().split("\n"):
    assert len(line) <= int(sys.argv[1]) and not line.endswith(" "), line' $width
            done
        done
    done
    expect 0 "$plimsoll" report --by tag --full-names odd.plim
    [[ $output == *$(printf 'x%.0s' {1..5000})* ]]
}

@test "deeply nested tags keep their names" {
    tagged deep
    COLUMNS=100 expect 0 "$plimsoll" report --by tag -t 0 deep.plim
    for level in 1 20 40; do
        grep -E "─ level-$level\$" <<<"$output"
    done
}

@test "a tag nested in itself many times is one line, and a missing pop is suggested as the cause" {
    tagged nested
    expect 0 "$plimsoll" report --by tag nested.plim
    [ "$(line '─ request')" = " 1.9 MiB 100.0% 488 KiB 15,000 0 B 5,000 ▶ └─ request ×5,000" ]
    [ "$(line '─ parse')" = " 1.4 MiB 75.0% 1.4 MiB 5,000 0 B 5,000 ▶ └─ parse" ]
    [ "$(wc -l <<<"$output")" -lt 20 ]
    for view in --top=5 --leaks "--by tag"; do
        expect 0 "$plimsoll" report $view nested.plim
        shows 'The tag `request` was pushed inside itself, 5,000 deep' 'a missing plimsoll_pop()'
    done
    tagged turns
    expect 0 "$plimsoll" report --by tag turns.plim
    [ "$(line '─ a')" = " 800 B 100.0% 400 B 80 0 B 40 ▶ └─ a ×40" ]
    [ "$(line '─ b')" = " 400 B 50.0% 400 B 40 0 B 40 ▶ └─ b ×40" ]
    shows 'The tag `a` was pushed inside itself, 40 deep, as was 1 more'
    tagged deep # nested tags with different names are not reported
    expect 0 "$plimsoll" report --by tag deep.plim
    [[ $output != *"inside itself"* && $output != *×* ]]
}

@test "pictures and lists of nested tags stay small" {
    tagged nested
    for format in tags-dot tags-svg tags-json; do
        expect 0 "$plimsoll" export --format $format -o out nested.plim
        [ "$(stat -c %s out)" -lt 20000 ]
        [ $format = tags-json ] || grep -F 'request ×5000' out
    done
    [ "$(jq -c '[.trees[0].nodes[] | [.name, .nested, .self.calls]]' out)" = '[["",0,0],["request",5000,10000],["parse",0,5000]]' ]
    expect 0 "$plimsoll" export --format json -o all nested.plim
    [ "$(jq '[.tags[] | .path | length] | max <= 4096 and length == 10001' all)" = true ] # full paths for all would be 200 MB
    [ "$(jq '.tags[10000] | .path == null and .name == "parse"' all)" = true ]
}

@test "when every tag is below the default threshold the largest are shown" {
    tagged even
    expect 0 "$plimsoll" report --by tag even.plim
    [ "$(grep -c '─ tag-' <<<"$output")" -eq 10 ]
    shows "└─ (190 more)" "Every tag is below 1.0%: these are the largest; --threshold 0 shows each."
    expect 0 "$plimsoll" report --by tag --threshold 0 even.plim
    [ "$(grep -c '─ tag-' <<<"$output")" -eq 200 ]
    expect 0 "$plimsoll" report --by tag --threshold 2% even.plim
    shows "(200 more below 2.0%)"
    [ "$(grep -c '─ tag-' <<<"$output")" -eq 0 ]
    expect 0 "$plimsoll" export --format tags-dot -o out even.plim
    [ "$(grep -c 'label="tag-' out)" -eq 10 ]
    grep -F 'label="190 more' out
}

@test "--top and --depth limit the tag tree" {
    tagged exact
    expect 0 "$plimsoll" report --by tag --threshold 0 --top 2 exact.plim
    [[ $output =~ request.*render ]]
    [[ $output != *index* && $output != *Func* ]]
    shows "(3 more)"
    expect 0 "$plimsoll" report --by tag --threshold 0 --depth 1 exact.plim
    shows "─ request  (2 more)" "─ index"
    [[ $output != *"─ parse"* && $output != *"─ render"* ]]
    tagged deep
    expect 0 "$plimsoll" report --by tag --depth 3 deep.plim
    shows "─ level-3  (37 more)" "3 levels are shown; --depth 6 shows twice as many"
}

@test "figures are not called exact when records were lost or the process was killed" {
    tagged killed
    expect 0 "$plimsoll" report --by tag killed.plim
    [[ $(tr '\n' ' ' <<<"$output") == *"are exact, but may lag by one sampling interval; figures with ± are estimated."* ]]
    expect 0 "$plimsoll" report killed.plim
    shows "calls (460 KiB/s)  may lag by one sampling interval"
    tagged lost
    expect 0 "$plimsoll" report --by tag lost.plim
    [[ $output != *"are exact"* ]]
    [[ $(tr '\n' ' ' <<<"$output") == *"because records were lost: see Losses; figures with ±"* ]]
    shows "1  thread that could not be registered" "1  scope without room for its tag" "1  record that did not fit" \
        "1  tag name truncated to 64 KiB" "plimsoll run --max-file "
    tagged sampled
    expect 0 "$plimsoll" report sampled.plim
    shows "calls (460 KiB/s)  exact"
    [[ $output != *"may lag"* ]]
}

@test "--peak of a tag that held nothing at the peak says so and shows the peak" {
    tagged exact
    expect 0 "$plimsoll" report --peak --tag FuncLong exact.plim
    [[ $(tr '\n' ' ' <<<"$output") == *"None of the selected memory was held when the whole heap was largest, 12.8 s after the start, with 1.0 MiB in 1,020 blocks."* ]]
    [[ $output != *"there is no peak"* ]]
}
