# SPDX-License-Identifier: MIT
# The views of a report, on a made-up program of which everything is known: tests/cli/story.c.

load support

views="--peak --timeline --sizes --temporary --reallocs"

@test "the first screen says that all was counted, and what that cost" {
    story exact
    expect 0 "$plimsoll" report exact.plim
    [[ ${lines[1]} =~ ^"exact: all 256,098 allocations"\ +"runtime cost 61 ms (0.5%)"$ ]]
    [[ $output != *±* && $output != *estimated* ]]
}

@test "the first screen has totals, peak, what is left, sizes, RSS, temporaries and reallocs" {
    story exact
    expect 0 "$plimsoll" report exact.plim
    shows "allocated    52.9 MiB in 256,098 calls (4.1 MiB/s)" "size       p50 about 48 B · p99 about " "max 8.0 MiB"
    shows "peak         29.0 MiB in 3,401 blocks at 9.2 s" "RSS        30.1 MiB"
    shows "never freed  2.0 MiB in 1,204 blocks" "temporary  98.4% of calls"
    shows "realloc      8.0 MiB copied in 13 calls, 2 stayed in place"
}

@test "the two halves of the first screen follow one another where they do not fit side by side" {
    story exact
    COLUMNS=70 expect 0 "$plimsoll" report exact.plim
    [ "$(sed -n 4,9p <<<"$output" | cut -c3-13 | tr -s ' \n' ' ')" = "allocated size peak RSS never freed temporary " ]
}

@test "sizes that are all the same are not called about" {
    story flat
    expect 0 "$plimsoll" report flat.plim
    shows "size  64 B, all of them"
    [[ $output != *about* && $output != *realloc\ * && $output != *temporary* ]]
}

@test "what stands out is one list of advice and of the heaviest functions, the weightiest first" {
    story exact
    expect 0 "$plimsoll" report exact.plim
    [[ $output =~ "What stands out"$'\n'" 1. string_new (src/parse.c:50) makes 251,880 temporary blocks, 98.4% of all calls: ".*"2. index_add_term (src/index.c:40) holds 2.0 MiB: 100.0% of what was never freed".*"3. cache_put (src/cache.c:30) held 19.5 MiB when the heap was largest: 67.4% of the peak" ]]
    [ "$(grep -c ' string_new (' <<<"$output")" -eq 1 ] # that it makes most calls has been said
}

@test "--advice says of each why, what to do and what it would gain" {
    story exact
    expect 0 "$plimsoll" report --advice exact.plim
    [[ $output =~ " 1. string_new (src/parse.c:50) makes 251,880 temporary blocks".*"[reuse]".*"Evidence: ".*"What to do: ".*"Gain: about ".*"← parse_line" ]]
    shows "plimsoll help advice"
    expect 0 "$plimsoll" help advice
    shows "docs/advice.md"
    forge empty
    expect 0 "$plimsoll" report --advice empty.plim
    shows "No advice: nothing in these figures speaks for a change."
    expect 2 "$plimsoll" report --advice --tree exact.plim
    says "two views"
}

@test "--histogram says each site's sizes in a line, and of equal ones the size" {
    story exact
    for view in "-m calls" --peak --leaks --advice; do
        expect 0 "$plimsoll" report --histogram $view exact.plim
        shows "sizes: "
    done
    expect 0 "$plimsoll" report --histogram -m calls exact.plim
    grep -A2 string_new <<<"$output" | grep -E '^ +sizes: all 48 B$'
    grep -A2 rows_grow <<<"$output" | grep -E '^ +sizes: [0-9.]+ K?i?B █+ 8\.0 MiB · p50 about [0-9.]+ [KM]iB · p99 about 8\.0 MiB$'
    expect 2 "$plimsoll" report --histogram --reverse exact.plim
    says "--histogram is for tables of sites; leave it out, or --reverse"
}

