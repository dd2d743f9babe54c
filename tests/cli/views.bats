# SPDX-License-Identifier: MIT
# The views of a report, on a synthetic program: tests/cli/story.c.

load support

views="--peak --timeline --sizes --temporary --reallocs"

@test "the first screen says that all allocations were counted, and what that cost" {
    story exact
    expect 0 "$plimsoll" report exact.plim
    [[ ${lines[1]} =~ ^"exact: all 256,098 allocations"\ +"runtime cost 61 ms (0.5%) + cache misses"$ ]]
    [[ $output != *±* && $output != *estimated* ]]
}

@test "the first screen has totals, peak, blocks never freed, sizes, RSS, temporary allocations and reallocs" {
    story exact
    expect 0 "$plimsoll" report exact.plim
    shows "allocated    52.9 MiB in 256,098 calls (4.1 MiB/s)" "size       p50 48 B · p99 about 8.0 KiB · max 8.0 MiB"
    shows "peak         29.0 MiB in 3,401 blocks at 9.2 s" "RSS        30.1 MiB"
    shows "never freed  2.0 MiB in 1,204 blocks" "temporary  98.4% of calls"
    shows "realloc      13 calls copied 8.0 MiB; 2 of them stayed in place"
}

@test "on a narrow terminal the two halves of the first screen are interleaved in one column" {
    story exact
    COLUMNS=70 expect 0 "$plimsoll" report exact.plim
    [ "$(sed -n 5,10p <<<"$output" | cut -c3-13 | tr -s ' \n' ' ')" = "allocated size peak RSS never freed temporary " ]
}

@test "a size that all blocks share is not marked as approximate" {
    story flat
    expect 0 "$plimsoll" report flat.plim
    shows "size  64 B, all of them"
    [[ $output != *about* && $output != *realloc\ * && $output != *temporary* ]]
}

@test "a size that all samples share need not be that of all blocks, and a heap without a sample has an upper end" {
    cc -O0 -fno-builtin -o same -x c - <<<'#include <stdlib.h>
int main(void) { for (int i = 0; i < 2000; i++) free(malloc(120)); return 0; }'
    "$plimsoll" run -q --sample 16K -o same.plim -- ./same
    expect 0 "$plimsoll" report same.plim
    grep -E 'size +120 B, all samples$' <<<"$output"
    grep -E 'peak +at most [0-9.]+ KiB  estimated' <<<"$output"
}

@test "advice and the heaviest functions are one list; what holds most of the memory comes before calls" {
    story exact
    COLUMNS=400 expect 0 "$plimsoll" report exact.plim
    [[ $output =~ "What stands out"$'\n'" 1. cache_put (src/cache.c:30) held 19.5 MiB when the heap was largest: 67.4% of the peak. It grew steadily".*"2. string_new (src/parse.c:50) makes 251,880 temporary blocks, 98.4% of all calls: ".*"3. index_add_term (src/index.c:40) held 2.0 MiB: 100.0% of what was never freed, ".*"plimsoll report --leaks "[^\ ]+" says whether it grows" ]]
    [ "$(grep -c ' cache_put (' <<<"$output")" -eq 1 ] # not again as the function that held most at the peak
    [ "$(grep -c ' string_new (' <<<"$output")" -eq 1 ] # not again as the function with the most calls
}

@test "few calls are not said to cost much" {
    expect 3 "$plimsoll" run -q --exact -o few.plim -- "$(program cli-leaky)" 400
    expect 0 "$plimsoll" report few.plim
    shows "keep_block" "of what was never freed"
    [[ $output != *"larger blocks cost less"* ]]
    expect 3 "$plimsoll" run -q --exact -o many.plim -- "$(program cli-leaky)" 40000
    expect 0 "$plimsoll" report many.plim
    shows "use_block" "temporary blocks"
}

@test "--advice gives the evidence, the action and the gain of each item" {
    story exact
    expect 0 "$plimsoll" report --advice exact.plim
    [[ $output =~ " 1. string_new (src/parse.c:50) makes 251,880 temporary blocks".*"[reuse]".*"Evidence: ".*"What to do: ".*"Gain: about ".*"← parse_line" ]]
    shows "plimsoll help advice"
    expect 0 "$plimsoll" help advice
    shows "docs/advice.md"
    forge empty
    expect 0 "$plimsoll" report --advice empty.plim
    shows "No advice: these figures show nothing worth changing."
    expect 2 "$plimsoll" report --advice --tree exact.plim
    says "two views"
}

