# SPDX-License-Identifier: MIT
# run: the program behaves as if it ran alone, and its profile is where it should be, whatever happens.

load support

# --- as if it ran alone ---

@test "the exit status is the program's" {
    for status in 0 1 3 77 255; do
        run "-$status" "$plimsoll" run -q -- sh -c "exit $status"
    done
}

@test "a signal that ends the program is 128 and its number, and is named" {
    expect 137 "$plimsoll" run -- sh -c 'kill -9 $$'
    says "sh was killed by SIGKILL"
    expect 143 "$plimsoll" run -- sh -c 'kill -TERM $$'
    says "sh was killed by SIGTERM"
    expect 139 "$plimsoll" run -- bash -c 'ulimit -c 0; kill -SEGV $$'
    says "bash was killed by SIGSEGV"
}

@test "a program that is not there is 127, one that cannot be executed is 126" {
    expect 127 "$plimsoll" run -- no-such-program
    says "cannot run no-such-program: not found in \$PATH"
    expect 127 "$plimsoll" run -- ./no-such-program
    says "cannot run ./no-such-program: No such file or directory"
    echo text >plain
    expect 126 "$plimsoll" run -- ./plain
    says "cannot run ./plain: Permission denied"
    expect 126 "$plimsoll" run -- /
    says "cannot run /: Permission denied"
    printf '#!/no/such/interpreter\n' >script
    chmod +x script
    expect 127 "$plimsoll" run -- ./script
    says "cannot run ./script: its interpreter /no/such/interpreter does not exist"
    printf '\177ELFrubbish' >rubbish
    chmod +x rubbish
    run -127 "$plimsoll" run -- ./rubbish
    [ -z "$(ls live)" ]
}

@test "stdin, stdout and stderr pass through untouched" {
    printf 'one\ntwo' | "$plimsoll" run -q -- cat >out
    [ "$(cat out)" = $'one\ntwo' ]
    expect 0 "$plimsoll" run -q -- sh -c 'echo to stdout; echo to stderr >&2'
    [ "$output" = "to stdout" ]
    [ "$stderr" = "to stderr" ]
}

@test "nothing of ours goes to stdout" {
    expect 0 "$plimsoll" run -- true
    [ -z "$output" ]
    says "plimsoll: wrote plimsoll.true."
}

@test "descriptors, arguments and the directory are the program's own" {
    expect 0 "$plimsoll" run -q -- sh -c 'echo "$0|$1|$2|$PWD"; ls /proc/self/fd | wc -l' name 'a b' '' 5</dev/null
    [ "${lines[0]}" = "name|a b||$PWD" ]
    plain=$(sh -c 'ls /proc/self/fd | wc -l' 5</dev/null)
    [ "${lines[1]}" -le $((plain + 2)) ] # the profile, and what RSS is read from
}

@test "options behind the program are the program's" {
    expect 0 "$plimsoll" run -q echo --help -o x
    [ "$output" = "--help -o x" ]
    [ ! -e x ]
}

@test "signals sent to us reach the program, once each" {
    "$plimsoll" run -q -- "$(program cli-signalled)" >log &
    pid=$!
    await grep -q up log
    for signal in HUP INT QUIT USR1 USR2 WINCH ALRM CONT PIPE; do
        kill -$signal $pid
        await grep -q "SIG$signal" log
    done
    kill -TERM $pid
    wait $pid || status=$?
    [ "$status" -eq 7 ]
    [ "$(sort log | uniq -d)" = "" ]
}

@test "a queued signal keeps its value" {
    "$plimsoll" run -q -- "$(program cli-signalled)" >log &
    pid=$!
    await grep -q up log
    /bin/kill -q 4242 -s USR1 $pid
    await grep -q "SIGUSR1 4242" log
    kill -TERM $pid
    wait $pid || true
}

@test "a signal that the program sends to its whole group comes to it once" {
    setsid "$plimsoll" run -q -- sh -c 'trap "echo got it >>log" USR1; trap "" USR2; kill -USR1 0; sleep 0.3; exit 5' || status=$?
    [ "$status" -eq 5 ]
    [ "$(cat log)" = "got it" ]
}

