# SPDX-License-Identifier: MIT
# Help, and the messages for wrong words and values.

load support

commands="run report view top html ls snapshot control diff check merge export help version"

@test "without a command plimsoll prints its overview to stderr and fails" {
    expect 2 "$plimsoll"
    says "plimsoll run -- ./server --port 80" "Commands" "report" "Topics"
    [ -z "$output" ]
}

@test "every command is in the overview and has its own help" {
    expect 0 "$plimsoll" help
    for command in $commands; do
        shows "  $command"
        [ "$("$plimsoll" help "$command" | head -1 | cut -d' ' -f1-3)" = "Usage: plimsoll $command" ]
        diff <("$plimsoll" help "$command") <("$plimsoll" "$command" --help)
        diff <("$plimsoll" help "$command") <("$plimsoll" "$command" -h)
    done
}

@test "help goes to stdout and succeeds" {
    expect 0 "$plimsoll" --help
    [ -z "$stderr" ]
    expect 0 "$plimsoll" run --help
    [ -z "$stderr" ]
}

@test "the help of run lists every setting with its variable and default" {
    COLUMNS=200 expect 0 "$plimsoll" help run
    for option in sample output only live-dir max-file off overhead seed above below max-tags max-threads exact keep-all no-symbols \
        snapshot-every snapshot-keep glibc glibc-tree glibc-dir quiet; do
        shows "--$option"
    done
    for variable in SAMPLE OUT ONLY LIVE_DIR MAX_FILE OFF OVERHEAD SEED ABOVE BELOW MAX_TAGS MAX_THREADS GLIBC; do
        shows "\$PLIMSOLL_$variable"
    done
    shows "default: auto" "default: 2%" "plimsoll.%c.%p.plim"
    [[ $output != *PLIMSOLL_RUN* ]]
}

@test "help is filled to the width of the terminal" {
    COLUMNS=60 expect 0 "$plimsoll" help run
    longest=$(awk '/^Examples/ { exit } { if (length > most) most = length } END { print most }' <<<"$output")
    [ "$longest" -le 60 ]
}