@test "--histogram shows the sizes of each site in one line, and a single size as such" {
    story exact
    for view in "-m calls" --peak --leaks --advice; do
        expect 0 "$plimsoll" report --histogram $view exact.plim
        shows "sizes: "
    done
    expect 0 "$plimsoll" report --histogram -m calls exact.plim
    grep -A2 string_new <<<"$output" | grep -E '^ +sizes: all 48 B$'
    grep -A2 rows_grow <<<"$output" | grep -E '^ +sizes: [0-9.]+ K?i?B █+ 8\.0 MiB · p50 about [0-9.]+ [KM]iB · p99 about 8\.0 MiB$'
    expect 2 "$plimsoll" report --histogram --reverse exact.plim
    says "--histogram works only with tables of sites; drop it or --reverse"
}

@test "--since shows what grew, what shrank and what was allocated, with correct sums" {
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
        says "--since and --until work only with the overview, --metric, --tree and --reverse"
    done
}

@test "a merged profile has the sum of its peaks, and no timeline" {
    story exact
    "$plimsoll" merge -q -f -o both.plim exact.plim exact.plim
    expect 0 "$plimsoll" report both.plim
    [[ ${lines[0]} == *"2 profiles merged · x86_64" ]]
    shows "peaks        58.0 MiB in 6,802 blocks, the sum of the peaks of 2 profiles" "allocated    106 MiB in 512,196 calls"
    expect 0 "$plimsoll" report --peak both.plim
    shows "The peaks of 2 profiles, each at its own time, add up to 58.0 MiB in 6,802 blocks."
    expect 0 "$plimsoll" report --timeline both.plim
    shows "There is no timeline: 2 profiles were merged"
}

@test "a figure and its unit stay on one line" {
    story exact
    for width in $(seq 60 90); do
        COLUMNS=$width "$plimsoll" report exact.plim | sed -n '/What stands out/,/^$/p' >out
        fails grep -E '[0-9]$' out
    done
}

@test "exact and sampled figures of one profile are added, with the error of the sampled part" {
    story mixed
    expect 0 "$plimsoll" report mixed.plim
    [[ ${lines[1]} == "exact for the first 256,098 allocations, then sampled about every 97 KiB; ± = 95% confidence"* ]]
    grep -E '3\.8 MiB ± 1\.1 MiB +65\.8% +480 ± 145 +cache_put' <<<"$output"
    grep -E '2\.0 MiB( ± 0\.[0-9]+ MiB)? +34\.2% +1,204( ± [0-9]+)? +index_add_term' <<<"$output"
    shows "allocated    71.7 MiB in 258,498 calls (5.6 MiB/s)  exact" "p50 about 48 B"
    grep -E 'temporary +97\.[0-9]% ± [0-9.]+% of calls$' <<<"$output"
    grep -E 'realloc +about 13 calls copied about 8\.0 MiB; about 2 of them stayed in place$' <<<"$output"
}

@test "--peak lists the sites that held the heap at its peak, and what is left of that" {
    story exact
    expect 0 "$plimsoll" report --peak exact.plim
    shows "The heap was largest 9.2 s after the start: 29.0 MiB in 3,401 blocks."
    [[ $output =~ "At the peak    bytes   share  blocks  at the end  site" ]]
    [[ $output =~ "19.5 MiB   67.4%   2,500         0 B  cache_put".*"8.0 MiB   27.6%       1         0 B  rows_grow".*"1.5 MiB    5.0%     900     2.0 MiB  index_add_term" ]]
    [[ $output != *string_new* ]]
}

@test "--temporary lists the sites of temporary allocations, with the share of their own calls" {
    story exact
    expect 0 "$plimsoll" report --temporary exact.plim
    shows "251,880 of 256,098 calls (98.4%) were temporary"
    grep -E '251,880  100\.0% +100\.0% +48 B  string_new' <<<"$output"
    [[ $output != *cache_put* ]]
}