@test "an ignored signal stays ignored in the program" {
    (trap '' INT; "$plimsoll" run -q -- grep SigIgn /proc/self/status >ours)
    (trap '' INT; grep SigIgn /proc/self/status >plain)
    diff ours plain
    "$plimsoll" run -q -- grep -E 'SigBlk|SigIgn' /proc/self/status >ours
    grep -E 'SigBlk|SigIgn' /proc/self/status >plain
    diff ours plain
}

@test "a parent that ignores SIGCHLD does not cost the exit status" {
    run -9 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], [sys.argv[1], "run", "-q", "--", "sh", "-c", "exit 9"])' "$executable"
}

@test "on a terminal ^C, ^Z and fg work as without us" {
    PYTHONDONTWRITEBYTECODE=1 python3 "$PLIMSOLL_SOURCE/tests/cli/terminal.py" "$executable"
}

@test "what was preloaded stays preloaded, behind us" {
    LD_PRELOAD=libm.so.6 expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$library:libm.so.6" ]
    LD_PRELOAD= expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$library" ]
    LD_PRELOAD=$library expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$library" ]
}

@test "over an allocator with an operator new of its own, that is hooked too" {
    for path in $(PYTHONDONTWRITEBYTECODE=1 python3 "$PLIMSOLL_SOURCE/tests/lib/allocators.py"); do
        allocator=${path##*/}
        LD_PRELOAD=$allocator sh -c : 2>&1 | grep -q . && continue
        LD_PRELOAD=$allocator expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
        [ "$output" = "$PLIMSOLL_BUILD/libplimsoll-cxx.so:$allocator" ]
    done
}

# --- options ---

@test "options reach the program as settings, in their plainest spelling" {
    expect 0 "$plimsoll" run -q --sample 64K --max-file 1M --seed 42 --only sh,cat --off -o 'x.%p.plim' -- sh -c 'env | grep ^PLIMSOLL_ | sort'
    shows "PLIMSOLL_SAMPLE=65536" "PLIMSOLL_MAX_FILE=1048576" "PLIMSOLL_SEED=42" "PLIMSOLL_ONLY=sh,cat" "PLIMSOLL_OFF=1" \
        "PLIMSOLL_OUT=$PWD/x.%p.plim" "PLIMSOLL_RUN=$PWD/live/plimsoll-run."
}

@test "exact, auto and a budget reach the program as they are" {
    expect 0 "$plimsoll" run -q --exact -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = exact ]
    expect 0 "$plimsoll" run -q --exact --sample exact -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = exact ]
    expect 0 "$plimsoll" run -q --sample auto --overhead 0.5% -- sh -c 'echo $PLIMSOLL_SAMPLE $PLIMSOLL_OVERHEAD'
    [ "$output" = "auto 0.5%" ]
    PLIMSOLL_SAMPLE=64K expect 0 "$plimsoll" run -q --exact -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = exact ]
}

@test "options win over the environment, and the environment over defaults" {
    PLIMSOLL_SAMPLE=4K expect 0 "$plimsoll" run -q -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = 4096 ]
    PLIMSOLL_SAMPLE=4K expect 0 "$plimsoll" run -q -s 8K -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = 8192 ]
    expect 0 "$plimsoll" run -q -- sh -c 'echo ${PLIMSOLL_SAMPLE-unset}'
    [ "$output" = unset ]
}

@test "rubbish in the environment is named, and the program runs" {
    PLIMSOLL_SAMPLE=12Q PLIMSOLL_SEED=x PLIMSOLL_OVERHEAD=2x PLIMSOLL_SAMPEL=4K expect 0 "$plimsoll" run -q -- sh -c 'echo ${PLIMSOLL_SAMPLE-unset}'
    [ "$output" = unset ]
    says "plimsoll: PLIMSOLL_SAMPLE=12Q in the environment: not a size; use bytes with K, M or G, exact or auto, for example 512K; ignored" \
        "PLIMSOLL_OVERHEAD=2x in the environment: not a percentage; use for example 2%; ignored" \
        "PLIMSOLL_SEED=x in the environment: not a number" \
        "PLIMSOLL_SAMPEL in the environment is not a setting; did you mean PLIMSOLL_SAMPLE?"
}