@test "of a part of the run, what grew, what shrank and who allocated then, adding up" {
    story exact
    expect 0 "$plimsoll" report --since 5s --all-digits exact.plim
    shows "selected: since 4.8 s"
    [[ $output =~ "live       -"[0-9,]+" B, -498 blocks".*"What grew".*index_add_term.*"What shrank".*"-"[0-9,]+" B".*cache_put.*Allocated.*Calls ]]
    [[ $output != *RSS* && $output != *"What stands out"* && $output != *"(yet)"* ]]
    [[ $(sed -n '/^What grew/,/^$/p' <<<"$output") != *cache_put* ]]
    printf '%s' "$output" | tr -d , >text
    expect 0 "$plimsoll" report --since 5s --all-digits --tree -m allocated exact.plim
    printf '%s' "$output" | tr -d , >tree
    python3 - <<'P'
import re
text, tree = open("text").read(), open("tree").read()
total = int(re.search(r"allocated +(\d+) B", text)[1])
table = text[text.index("\nAllocated"):text.index("\nCalls")]
assert sum(int(row) for row in re.findall(r"(\d+) B  ", table)) == total, (total, table)
assert re.search(rf"{total} B .* 100.0%  main", tree), tree
P
    for view in --peak --leaks --timeline --advice "--by thread" "--by tag"; do
        expect 2 "$plimsoll" report --since 5s $view exact.plim
        says "--since and --until are for the overview, --metric, --tree and --reverse"
    done
}

@test "a merged profile has the sum of its peaks, and no timeline" {
    story exact
    "$plimsoll" merge -q -f -o both.plim exact.plim exact.plim
    expect 0 "$plimsoll" report both.plim
    [[ ${lines[0]} == *"2 profiles as one · x86_64" ]]
    shows "peaks        58.0 MiB in 6,802 blocks, the sum of the peaks of 2 profiles" "allocated    106 MiB in 512,196 calls"
    expect 0 "$plimsoll" report --peak both.plim
    shows "The peaks of 2 profiles, each at its own time, add up to 58.0 MiB in 6,802 blocks."
    expect 0 "$plimsoll" report --timeline both.plim
    shows "There is no timeline: 2 profiles are here as one"
}

@test "a figure and its unit stay on one line" {
    story exact
    for width in $(seq 60 90); do
        COLUMNS=$width "$plimsoll" report exact.plim | sed -n '/What stands out/,/^$/p' >out
        fails grep -E '[0-9]$' out
    done
}

@test "counted and sampled figures of one profile add up, with the error of what may be unseen" {
    story mixed
    expect 0 "$plimsoll" report mixed.plim
    [[ ${lines[1]} == "exact for the first 256,098 allocations, then sampled about every 97 KiB; ± is 95%"* ]]
    grep -E '3\.8 MiB ± 1\.1 MiB +65\.8% +480 ± 145 +cache_put' <<<"$output"
    grep -E '2\.0 MiB( ± 0\.[0-9]+ MiB)? +34\.2% +1,204( ± [0-9]+)? +index_add_term' <<<"$output"
    shows "allocated    71.7 MiB in 258,498 calls (5.6 MiB/s)  exact"
}

@test "--peak lists who held the heap when it was largest, and what is left of that" {
    story exact
    expect 0 "$plimsoll" report --peak exact.plim
    shows "The heap was largest 9.2 s after the start: 29.0 MiB in 3,401 blocks."
    [[ $output =~ "At the peak    bytes   share  blocks  at the end  site" ]]
    [[ $output =~ "19.5 MiB   67.4%   2,500         0 B  cache_put".*"8.0 MiB   27.6%       1         0 B  rows_grow".*"1.5 MiB    5.0%     900     2.0 MiB  index_add_term" ]]
    [[ $output != *string_new* ]]
}

@test "--temporary lists who allocates what is freed at once, with the share of its own calls" {
    story exact
    expect 0 "$plimsoll" report --temporary exact.plim
    shows "251,880 of 256,098 calls (98.4%) were temporary"
    grep -E '251,880  100\.0% +100\.0% +48 B  string_new' <<<"$output"
    [[ $output != *cache_put* ]]
}

