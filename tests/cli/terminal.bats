# SPDX-License-Identifier: MIT
# What a person at a terminal types and sees: no file name, a pager, the width, words from other tools, other processes.

load support

on_terminal() {
    python3 "$PLIMSOLL_SOURCE/tests/cli/on_terminal.py" "$@"
}

@test "without a file, commands read the newest profile in the directory and say which" {
    forge leak && mv leak.plim old.plim
    touch -d "1 hour ago" old.plim
    forge leak && mv leak.plim new.plim
    for command in report "html -o page.html" "export --format csv"; do
        # shellcheck disable=SC2086 # words
        expect 0 "$plimsoll" $command
        says "reading new.plim, the newest profile here"
    done
    [ -s page.html ]
    named=$("$plimsoll" report new.plim)
    [ "$("$plimsoll" report 2>/dev/null)" = "$named" ]
}

@test "without a file, and without a profile in the directory, commands say what to type" {
    expect 2 "$plimsoll" report
    says "report needs a FILE or a PID" "plimsoll run -- PROGRAM"
    for command in html view export; do
        expect 2 timeout 60 "$plimsoll" $command
        says "$command needs a FILE or a PID"
    done
}

@test "a report on a terminal goes through the pager with its colours, and the hints come after it" {
    forge leak
    PAGER="sed 's/^/PAGED /'" expect 0 on_terminal 100 "$plimsoll" report leak.plim
    grep -q "^PAGED .*pid " <<<"$output"
    shows $'\033[1m'
    grep -q "^plimsoll: more: plimsoll report --tree leak.plim" <<<"$output"
    [ "$(grep -n "^PAGED" <<<"$output" | tail -1 | cut -d: -f1)" -lt "$(grep -n "^plimsoll: more" <<<"$output" | cut -d: -f1)" ]
}

@test "there is no pager in a pipe, with PAGER=cat, with an empty PAGER, and where it is not installed" {
    forge leak
    PAGER="touch paged" expect 0 "$plimsoll" report leak.plim
    [ ! -e paged ]
    for pager in cat "" no-such-pager; do
        PAGER=$pager expect 0 on_terminal 100 "$plimsoll" report leak.plim
        shows "pid " "more: plimsoll report"
    done
}

@test "the pager shows lines that fit the terminal" {
    forge leak
    NO_COLOR=1 PAGER="sed ''" expect 0 on_terminal 60 "$plimsoll" report leak.plim
    grep "pid " <<<"$output" >first
    [ "$(wc -m <first)" -le 61 ]
}

@test "ls keeps to the width of the terminal, and prints whole paths in a pipe" {
    long=$work/live/$(printf 'd%.0s' {1..120})
    mkdir "$long"
    PLIMSOLL_LIVE_DIR=$long LD_PRELOAD=$library "$(program cli-leaky)" 100 60 >up &
    started=$!
    await grep -q up up
    NO_COLOR=1 PAGER=cat expect 0 on_terminal 90 "$plimsoll" ls
    grep "^ *$started " <<<"$output" >row || { echo "$output"; false; }
    [ "$(wc -m <row)" -le 92 ]
    grep -q "…" row
    expect 0 "$plimsoll" ls
    shows "${long##*/}/"
    kill -9 $started
    wait $started || true
}

@test "ls leaves out columns on a narrow terminal rather than break its lines" {
    PLIMSOLL_OVERHEAD=0.1 LD_PRELOAD=$library "$(program cli-leaky)" 100 60 >up &
    started=$!
    await grep -q up up
    mkfifo quiet
    LD_PRELOAD=$library bash -c 'echo up; read <>quiet; : a command that is longer than a narrow terminal allows' >long &
    long=$!
    await grep -q up long
    for columns in 80 64; do
        NO_COLOR=1 PAGER=cat expect 0 on_terminal $columns "$plimsoll" ls
        grep -E "^ *($started|PID) " <<<"$output" >rows
        [ "$(wc -l <rows)" = 2 ]
        fails grep -E "^.{$((columns + 1))}" rows
    done
    kill -9 $long
    wait $long || true
    kill -9 $started
    wait $started || true
}

@test "diff keeps to the width of the terminal" {
    for seed in 1 2; do
        expect 3 "$plimsoll" run -q -s 4K --seed $seed -o $seed.plim -- "$(program cli-leaky)" 3000
    done
    NO_COLOR=1 PAGER=cat expect 0 on_terminal 70 "$plimsoll" diff 1.plim 2.plim
    shows "within noise (±"
    grep -v "^plimsoll:" <<<"$output" >page
    fails grep -E "^.{71}" page
}

@test "words that other profilers use lead to our commands" {
    expect 2 "$plimsoll" record ./app
    says "record: no such command; did you mean \`plimsoll run\`?"
    expect 0 "$plimsoll" run -q --exact -o app.plim -- true
    expect 1 "$plimsoll" retained app.plim
    says "app.plim does not say what holds the heap: $plimsoll retained PID --output FILE stores that of a running process"
}

@test "a process that runs without Plimsoll is named, with what to do" {
    start_unprofiled
    expect 1 "$plimsoll" report $started
    says "process $started (sleep) was started without Plimsoll, so its heap cannot be seen" "plimsoll attach $started" \
        "plimsoll run -- PROGRAM"
    kill $started
    wait $started || true
}

@test "a process of another user is said to belong to another user" {
    [ "$(id -u)" = 0 ] || skip "only root can become another user"
    cp "$executable" "$BATS_FILE_TMPDIR/plimsoll"
    chmod 755 "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" 2>/dev/null || true
    LD_PRELOAD=$library "$(program cli-leaky)" 100 60 >up &
    started=$!
    await grep -q up up
    expect 1 setpriv --reuid 65534 --regid 65534 --clear-groups "$BATS_FILE_TMPDIR/plimsoll" report $started
    says "process $started belongs to another user; try as that user, or as root"
    kill -9 $started
    wait $started || true
}

@test "the program's own frames carry the name by which it was called" {
    ln -s "$(program cli-leaky)" known-as-this
    expect 3 "$plimsoll" run -q --exact -o out.plim -- ./known-as-this 10
    expect 0 "$plimsoll" report out.plim
    shows "[known-as-this]"
    [[ $output != *"[cli-leaky]"* ]]
}