@test "a relative output is settled where run was started" {
    mkdir sub
    "$plimsoll" run -q -s 16K -o 'here.%p.plim' -- sh -c "cd sub && exec $(program cli-leaky)" || true
    ls here.*.plim
    [ -z "$(ls sub)" ]
}

@test "a percent sign in the directory is not expanded" {
    mkdir '50%p off'
    cd '50%p off'
    "$plimsoll" run -q -o plain.plim -- true
    [ -e plain.plim ]
    "$plimsoll" run -q -- true
    ls plimsoll.true.*.plim
}

@test "an output that is a directory gets the usual name in it" {
    mkdir profiles
    "$plimsoll" run -q -o profiles -- true
    ls profiles/plimsoll.true.*.plim
    "$plimsoll" run -q -o profiles/ -- sh -c :
    ls profiles/plimsoll.sh.*.plim
}

@test "%p, %c, %h and %t are expanded" {
    "$plimsoll" run -q -o '%c-%h-%p-%t-%%.plim' -- true
    [[ $(ls ./*.plim) =~ ^\./true-$(uname -n)-[0-9]+-[0-9]{10}-%\.plim$ ]]
}

@test "--live-dir says where the profile lives, and . is its destination" {
    mkdir there
    expect 0 "$plimsoll" run -q --live-dir there -- sh -c 'echo $PLIMSOLL_RUN'
    [[ $output == $PWD/there/plimsoll-run.* ]]
    expect 0 "$plimsoll" run -q -s 1G --live-dir . -o there/x.plim -- sh -c 'echo $PLIMSOLL_RUN; stat -c %a $PLIMSOLL_RUN; ls -A $PLIMSOLL_RUN'
    [[ ${lines[0]} == $PWD/there/plimsoll-run.* ]]
    [ "${lines[1]}" = 700 ]
    shows .owner
    [ "$(ls there)" = x.plim ]
    expect 0 "$plimsoll" run --live-dir /no/such -- echo ran
    [ "$output" = ran ]
    says "cannot make a directory for live profiles in /no/such: No such file or directory; the program runs unprofiled"
}

@test "--quiet says nothing" {
    expect 3 "$plimsoll" run --quiet -- "$(program cli-leaky)"
    [ -z "$stderr" ]
}

@test "--off takes no samples" {
    expect 3 "$plimsoll" run --off -s 4K -o out.plim -- "$(program cli-leaky)"
    expect 0 "$plimsoll" report out.plim
    shows "0 samples"
}

@test "the summary says what happened where the program switches profiling on, off, or to samples" {
    expect 0 "$plimsoll" run --off -o out.plim -- "$(program cli-switch)" start
    says "plimsoll: exact, but for 20 made while off or paused: 5,020 allocations, "
    expect 0 "$plimsoll" run --exact -o out.plim -- "$(program cli-switch)" stop
    says "plimsoll: exact, but for 5,000 made while off or paused: 5,020 allocations, "
    expect 0 "$plimsoll" run --off -o out.plim -- "$(program cli-switch)" stop
    says "plimsoll: switched off: 5,020 allocations, "
    expect 0 "$plimsoll" run --exact -o out.plim -- "$(program cli-switch)" sample
    says "plimsoll: exact for the first 20 allocations, then sampled about every " ": 5,020 allocations, "
}

@test "the summary of a program that was killed before its first sample does not say that it allocated nothing" {
    expect 137 "$plimsoll" run --sample 1G -o out.plim -- bash -c 'kill -9 $$'
    says "no allocation had been recorded yet when it ended"
    [[ $stderr != *"no allocation was made"* ]]
}

@test "the summary says that figures are not complete, and what would make them so" {
    expect 0 "$plimsoll" run --exact --max-file 256K --no-symbols -o out.plim -- python3 -c pass
    [[ $stderr =~ "plimsoll: figures"(" by stack and tag")?" are not complete: "[^\n]*" record"s?" found no room; plimsoll run --max-file "[0-9]+[KM]" gives more" ]]
    expect 0 "$plimsoll" run --exact -o out.plim -- true
    [[ $stderr != *"not complete"* ]]
}

@test "PLIMSOLL_SNAPSHOT_EVERY takes times as --snapshot-every does, down to 100ms" {
    PLIMSOLL_SNAPSHOT_EVERY=200ms expect 0 "$plimsoll" run -q -o out.plim -- sh -c 'echo "$PLIMSOLL_SNAPSHOT_EVERY"'
    [ "$output" = 200ms ] && [ -z "$stderr" ]
    PLIMSOLL_SNAPSHOT_EVERY=50ms expect 0 "$plimsoll" run -q -o out.plim -- true
    says "too small; the least is 0.1 s"
}

@test "--seed repeats a run" {
    for i in 1 2; do
        "$plimsoll" run -q --seed 7 -s 16K -o $i.plim -- "$(program cli-leaky)" || true
        "$plimsoll" export $i.plim | jq -c '[.totals, .sampling] | del(.[0].lifetimes, .[0].ages)' >$i.json # time is not repeated
    done
    diff 1.json 2.json
}

# --- where the profile goes ---

@test "the summary of a program that was counted is exact" {
    expect 3 "$plimsoll" run --exact -o out.plim -- "$(program cli-leaky)" 10000
    [[ ${stderr_lines[0]} =~ ^"plimsoll: exact: 10,00"[0-9]" allocations, 9.5 MiB in all; peak "[0-9.]+" MiB; 2.4 MiB never freed (2,50"[0-9]" blocks)"$ ]]
    [[ $stderr != *±* && $stderr != *sample* ]]
    expect 3 "$plimsoll" run -o out.plim -- "$(program cli-leaky)" 100
    says "plimsoll: exact: 10"
}

@test "the summary says what was allocated, what is left, where it is and what to type next" {
    expect 3 "$plimsoll" run -s 4K --seed 1 -- "$(program cli-leaky)" 10000
    [[ $stderr =~ "plimsoll: sampled every 4 KiB: 10,00"[0-9]" allocations, 9.5 MiB in all; peak "[0-9.]+" MiB ± "[0-9.]+" MiB; 2."[0-9]" MiB ± 0."[0-9]+" MiB never freed (2,"[0-9]{3}" ± "[0-9]{2,3}" blocks), from 2,"[0-9]{3}" samples" ]]
    file=$(ls plimsoll.cli-leaky.*.plim)
    says "plimsoll: wrote $file (" "plimsoll: next: plimsoll report $file"
    [ -z "$(ls -A live)" ]
    expect 0 "$plimsoll" report "$file"
    shows "keep_block"
    [ "$(stat -c %a "$file")" = 600 ]
}

@test "the suggested command works for names that a shell would take apart" {
    expect 3 "$plimsoll" run -o "it's \$HOME.plim" -- "$(program cli-leaky)"
    command=$(sed -n 's/^plimsoll: next: plimsoll //p' <<<"$stderr")
    eval "$plimsoll $command" | grep -q cli-leaky
}

@test "an old profile is replaced, any other file is not" {
    forge leak
    mv leak.plim out.plim
    "$plimsoll" run -q -o out.plim -- true
    [ "$(ls out*)" = out.plim ]
    "$plimsoll" report out.plim | grep -q '^true'
    echo precious >notes
    "$plimsoll" run -q -o notes -- true
    [ "$(cat notes)" = precious ]
    "$plimsoll" report notes.1 | grep -q '^true'
    mkdir d.1
    echo precious >d
    "$plimsoll" run -q -o d -- true
    "$plimsoll" report d.2 | grep -q '^true'
}

@test "a symbolic link in the way is not followed" {
    echo precious >target
    ln -s target link
    "$plimsoll" run -q -o link -- true
    [ "$(cat target)" = precious ]
    [ -e link.1 ]
    ln -s link.1 profile # nor is one replaced that leads to a profile
    "$plimsoll" run -q -o profile -- true
    [ "$(readlink profile)" = link.1 ]
    [ -e profile.1 ]
}

@test "kill -9 loses nothing" {
    "$plimsoll" run -s 16K -o out.plim -- "$(program cli-leaky)" 10000 60 >up 2>said &
    await grep -q up up
    kill -9 "$(pgrep -P $!)"
    wait $! || status=$?
    [ "$status" -eq 137 ]
    grep -q 'killed by SIGKILL' said
    grep -q 'MiB live when it ended' said
    expect 0 "$plimsoll" report out.plim
    shows "killed by SIGKILL" "live when it ended" keep_block
}

@test "with a plain name the first process gets it, others their pid behind it" {
    "$plimsoll" run -q -s 16K -o out.plim -- "$(program cli-tree)" 4
    ls out.plim
    [ "$(ls out.plim.* | wc -l)" -eq 2 ]
    for file in out.plim.*; do
        [[ $file =~ ^out\.plim\.[0-9]+$ ]]
        pid=${file##*.}
        [ "$("$plimsoll" export "$file" | jq .process.pid)" -eq "$pid" ]
    done
}

@test "processes without samples leave no clutter, unless they are to be kept" {
    command="for i in 1 2 3; do $(program cli-leaky) 1; done; $(program cli-leaky)"
    expect 3 "$plimsoll" run -s 64K --seed 1 -- sh -c "$command"
    says "wrote 2 profiles of 5 processes:" "and 3 short processes with little to show; --keep-all keeps them"
    says "next: plimsoll report plimsoll.cli-leaky."
    [ "$(ls ./*.plim | wc -l)" -eq 2 ]
    rm ./*.plim
    expect 3 "$plimsoll" run --keep-all -s 64K --seed 1 -- sh -c "$command"
    says "wrote 5 profiles of 5 processes:"
    [ "$(ls ./*.plim | wc -l)" -eq 5 ]
}

@test "small processes of a crowd are left out however they were measured" {
    command="for i in 1 2 3 4 5 6 7 8; do $(program cli-leaky) 1; done; $(program cli-leaky) 10000; exit 3"
    expect 3 "$plimsoll" run --sample 1 -- sh -c "$command"
    says "wrote 2 profiles of 10 processes:" "and 8 short processes with little to show; --keep-all keeps them"
    [ "$(ls ./*.plim | wc -l)" -eq 2 ]
}

@test "where every allocation is counted, small processes are left out only of a crowd" {
    expect 3 "$plimsoll" run -- sh -c "for i in 1 2 3; do $(program cli-leaky) 1; done; exit 3"
    says "wrote 4 profiles of 4 processes:"
    [[ $stderr != *"little to show"* ]]
    rm ./*.plim
    expect 3 "$plimsoll" run -- sh -c "for i in 1 2 3 4 5 6 7 8; do $(program cli-leaky) 1; done; $(program cli-leaky) 10000; exit 3"
    says "wrote 2 profiles of 10 processes:" "and 8 short processes with little to show; --keep-all keeps them"
    [ "$(ls ./*.plim | wc -l)" -eq 2 ]
}

@test "--only profiles the processes of that name" {
    "$plimsoll" run -q -s 16K --only cli-leaky -- sh -c "$(program cli-leaky); $(program cli-tree) 0" || true
    [ "$(ls ./*.plim | wc -l)" -eq 1 ]
    ls plimsoll.cli-leaky.*.plim
    "$plimsoll" run -q -s 16K --only cli-leaky -o out.plim -- sh -c "$(program cli-leaky); $(program cli-leaky)" || true
    [ "$(ls out.plim out.plim.* | wc -l)" -eq 2 ]
    first=$("$plimsoll" export out.plim | jq .process.start_unix_ns)
    [ "$first" -lt "$("$plimsoll" export out.plim.* | jq .process.start_unix_ns)" ]
}

@test "a program that becomes another by exec is called by its last name" {
    expect 3 "$plimsoll" run -s 16K -o out.plim -- env A=1 sh -c "exec $(program cli-leaky)"
    expect 0 "$plimsoll" report out.plim
    [[ ${lines[0]} == *cli-leaky*"exited 3"* ]]
}

@test "a process that outlives the program keeps its profile, and moves it itself" {
    expect 0 "$plimsoll" run -s 16K -- "$(program cli-tree)" --stay 1
    says "1 process is still running: its profile will follow when it ends"
    [ "$(ls plimsoll.cli-tree.*.plim | wc -l)" -eq 1 ]
    await bash -c '[ "$(ls plimsoll.cli-tree.*.plim | wc -l)" -eq 2 ]'
    for file in plimsoll.cli-tree.*.plim; do
        "$plimsoll" report "$file" >/dev/null
    done
    "$plimsoll" run -q -- true
    [ -z "$(ls -A live)" ]
}

@test "an unwritable destination is said before the program starts, and the profile is kept" {
    mkdir closed
    chmod 555 closed
    touch closed/x 2>/dev/null && skip "nothing is unwritable to this user"
    expect 3 "$plimsoll" run -o closed/out.plim -- "$(program cli-leaky)"
    says "cannot write to $PWD/closed" "the profile stays in $PWD/live/plimsoll-run."
}

@test "a destination that does not exist is said before the program starts, and the profile is kept" {
    expect 3 "$plimsoll" run -s 16K -o nowhere/out.plim -- "$(program cli-leaky)"
    says "cannot write to $PWD/nowhere: No such file or directory; the program runs all the same"
    file=$(sed -n 's/.*next: plimsoll report //p' <<<"$stderr")
    expect 0 "$plimsoll" report "$file"
    shows keep_block
    [ ! -e "${file%/*}/.owner" ]
}

@test "two runs at once do not meet" {
    "$plimsoll" run -q -s 16K -o one.plim -- "$(program cli-leaky)" &
    "$plimsoll" run -q -s 16K -o two.plim -- "$(program cli-leaky)" || true
    wait $! || true
    "$plimsoll" report one.plim >/dev/null
    "$plimsoll" report two.plim >/dev/null
    [ -z "$(ls -A live)" ]
}

@test "the library is found where PLIMSOLL_LIBRARY says, and its absence is said" {
    cp "$library" mine.so
    PLIMSOLL_LIBRARY=mine.so expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$PWD/mine.so" ]
    PLIMSOLL_LIBRARY=gone.so expect 1 "$plimsoll" run -- true
    says "cannot use PLIMSOLL_LIBRARY=gone.so: No such file or directory"
    cp "$library" 'a b.so'
    PLIMSOLL_LIBRARY='a b.so' expect 0 "$plimsoll" run -q -- sh -c 'readlink "$LD_PRELOAD"'
    [ "$output" = "$PWD/a b.so" ]
    stray alone
    expect 1 ./alone run -- true
    says "cannot find libplimsoll.so beside $PWD/plimsoll or in /" "set PLIMSOLL_LIBRARY"
}

# --- a tree whose path LD_PRELOAD cannot have in it ---

# settle_oddly: $odd is an installation of its own, in a directory with blanks and a colon
settle_oddly() {
    odd="$PWD/a dir: with blanks"
    export XDG_CACHE_HOME=$PWD/cache
    mkdir "$odd"
    cp "$executable" "$library" "${library%.so}-cxx.so" "$odd"
}

teardown() {
    forget_links
    rm -rf "${public:-}"
}

# stacks FILE: what was allocated, by stack
stacks() {
    "$plimsoll" export -f collapsed --metric calls "$1"
}

@test "a path with blanks and colons profiles what is forked and executed, with the same stacks" {
    settle_oddly
    cat >job <<'END'
leaky=$1
"$leaky" 2000
(exec "$leaky" 3000)
exec "$leaky" 4000
END
    for which in plain odd; do
        mkdir $which
        [ $which = plain ] && typed=$executable || typed=$odd/plimsoll
        expect 3 "$typed" run -q --exact --keep-all -o "$which/%c.plim" -- sh job "$(program cli-leaky)"
        [ -z "$stderr" ]
        for file in "$which"/*; do
            stacks "$file"
        done | sort >$which.stacks
    done
    [ "$(grep -c 'main' plain.stacks)" -ge 3 ]
    diff plain.stacks odd.stacks
    [ -z "$(ls -A live)" ]
}

@test "the link is one that LD_PRELOAD can have in it, made once, and nothing stays among live files" {
    settle_oddly
    mkdir 'my live'
    for _ in 1 2 3 4; do
        "$odd/plimsoll" run -q --live-dir 'my live' -- sh -c 'echo "$LD_PRELOAD"; readlink "$LD_PRELOAD"' >>said 2>&1 &
    done
    wait
    [ "$(sort -u said | wc -l)" -eq 2 ]
    grep -qx "$odd/libplimsoll.so" said
    link=$(grep -vx "$odd/libplimsoll.so" said | sort -u)
    [[ $link == /*/libplimsoll.so && $link != *[' :']* ]]
    [ -z "$(ls -A 'my live')" ]
    env -u PLIMSOLL_LIVE_DIR "$odd/plimsoll" run -q -- true &
    wait $!
    fails ls -d /dev/shm/plimsoll-run.$!.*
}

@test "a path with blanks serves allocators with an operator new of their own, and a run inside a run" {
    settle_oddly
    cc -shared -fPIC -o liballoc.so -x c - <<<'#include <stddef.h>
        void *__libc_malloc(size_t), __libc_free(void *), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
        void *malloc(size_t n) { return __libc_malloc(n); } void free(void *p) { __libc_free(p); }
        void *calloc(size_t n, size_t m) { return __libc_calloc(n, m); }
        void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
        void *_Znwm(size_t n) { return malloc(n); } void _ZdlPv(void *p) { free(p); }'
    LD_PRELOAD=$PWD/liballoc.so expect 0 "$odd/plimsoll" run -q -- sh -c 'readlink "${LD_PRELOAD%%:*}"'
    [ "$output" = "$odd/libplimsoll-cxx.so" ]
    expect 0 "$odd/plimsoll" run -q -- "$odd/plimsoll" run -q -- sh -c 'echo "$LD_PRELOAD"'
    [ "$(basename "$output")" = libplimsoll.so ]
    [[ $output != *:* ]]
}

@test "a process that outlives a run finds the link when it starts others" {
    settle_oddly
    mkfifo go
    expect 0 "$odd/plimsoll" run -q -- sh -c '(read -r _ <go; exec ls go) >late 2>&1 &' 3>&-
    echo >go # before anything may fail: bats waits for whatever it has started
    [[ $stderr != *preload* ]]
    await grep -q go late
    [ "$(cat late)" = go ]
}

@test "a link is made only where nobody else can replace it" {
    unshare -m mount -t tmpfs none /var/tmp 2>/dev/null || skip "cannot mount here"
    settle_oddly
    cat >inside <<'END'
preload() { "$odd/plimsoll" run -q -- sh -c 'echo "$LD_PRELOAD"' || echo "status $?"; }
set -e
mount -t tmpfs -o noexec,mode=1777 none /var/tmp
preload
rm -r /var/tmp/*
mkdir -m 777 "/var/tmp/plimsoll-$(id -u)"
preload
mkdir elsewhere
rm -r cache
ln -s elsewhere cache
preload
chmod 777 elsewhere
preload
END
    odd=$odd expect 0 unshare -m sh inside
    [[ ${lines[0]} == "/var/tmp/plimsoll-$(id -u)/"*/libplimsoll.so ]]
    [[ ${lines[1]} == "$PWD/cache/plimsoll/"*/libplimsoll.so ]]
    [[ ${lines[2]} == "$PWD/elsewhere/plimsoll/"*/libplimsoll.so ]]
    [ "${lines[3]}" = "status 1" ]
    says "cannot preload $odd/libplimsoll.so: LD_PRELOAD allows no blank or colon in a path, and there is no safe place for a link"
}

@test "another user that a program becomes finds the link, too" {
    setpriv --reuid=65534 --clear-groups true 2>/dev/null || skip "cannot change user here"
    public=$(mktemp -d) work=$public
    chmod 755 "$public"
    cd "$public"
    settle_oddly
    setpriv --reuid=65534 --clear-groups test -r "$odd/libplimsoll.so" || skip "nobody else may come here"
    umask 077
    expect 0 "$odd/plimsoll" run -q -- setpriv --reuid=65534 --clear-groups sh -c 'ls -d /'
    [ "$output" = / ]
    [[ $stderr != *ld.so* ]] || { echo "$stderr"; return 1; }
}

@test "real programs give the same output under run" {
    python3 -c 'print("\n".join(f"{i * 7919 % 1000:03} line {i}" for i in range(2000)))' >input
    for command in 'sort input' 'grep -c 7 input' 'awk "{ s += \$1 } END { print s }" input' \
        'perl -ne "print if /99/" input' 'python3 -c "print(sum(len(l) for l in open(\"input\")))"' \
        'sort input | uniq | wc -l'; do
        diff <(bash -c "$command") <("$plimsoll" run -q -- bash -c "$command")
    done
}