@test "--reallocs lists who copies, how often in place, and to what size" {
    story exact
    expect 0 "$plimsoll" report --reallocs exact.plim
    shows "13 reallocs copied 8.0 MiB, as much as 15.1% of all bytes allocated; 2 of them stayed in place."
    grep -E '8\.0 MiB  100\.0% +13 +2 +8\.0 MiB  rows_grow' <<<"$output"
    [ "$(grep -c '\[example\]' <<<"$output")" -eq 1 ]
}

@test "--sizes has a histogram of all sizes, and a small one for each site" {
    story exact
    expect 0 "$plimsoll" report --sizes exact.plim
    shows "Sizes  smallest 48 B · mean 217 B · largest 8.0 MiB"
    grep -E '^ +32 to 63 B  █+ +251,880   98\.4%$' <<<"$output"
    grep -E '^ +64 to 127 B +0    0\.0%$' <<<"$output"
    grep -E '^ +8\.0 to 16\.0 KiB  [^ ]+ +3,001    1\.2%$' <<<"$output"
    grep -E '^ *512 KiB to 1\.0 MiB  ▏ +1    0\.0%$' <<<"$output"
    grep -E '251,880   98\.4%  █ +48 B +48 B  string_new' <<<"$output"
    grep -E '14    0\.0%  {6,}█{14}  1\.1 MiB  8\.0 MiB  rows_grow' <<<"$output"
}

@test "--sizes has lifetimes likewise, in units of time" {
    story exact
    expect 0 "$plimsoll" report --sizes exact.plim
    shows "Lifetimes  of blocks that were freed: half of them within about 1 µs"
    grep -E '^ +below 3\.2 µs  █+ +250,000 +98\.1%$' <<<"$output"
    grep -E '^ +839 ms to 3\.4 s  [^ ]+ +3,002 +1\.2%$' <<<"$output"
    grep -E '3,000    1\.2% .* 1\.3 s  cache_put' <<<"$output"
    story flat
    expect 0 "$plimsoll" report --sizes flat.plim
    shows "Lifetimes: none are known, as no block was seen to be freed."
}

@test "--timeline plots the heap, with its peak, RSS, rate and times" {
    story exact
    COLUMNS=80 expect 0 "$plimsoll" report --timeline exact.plim
    python3 -c '
import sys
lines = sys.stdin.read().split("\n")
mark = next(i for i, line in enumerate(lines) if "▼" in line)
column = lines[mark].index("▼")
assert "peak 29.0 MiB at 9.2 s" in lines[mark]
plot = lines[mark + 1:mark + 11]
assert plot[0].startswith("   29.0 MiB ┤") and plot[5].startswith("   14.5 MiB ┤") and "live" in plot[9]
heights = [sum(c < len(row) and row[c] == "█" for row in plot) for c in range(13, 79)]
assert plot[0][column] == "█" and max(heights) == heights[column - 13] == 10
assert heights[:column - 12] == sorted(heights[:column - 12]) # a ramp up to the peak,
assert heights[column - 14] == 8                               # which no moment saw
assert all(height <= 1 for height in heights[column - 12:])   # and next to nothing after it
assert abs((column - 13) / 67 - 9.2 / 12.8) < 0.02
axis, times = lines[mark + 11:mark + 13]
assert axis.count("┬") == 2 and times.split() == ["0", "5", "s", "10", "s"]
for tick, time in ((axis.index("┬"), "5 s"), (axis.rindex("┬"), "10 s")):
    assert abs(times.index(time) + 1 - tick) <= 1
assert any("30.1 MiB ┤" in line for line in lines) and any("RSS │" in line for line in lines)
assert any("4.1 MiB/s ┤" in line for line in lines) and any("allocated │" in line for line in lines)' <<<"$output"
}

@test "a run of any length has times below its plot" {
    story blink
    for width in 60 80 100 120 160 200; do
        COLUMNS=$width expect 0 "$plimsoll" report --timeline blink.plim
        [[ $(grep └ <<<"$output") == *┬*┬* ]]
    done
}