@test "--reallocs lists the sites that copy, how often in place, and the final size" {
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

@test "--sizes also has a histogram of lifetimes" {
    story exact
    expect 0 "$plimsoll" report --sizes exact.plim
    shows "Lifetimes  of freed blocks; half were freed within about 1 µs"
    grep -E '^ +below 3\.2 µs  █+ +250,000 +98\.1%$' <<<"$output"
    grep -E '^ +839 ms to 3\.4 s  [^ ]+ +3,002 +1\.2%$' <<<"$output"
    grep -E '3,000    1\.2% .* 1\.3 s  cache_put' <<<"$output"
    story flat
    expect 0 "$plimsoll" report --sizes flat.plim
    shows "Lifetimes are not known: no block was seen to be freed."
}

@test "--timeline plots the heap and RSS on one axis, with the peak, the rate and times" {
    story exact
    COLUMNS=80 expect 0 "$plimsoll" report --timeline exact.plim
    python3 -c '
import sys
lines = sys.stdin.read().split("\n")
mark = next(i for i, line in enumerate(lines) if "▼" in line)
column = lines[mark].index("▼")
assert "peak 29.0 MiB at 9.2 s" in lines[mark]
plot = lines[mark + 1:mark + 11]
assert plot[0].startswith("   30.1 MiB ┤") and plot[5].startswith("   15.0 MiB ┤") and "live" in plot[9]
assert "█ live  ░ RSS" in lines[mark - 1]
heights = [sum(c < len(row) and row[c] == "█" for row in plot) for c in range(13, 79)]
assert plot[0][column] == "▅" and max(heights) == heights[column - 13] == 9 # 29.0 of 30.1 MiB
assert plot[0][column + 1] == "░"                              # RSS stays when the heap falls
assert heights[:column - 12] == sorted(heights[:column - 12]) # rises up to the peak
assert heights[column - 14] == 8                               # the peak falls between two moments
assert all(height <= 1 for height in heights[column - 12:])   # next to nothing is live after the peak
assert abs((column - 13) / 67 - 9.2 / 12.8) < 0.02
axis, times = lines[mark + 11:mark + 13]
assert axis.count("┬") == 2 and times.split() == ["0", "5", "s", "10", "s"]
for tick, time in ((axis.index("┬"), "5 s"), (axis.rindex("┬"), "10 s")):
    assert abs(times.index(time) + 1 - tick) <= 1
assert any("4.1 MiB/s ┤" in line for line in lines) and any("allocated │" in line for line in lines)' <<<"$output"
}

@test "a run of any length has a time axis below its plot" {
    story blink
    for width in 60 80 100 120 160 200; do
        COLUMNS=$width expect 0 "$plimsoll" report --timeline blink.plim
        [[ $(grep └ <<<"$output") == *┬*┬* ]]
    done
}

@test "--timeline lists the sites that grew, largest first, without allocations of the start" {
    story exact
    expect 0 "$plimsoll" report --timeline exact.plim
    shows "What grew from 1.6 s to 11.2 s, measured 7 times"
    [[ $output =~ "+1.5 MiB    ▂▃▄▅▆▇█  249 KiB  1.7 MiB  index_add_term".*"+126 KiB ".*" 2.0 KiB  128 KiB  rows_grow" ]]
    [[ ${output#*What grew} != *cache_put* ]] # it held most at the peak and nothing at the end
}

@test "--timeline ignores frees after exit" {
    story exact # its last record of the heap is a millisecond later than its exit
    expect 0 "$plimsoll" report --timeline exact.plim
    [[ $output != *"to 12.8 s"* ]]
}

@test "--leaks does not judge sites that were counted at first and never sampled" {
    story mixed
    COLUMNS=200 expect 0 "$plimsoll" report --leaks mixed.plim
    shows "not seen after 6.5 s: sampled too coarsely since then to tell; run --exact" "1 of 2 sites has too few samples to tell"
    [[ $output != *"at the start"* && $output != *"stopped growing"* ]]
}

@test "--timeline says from which time on figures are estimated" {
    story mixed
    expect 0 "$plimsoll" report --timeline mixed.plim
    shows "Live bytes are exact until 6.5 s" "What grew from 11.2 s to 12.8 s, measured 2 times"
    grep -E '\+166 KiB .* index_add_term' <<<"$output"
    [[ $output != *cache_put* ]] # it grew by less than the weight of a sample
    story exact
    expect 0 "$plimsoll" report --timeline exact.plim
    [[ $output != *"exact until"* ]]
}

@test "--timeline says when there is nothing to compare" {
    story blink
    expect 0 "$plimsoll" report --timeline blink.plim
    shows "Growth by site is not known: the heap was measured fewer than two times."
}

@test "a run too short for a timeline is told so, with the command to use instead" {
    story brief
    expect 0 "$plimsoll" report --timeline brief.plim
    shows "Too short for a timeline: a plot takes 2 moments, and one was recorded." "plimsoll report --peak brief.plim"
    story flat
    expect 0 "$plimsoll" report --timeline flat.plim
    shows "none was recorded."
}

@test "an empty view says why" {
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

@test "a truncated file is called truncated instead of exact" {
    story exact
    head -c $(($(stat -c %s exact.plim) - 1000)) exact.plim >short.plim
    for view in "" --leaks --peak; do
        expect 0 "$plimsoll" report $view short.plim
        [[ ${lines[1]} == "the file is truncated: "* ]]
    done
}

@test "without recorded allocations the blocks never freed are reported as not known" {
    "$plimsoll" run -q --off -o off.plim -- "$(program cli-leaky)" 1000 || [ $? -eq 3 ]
    expect 0 "$plimsoll" report off.plim
    shows "recorded: Plimsoll was off" "never freed  not known: no allocation was recorded"
    expect 0 "$plimsoll" report --leaks off.plim
    shows "Live memory is not known: no allocation was recorded."
}

@test "truncated lines of callers have room for the ellipsis" {
    story exact
    for width in $(seq 64 80); do # one of the lines is 73 columns long with the ellipsis
        COLUMNS=$width expect 0 "$plimsoll" report --depth 3 exact.plim
        shows "← …"
        while IFS= read -r line; do
            [ "${#line}" -le $width ] || { printf 'longer than %d: %s\n' $width "$line"; return 1; }
        done <<<"$output"
    done
}

@test "an empty view of a sampled program suggests --exact" {
    forge leak
    COLUMNS=200 expect 0 "$plimsoll" report --temporary leak.plim
    shows "To see every allocation: plimsoll run --exact -- PROGRAM"
    story flat
    expect 0 "$plimsoll" report --temporary flat.plim
    [[ $output != *--exact* ]]
}

@test "views fit the width of the terminal and have no colour in a pipe" {
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

@test "--metric accepts the names of peak and temporary metrics, and their keys" {
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
    expect 2 "$plimsoll" report --metric bogus exact.plim # the message offers the names that help has
    says "use calls, allocated, blocks, live, peak-blocks, peak, temporary, lost-blocks or lost"
    [[ $stderr != *inuse_space* ]]
}

@test "--top and --depth work in every view" {
    story exact
    for view in --peak --sizes --timeline; do
        expect 0 "$plimsoll" report $view --top 1 exact.plim
        shows " more)"
    done
    expect 0 "$plimsoll" report --peak --depth 1 exact.plim
    [[ $output != *"← main"* ]]
}

@test "two views together are refused, and so is a view with a metric" {
    story exact
    expect 2 "$plimsoll" report --peak --sizes exact.plim
    says "--peak and --sizes are two views; choose one"
    expect 2 "$plimsoll" report --tree --timeline exact.plim
    says "--timeline and --tree are two views; choose one"
    expect 2 "$plimsoll" report --peak --metric calls exact.plim
    says "--peak has a fixed order; drop --metric or --peak"
    expect 2 "$plimsoll" report --no-default-suppressions exact.plim
    says "suppressions work only with --leaks"
}

@test "every view works for a real program in exact mode" {
    "$plimsoll" run -q --exact -o out.plim -- "$(program cli-leaky)" 10000 || [ $? -eq 3 ]
    expect 0 "$plimsoll" report out.plim
    shows "exact: all 10,00" "keep_block"
    for view in $views --leaks; do
        expect 0 "$plimsoll" report $view out.plim
        shows "exact: all 10,00"
    done
}