@test "every topic is explained, and topics that commands point to exist" {
    for topic in advice environment figures files glibc names nothing static tags; do
        expect 0 "$plimsoll" help "$topic"
        [ ${#output} -gt 200 ]
    done
    grep -rhoE '(plimsoll|%s) help [a-z]+' "$PLIMSOLL_SOURCE/src/cli" | sort -u >named
    [ -s named ]
    while read -r _ words; do
        "$plimsoll" $words >/dev/null
    done <named
}

@test "docs/commands.md is what the program prints" {
    diff <("$plimsoll" help --markdown) "$PLIMSOLL_SOURCE/docs/commands.md"
}

@test "version prints the versions of the program and of the file format" {
    for word in version --version -V; do
        expect 0 "$plimsoll" $word
        [[ $output =~ ^plimsoll\ [0-9]+\.[0-9]+\.[0-9]+\ \(profile\ format\ [0-9]+\)$ ]]
    done
}

@test "an unknown command gets the nearest match" {
    expect 2 "$plimsoll" reprot
    says 'plimsoll: reprot: no such command; did you mean `plimsoll report`?'
    expect 2 "$plimsoll" rnu
    says 'plimsoll run'
    expect 2 "$plimsoll" exp
    says 'plimsoll export'
    expect 2 "$plimsoll" xyzzy
    says 'see `plimsoll help`'
}

@test "a program or a profile in place of a command gets a suggested command" {
    cp /bin/true prog
    expect 2 "$plimsoll" ./prog
    says "plimsoll run -- ./prog"
    forge leak
    expect 2 "$plimsoll" leak.plim
    says "plimsoll report leak.plim"
    expect 2 "$plimsoll" 4711
    says "plimsoll report 4711"
}

@test "an unknown topic gets the nearest match" {
    expect 2 "$plimsoll" help statc
    says 'did you mean `plimsoll help static`?'
    expect 2 "$plimsoll" help qqq
    says '`plimsoll help` lists them'
    expect 2 "$plimsoll" help run report
    says "one word"
}

@test "an unknown option gets the nearest match" {
    expect 2 "$plimsoll" run --sampel 4K -- true
    says "plimsoll: run --sampel: no such option; did you mean --sample?"
    expect 2 "$plimsoll" report --treshold=5 x
    says "did you mean --threshold?"
    expect 2 "$plimsoll" ls -x
    says 'ls -x: no such option; see `plimsoll help ls`'
}

@test "a bad value names the option, what is wrong and what is accepted" {
    expect 2 "$plimsoll" run --sample 12Q -- true
    says "plimsoll: --sample 12Q: not a size; use bytes with K, M or G, exact or auto, for example --sample 512K"
    expect 2 "$plimsoll" run -s exactly -- true
    says "-s exactly: not a size; use bytes with K, M or G, exact or auto, for example -s 512K"
    expect 2 "$plimsoll" run -s 0 -- true
    says "-s 0: too small; the minimum is 1 B"
    expect 2 "$plimsoll" run --sample 99999999999999999999 -- true
    says "too large; the maximum is 1 TiB"
    expect 2 "$plimsoll" run --sample -1 -- true
    says "not a size"
    expect 2 "$plimsoll" run --max-file 1K -- true
    says "--max-file 1K: too small; the minimum is 256 KiB"
    expect 2 "$plimsoll" run --overhead 2x -- true
    says "plimsoll: --overhead 2x: not a percentage; use for example --overhead 2%"
    expect 2 "$plimsoll" run --overhead 0 -- true
    says "--overhead 0: too small; the minimum is 0.01%"
    expect 2 "$plimsoll" run --overhead 101% -- true
    says "--overhead 101%: too large; the maximum is 100%"
    expect 2 "$plimsoll" run --output a%zb -- true
    says "--output a%zb: not a file name pattern; use %p (pid), %c (command)"
    expect 2 "$plimsoll" run --only a,,b -- true
    says "--only a,,b: not a list of command names; use names separated by commas"
    expect 2 "$plimsoll" run --seed x -- true
    says "--seed x: not a number; use a whole number"
    expect 2 "$plimsoll" report --top 0 x
    says "--top 0: too small; the minimum is 1"
    expect 2 "$plimsoll" report --threshold 1q x
    says "--threshold 1q: not a percentage; use a number from 0 to 100"
    expect 2 "$plimsoll" report --threshold 101 x
    says "--threshold 101: too large; use a number from 0 to 100"
    expect 2 "$plimsoll" report --metric bites x
    says "--metric bites: not a choice; use calls, allocated, blocks, live, peak-blocks, peak, temporary, lost-blocks or lost"
    expect 2 "$plimsoll" report --color sometimes x
    says "use auto, always or never"
    expect 2 "$plimsoll" export --format jsn x
    says "--format jsn: not a choice; use json" "did you mean --format json?"
}

@test "options that contradict one another are refused" {
    expect 2 "$plimsoll" run --exact --sample 64K -- true
    says "--exact and --sample 64K contradict each other; choose one"
    expect 2 "$plimsoll" run --exact --overhead 1% -- true
    says "--overhead 1% is for auto mode, which --exact turns off"
    expect 2 "$plimsoll" run --sample 64K --overhead 1% -- true
    says "--overhead 1% is for auto mode, which --sample turns off"
    expect 2 "$plimsoll" run --exact --credit 1s -- true
    says "--credit 1s is for auto mode, which --exact turns off"
}

@test "a bad choice gets the nearest match" {
    expect 2 "$plimsoll" report --metric alocated x
    says "did you mean --metric allocated?"
}

@test "an option without its value, or with one too many, is named" {
    expect 2 "$plimsoll" run --sample
    says "--sample needs a value: --sample BYTES"
    expect 2 "$plimsoll" report --tree=yes x
    says "--tree takes no value"
}

@test "too few and too many arguments are refused with the correct usage" {
    expect 2 "$plimsoll" run
    says "run needs a program: plimsoll run -- PROGRAM"
    expect 2 "$plimsoll" run --
    says "run needs a program"
    expect 2 "$plimsoll" report
    says "report needs a FILE or a PID" "plimsoll ls"
    expect 2 "$plimsoll" report a b
    says "report takes one FILE or PID; got a and b"
    expect 2 "$plimsoll" ls x
    says "ls takes no arguments"
    expect 2 "$plimsoll" version x
    says "version takes no arguments"
}

@test "a forgotten argument is suggested from the profiles in the directory" {
    forge leak
    expect 2 "$plimsoll" check --no-leaks
    says "the newest profile here: plimsoll check leak.plim"
}

@test "control characters in arguments are escaped in messages" {
    expect 2 "$plimsoll" $'\e[31mred'
    says '\x1b[31mred'
    [[ $stderr != *$'\e'* ]]
}

# --- hints name the command as it was typed ---

# installed_at PATH: makes the command available under this path
installed_at() {
    mkdir -p "${1%/*}"
    ln -s "$executable" "$1"
}

# next_step: prints the command that the last line of a run suggests
next_step() {
    sed -n 's/^plimsoll: next: //p' <<<"$stderr"
}

@test "a hint repeats a relative path as it was typed, and the hint can be run" {
    installed_at tools/plimsoll
    expect 3 tools/plimsoll run --exact -o out.plim -- "$(program cli-leaky)"
    [ "$(next_step)" = "tools/plimsoll report out.plim" ]
    expect 0 sh -c "$(next_step)"
    shows "cli-leaky"
    cd tools
    expect 3 ./plimsoll run --exact -o out.plim -- "$(program cli-leaky)"
    [ "$(next_step)" = "./plimsoll report out.plim" ]
}

@test "a hint quotes an absolute path with blanks and quotes for the shell" {
    installed_at "$PWD/my tools/it's/plimsoll"
    expect 3 "$PWD/my tools/it's/plimsoll" run --exact -o 'my out.plim' -- "$(program cli-leaky)"
    [ "$(next_step)" = "'$PWD/my tools/it'\''s/plimsoll' report 'my out.plim'" ]
    expect 0 sh -c "$(next_step)"
    shows "cli-leaky"
    expect 2 "$PWD/my tools/it's/plimsoll" reprot
    says "did you mean \`'$PWD/my tools/it'\''s/plimsoll' report\`?"
}

@test "a hint gives the bare name of a command that was found in \$PATH" {
    installed_at tools/plimsoll
    PATH=$PWD/tools:$PATH expect 3 plimsoll run --exact -o out.plim -- "$(program cli-leaky)"
    [ "$(next_step)" = "plimsoll report out.plim" ]
    installed_at tools/other-name
    PATH=$PWD/tools:$PATH expect 2 other-name run
    says "plimsoll: run needs a program: other-name run -- PROGRAM"
}

@test "with an empty argv[0] the command calls itself plimsoll" {
    expect 2 bash -c 'exec -a "" "$1" run' bash "$executable"
    says "run needs a program: plimsoll run -- PROGRAM"
}

@test "every message and report names the command as it was typed" {
    local commands='run|report|view|top|html|ls|snapshot|control|diff|check|merge|export|help' line
    installed_at t/plimsoll
    for scenario in leak losses inlined empty tags; do
        forge $scenario
    done
    for which in exact brief; do
        story $which
    done
    cc -static -o static -x c - <<<'int main(void) { return 0; }' 2>/dev/null || true
    while read -r line; do
        eval "timeout 60 t/plimsoll $line" >said 2>&1 </dev/null || true
        fails grep -nE "(^|[^/])plimsoll ($commands)([^a-z]|\$)" said || { echo "t/plimsoll $line"; return 1; }
        grep -oE "t/plimsoll ($commands)" said >>hints || true
    done <<'COMMANDS'
reprot
frobnicate
./static
leak.plim
run
run -- ./static
run --only nobody -- true
run -s 1G -- ls
run -s 4K --max-file 64K -- perl -e 'push @a, "x" x $_ for 1 .. 3000'
run --glibc -- ./static
run -- env -i true
run --frob
ls
ls x
report
report nowhere.plim
report 999999999
report 1
report --tag x leak.plim
report --tag x tags.plim
report --by tag leak.plim
report --since 1s --until 1s exact.plim
report inlined.plim
report losses.plim
report --advice leak.plim
report --advice exact.plim
report --timeline brief.plim
report --leaks inlined.plim
report --temporary empty.plim
report --top 1 exact.plim
report --names /dev/stdin leak.plim <<<'no rule at all'
view nowhere.plim
html nowhere.plim
snapshot
snapshot x
snapshot 999999999
top x
top 999999999 --once
control
control x
control 999999999 off
diff
diff --since 1s a b
check leak.plim
check --max-peek 1 leak.plim
check --rules <(echo frobnicate) leak.plim
check --max-peak 1G losses.plim
merge
merge leak.plim exact.plim -o both.plim
export
export -f massif --diff-base leak.plim exact.plim
help nowhere
help statik
help --man nowhere
COMMANDS
    [ "$(sort -u hints | wc -l)" -ge 8 ]
    [ "$(wc -l <hints)" -ge 40 ]
}

@test "files for other programs do not depend on how the command was typed" {
    installed_at "$PWD/my tools/plimsoll"
    forge losses
    for typed in plimsoll "$PWD/my tools/plimsoll"; do
        "$typed" check --max-peak 1G --junit check.xml losses.plim >check.txt || true
        grep -q "too low because of losses; see plimsoll report losses.plim" check.xml
    done
    grep -q "my tools/plimsoll' report" check.txt
}