@test "--timeline says which sites grew, most first, and how; what was set up at the start did not grow" {
    story exact
    expect 0 "$plimsoll" report --timeline exact.plim
    shows "What grew from 1.6 s to 11.2 s, in 7 snapshots"
    [[ $output =~ "+1.5 MiB    ▂▃▄▅▆▇█  249 KiB  1.7 MiB  index_add_term".*"+126 KiB ".*" 2.0 KiB  128 KiB  rows_grow" ]]
    [[ ${output#*What grew} != *cache_put* ]] # it held most in between, and nothing at the end
}

@test "--timeline does not count what was freed after exit" {
    story exact # its last snapshot is a millisecond younger than its exit
    expect 0 "$plimsoll" report --timeline exact.plim
    [[ $output != *"to 12.8 s"* ]]
}

@test "--leaks does not judge what was counted at first and never sampled" {
    story mixed
    COLUMNS=200 expect 0 "$plimsoll" report --leaks mixed.plim
    shows "not seen after 6.5 s: sampled too coarsely since then to tell; run --exact" "too little was seen to tell"
    [[ $output != *"at the start"* && $output != *"stopped growing"* ]]
}

@test "--timeline says from when on it is estimated" {
    story mixed
    expect 0 "$plimsoll" report --timeline mixed.plim
    shows "Live bytes are exact until 6.5 s" "What grew from 11.2 s to 12.8 s, in 2 snapshots"
    grep -E '\+166 KiB .* index_add_term' <<<"$output"
    [[ $output != *cache_put* ]] # it grew by less than a sample stands for
    story exact
    expect 0 "$plimsoll" report --timeline exact.plim
    [[ $output != *"exact until"* ]]
}

@test "--timeline says when there is nothing to compare" {
    story blink
    expect 0 "$plimsoll" report --timeline blink.plim
    shows "What grew is not known: there are fewer than two snapshots to compare."
}

@test "a timeline that is too short says so, and what to type instead" {
    story brief
    expect 0 "$plimsoll" report --timeline brief.plim
    shows "Too short for a timeline: a plot takes 2 moments, and one was recorded." "plimsoll report --peak brief.plim"
    story flat
    expect 0 "$plimsoll" report --timeline flat.plim
    shows "none was recorded."
}

@test "a view with nothing to show says why" {
    story flat
    expect 0 "$plimsoll" report --temporary flat.plim
    shows "No allocation was seen to be temporary"
    expect 0 "$plimsoll" report --reallocs flat.plim
    shows "No block was seen to be reallocated."
    forge empty
    for view in $views --tree --reverse; do
        expect 0 "$plimsoll" report $view empty.plim
        [ "$(wc -l <<<"$output")" -ge 3 ]
    done
    shows "No stack was recorded, so there is no tree."
    expect 0 "$plimsoll" report --timeline empty.plim
    shows "Nothing was allocated, so there is no timeline."
    expect 0 "$plimsoll" report --temporary empty.plim
    shows "Nothing was allocated, so nothing was temporary."
}

@test "reallocs that copied nothing are shown by calls" {
    story still
    expect 0 "$plimsoll" report --reallocs still.plim
    shows "3 reallocs copied nothing; 3 stayed in place."
    grep -E 'Reallocs +calls +share +in place' <<<"$output"
    [[ $output != *" 0 B "* ]]
}

@test "a file that is cut short says so instead of exact" {
    story exact
    head -c $(($(stat -c %s exact.plim) - 1000)) exact.plim >short.plim
    for view in "" --leaks --peak; do
        expect 0 "$plimsoll" report $view short.plim
        [[ ${lines[1]} == "the file is cut short: "* ]]
    done
}

@test "what was never freed is not known where nothing was recorded" {
    "$plimsoll" run -q --off -o off.plim -- "$(program cli-leaky)" 1000 || [ $? -eq 3 ]
    expect 0 "$plimsoll" report off.plim
    shows "recorded: Plimsoll was off" "never freed  not known: no allocation was recorded"
    expect 0 "$plimsoll" report --leaks off.plim
    shows "What is left is not known: no allocation was recorded."
}

@test "stacks that are cut at their depth leave room for saying so" {
    story exact
    for width in $(seq 64 80); do # one of their lines is 73 columns long with it
        COLUMNS=$width expect 0 "$plimsoll" report --depth 3 exact.plim
        shows "← …"
        while IFS= read -r line; do
            [ "${#line}" -le $width ] || { printf 'longer than %d: %s\n' $width "$line"; return 1; }
        done <<<"$output"
    done
}

@test "a view with nothing to show of a sampled program says how to count" {
    forge leak
    COLUMNS=200 expect 0 "$plimsoll" report --temporary leak.plim
    shows "To see every allocation: plimsoll run --exact -- PROGRAM"
    story flat
    expect 0 "$plimsoll" report --temporary flat.plim
    [[ $output != *--exact* ]]
}

@test "views fit into the width there is, and have no colour in a pipe" {
    for story in exact mixed flat; do
        story $story
        for width in 60 80 120 200; do
            for view in --top=5 $views --tree --leaks; do
                COLUMNS=$width "$plimsoll" report $view $story.plim >"$width$view$story.out"
            done
        done
    done
    python3 - *.out <<'P'
import re, sys
assert len(sys.argv) == 1 + 3 * 4 * 8
for name in sys.argv[1:]:
    for line in open(name, encoding="utf-8").read().split("\n"):
        assert len(line) <= int(re.match(r"\d+", name)[0]) and not line.endswith(" ") and "\033" not in line, (name, line)
P
}

@test "the plot is coloured on a terminal, unless NO_COLOR is set" {
    story exact
    [[ $(TERM=xterm script -qec "$plimsoll report --timeline exact.plim" /dev/null) == *$'\e[34m'* ]]
    [[ $(NO_COLOR=1 TERM=xterm script -qec "$plimsoll report --timeline exact.plim" /dev/null) != *$'\e['* ]]
}

@test "--metric takes the words of the new metrics, and their keys" {
    story exact
    for metric in peak peak_space; do
        expect 0 "$plimsoll" report --metric $metric exact.plim
        [[ $output =~ "At the peak    bytes   share  blocks  site".*cache_put.*rows_grow ]]
    done
    expect 0 "$plimsoll" report --metric peak-blocks exact.plim
    shows "Blocks at the peak"
    for metric in temporary temp_objects; do
        expect 0 "$plimsoll" report --metric $metric exact.plim
        [[ $output =~ Temporary\ +temporary\ +share\ +calls ]]
    done
    expect 0 "$plimsoll" report --tree --metric peak exact.plim
    grep -E '19\.5 MiB +2,500 +67\.4%  [├└]─ cache_put' <<<"$output"
    expect 2 "$plimsoll" report --metric bogus exact.plim # who mistypes one is offered the words that help has
    says "use calls, allocated, blocks, live, peak-blocks, peak or temporary"
    [[ $stderr != *inuse_space* ]]
}

@test "--top and --depth hold in every view" {
    story exact
    for view in --peak --sizes --timeline; do
        expect 0 "$plimsoll" report $view --top 1 exact.plim
        shows " more)"
    done
    expect 0 "$plimsoll" report --peak --depth 1 exact.plim
    [[ $output != *"← main"* ]]
}

@test "two views are refused, and a view with a metric" {
    story exact
    expect 2 "$plimsoll" report --peak --sizes exact.plim
    says "--peak and --sizes are two views; choose one"
    expect 2 "$plimsoll" report --tree --timeline exact.plim
    says "--timeline and --tree are two views; choose one"
    expect 2 "$plimsoll" report --peak --metric calls exact.plim
    says "--peak has an order of its own; leave out --metric, or --peak"
    expect 2 "$plimsoll" report --no-default-suppressions exact.plim
    says "suppressions are for --leaks"
}

@test "a program that was counted is shown in every view" {
    "$plimsoll" run -q --exact -o out.plim -- "$(program cli-leaky)" 10000 || [ $? -eq 3 ]
    expect 0 "$plimsoll" report out.plim
    shows "exact: all 10,00" "keep_block"
    for view in $views --leaks; do
        expect 0 "$plimsoll" report $view out.plim
        shows "exact: all 10,00"
    done
}
