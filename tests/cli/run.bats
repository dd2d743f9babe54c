# SPDX-License-Identifier: MIT
# run: the program behaves as without us, and its profile ends up in the right place, whatever happens.

load support

# --- the program behaves as without us ---

@test "the exit status is the program's" {
    for status in 0 1 3 77 255; do
        run "-$status" "$plimsoll" run -q -- sh -c "exit $status"
    done
}

@test "a signal that ends the program gives 128 plus its number, and is named" {
    expect 137 "$plimsoll" run -- sh -c 'kill -9 $$'
    says "sh was killed by SIGKILL"
    expect 143 "$plimsoll" run -- sh -c 'kill -TERM $$'
    says "sh was killed by SIGTERM"
    expect 139 "$plimsoll" run -- bash -c 'ulimit -c 0; kill -SEGV $$'
    says "bash was killed by SIGSEGV"
}

@test "a missing program exits with 127, one that cannot be executed with 126" {
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

@test "run prints nothing to stdout" {
    expect 0 "$plimsoll" run -- true
    [ -z "$output" ]
    says "plimsoll: wrote plimsoll.true."
}

@test "descriptors, arguments and the directory are the program's own" {
    expect 0 "$plimsoll" run -q -- sh -c 'echo "$0|$1|$2|$PWD"; ls /proc/self/fd | wc -l' name 'a b' '' 5</dev/null
    [ "${lines[0]}" = "name|a b||$PWD" ]
    plain=$(sh -c 'ls /proc/self/fd | wc -l' 5</dev/null)
    [ "${lines[1]}" -le $((plain + 2)) ] # the profile, and the file that RSS is read from
}

@test "options after the program belong to the program" {
    expect 0 "$plimsoll" run -q echo --help -o x
    [ "$output" = "--help -o x" ]
    [ ! -e x ]
}

@test "signals sent to run reach the program, once each" {
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

@test "a signal that the program sends to its group reaches it once" {
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

@test "the exit status is kept when the parent ignores SIGCHLD" {
    run -9 python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], [sys.argv[1], "run", "-q", "--", "sh", "-c", "exit 9"])' "$executable"
}

@test "on a terminal ^C, ^Z and fg work as without us" {
    PYTHONDONTWRITEBYTECODE=1 python3 "$PLIMSOLL_SOURCE/tests/cli/terminal.py" "$executable"
}

@test "libraries in LD_PRELOAD stay there, after ours" {
    LD_PRELOAD=libm.so.6 expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$library:libm.so.6" ]
    LD_PRELOAD= expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$library" ]
    LD_PRELOAD=$library expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
    [ "$output" = "$library" ]
}

@test "for an allocator with its own operator new the library that hooks it is preloaded" {
    local tried=0
    for path in $(PYTHONDONTWRITEBYTECODE=1 python3 "$PLIMSOLL_SOURCE/tests/lib/allocators.py"); do
        allocator=${path##*/}
        LD_PRELOAD=$allocator sh -c : 2>&1 | grep -q . && continue
        LD_PRELOAD=$allocator expect 0 "$plimsoll" run -q -- sh -c 'echo $LD_PRELOAD'
        [ "$output" = "$PLIMSOLL_BUILD/libplimsoll-cxx.so:$allocator" ]
        tried=$((tried + 1))
    done
    [ $tried -gt 0 ] || skip "no other allocator is installed"
}

# --- options ---

@test "options reach the program as settings in a normal form" {
    expect 0 "$plimsoll" run -q --sample 64K --max-file 1M --seed 42 --only sh,cat --off -o 'x.%p.plim' -- sh -c 'env | grep ^PLIMSOLL_ | sort'
    shows "PLIMSOLL_SAMPLE=65536" "PLIMSOLL_MAX_FILE=1048576" "PLIMSOLL_SEED=42" "PLIMSOLL_ONLY=sh,cat" "PLIMSOLL_OFF=1" \
        "PLIMSOLL_OUT=$PWD/x.%p.plim" "PLIMSOLL_RUN=$PWD/live/plimsoll-run."
}

@test "exact, auto and a budget reach the program unchanged" {
    expect 0 "$plimsoll" run -q --exact -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = exact ]
    expect 0 "$plimsoll" run -q --exact --sample exact -- sh -c 'echo $PLIMSOLL_SAMPLE'
    [ "$output" = exact ]
    expect 0 "$plimsoll" run -q --sample auto --overhead 0.5% -- sh -c 'echo $PLIMSOLL_SAMPLE $PLIMSOLL_OVERHEAD'
    [ "$output" = "auto 0.5%" ]
    expect 0 "$plimsoll" run -q --credit 2s -- sh -c 'echo $PLIMSOLL_CREDIT'
    [ "$output" = 2000ms ]
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

@test "invalid settings in the environment are reported, and the program runs" {
    PLIMSOLL_SAMPLE=12Q PLIMSOLL_SEED=x PLIMSOLL_OVERHEAD=2x PLIMSOLL_SAMPEL=4K expect 0 "$plimsoll" run -q -- sh -c 'echo ${PLIMSOLL_SAMPLE-unset}'
    [ "$output" = unset ]
    says "plimsoll: PLIMSOLL_SAMPLE=12Q in the environment: not a size; use bytes with K, M or G, exact or auto, for example 512K; ignored" \
        "PLIMSOLL_OVERHEAD=2x in the environment: not a percentage; use for example 2%; ignored" \
        "PLIMSOLL_SEED=x in the environment: not a number" \
        "PLIMSOLL_SAMPEL in the environment is not a setting; did you mean PLIMSOLL_SAMPLE?"
}

@test "a relative output path starts where run was started" {
    mkdir sub
    "$plimsoll" run -q -s 16K -o 'here.%p.plim' -- sh -c "cd sub && exec $(program cli-leaky)" || [ $? -eq 3 ]
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

@test "in an output directory the profile gets its default name" {
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

@test "--live-dir sets where the live profile is, and . means beside its destination" {
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

@test "--quiet prints nothing" {
    expect 3 "$plimsoll" run --quiet -- "$(program cli-leaky)"
    [ -z "$stderr" ]
}

@test "--off takes no samples" {
    expect 3 "$plimsoll" run --off -s 4K -o out.plim -- "$(program cli-leaky)"
    expect 0 "$plimsoll" report out.plim
    shows "0 samples"
}

@test "the summary shows when the program switched profiling on, off or to sampling" {
    expect 0 "$plimsoll" run --off -o out.plim -- "$(program cli-switch)" start
    says "plimsoll: exact, except for 20 made while switched off or paused: 5,020 allocations, "
    expect 0 "$plimsoll" run --exact -o out.plim -- "$(program cli-switch)" stop
    says "plimsoll: exact, except for 5,000 made while switched off or paused: 5,020 allocations, "
    expect 0 "$plimsoll" run --off -o out.plim -- "$(program cli-switch)" stop
    says "plimsoll: switched off: 5,020 allocations, "
    expect 0 "$plimsoll" run --exact -o out.plim -- "$(program cli-switch)" sample
    says "plimsoll: exact for the first 20 allocations, then sampled about every " ": 5,020 allocations, "
}

@test "the summary says when figures are only of what followed a reset" {
    expect 0 "$plimsoll" run --exact -o out.plim -- "$(program cli-switch)" reset
    says "plimsoll: exact: 5,000 allocations since the reset, 488 KiB in all"
    expect 0 "$plimsoll" run --exact -o out.plim -- "$(program cli-switch)" reset-end
    says "plimsoll: exact: no allocation was made since the reset"
}

@test "the summary of a program killed before its first sample does not claim that it allocated nothing" {
    expect 137 "$plimsoll" run --sample 1G -o out.plim -- bash -c 'kill -9 $$'
    says "no allocation was recorded before it ended"
    [[ $stderr != *"no allocation was made"* ]]
}

@test "the summary of a sampled program that was killed says that there were at least so many allocations" {
    local kill='x=$(seq 1 20000); kill -9 $$'
    expect 137 "$plimsoll" run --sample 4K -o out.plim -- bash -c "$kill"
    [[ $stderr =~ "bash "[0-9]+": sampled every 4 KiB: at least "[0-9,]+" allocations, " ]]
    [[ $stderr =~ "partly sampled: at least "[0-9,]+" allocations, " ]]
    expect 137 "$plimsoll" run --exact -o out.plim -- bash -c "$kill"
    [[ $stderr =~ "bash "[0-9]+": exact: "[0-9,]+" allocations, " && $stderr != *"at least"* ]]
}

@test "the summary says that figures are incomplete and which option completes them" {
    expect 0 "$plimsoll" run --exact --max-file 256K --no-symbols -o out.plim -- python3 -c pass
    [[ $stderr =~ "plimsoll: "("python3 "[0-9]+": ")?"the profile reached its limit of 256 KiB (--max-file): figures"(" by stack and tag")?" are incomplete, no room for "[^\n]*" record"s?"; plimsoll run --max-file 1M allows more, --sample 512K needs less" ]]
    expect 0 "$plimsoll" run --exact -o out.plim -- true
    [[ $stderr != *"incomplete"* ]]
}

@test "the remedy for a full profile depends on what stopped it, and never allows less than there was" {
    export PYTHONMALLOC=malloc # Python's own allocator would hide most of the stacks, and how many depends on its version
    churn=(python3 -c 'import json, email, argparse')
    expect 0 "$plimsoll" run --exact --max-file 1M -o out.plim -- "${churn[@]}"
    says "only totals are exact: " "the profile reached its limit of 1 MiB (--max-file)" "run --max-file 4M allows more"
    expect 0 "$plimsoll" report out.plim
    shows "only totals are exact: the stacks of " "allocations are not known" "run --max-file 4M allows"
    expect 1 "$plimsoll" check out.plim --max-allocated 1K --max-never-freed 1
    [[ $output == *"allocated "*"worst of the known stacks: "*"never freed "* && $output != *"(no room"* ]]
    expect 0 bash -c 'ulimit -f 400; exec "$@"' bash "$plimsoll" run --exact --no-symbols -o limited.plim -- "${churn[@]}"
    says "reached the limit on file sizes, 400 KiB (ulimit -f)" "ulimit -f unlimited removes it"
    [[ $stderr != *"--max-file"* ]]
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    expect 0 unshare -m sh -c 'mount -t tmpfs -o size=300k none /dev/shm; exec "$@"' sh env PLIMSOLL_LIVE_DIR=/dev/shm \
        "$plimsoll" run --exact -o crowded.plim -- perl -MPOSIX -e 'push @a, "x" x $_ for 1 .. 3000'
    says "the file system of the live profile was full" "run --live-dir DIRECTORY uses another one"
    [[ $stderr != *"--max-file"* ]]
}

@test "without room in the live directory profiles are made at their destination" {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    expect 0 unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm; "$@"; ls /dev/shm >left' sh \
        env PLIMSOLL_LIVE_DIR=/dev/shm "$plimsoll" run --exact -o out.plim -- perl -e 'push @a, "x" x $_ for 1 .. 3000'
    says "wrote out.plim" "exact: "
    [ ! -s left ]
    expect 0 "$plimsoll" report out.plim
    shows "exact: all "
    expect 137 unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm; exec "$@"' sh \
        env PLIMSOLL_LIVE_DIR=/dev/shm "$plimsoll" run --keep-all --exact -o 'many.%c.plim' -- sh -c 'perl -e 1; kill -9 $$'
    [ "$(echo many.*)" = "many.perl.plim many.sh.plim" ]
}

@test "PLIMSOLL_SNAPSHOT_EVERY takes times as --snapshot-every does, down to 100ms" {
    PLIMSOLL_SNAPSHOT_EVERY=200ms expect 0 "$plimsoll" run -q -o out.plim -- sh -c 'echo "$PLIMSOLL_SNAPSHOT_EVERY"'
    [ "$output" = 200ms ]
    [ -z "$stderr" ]
    PLIMSOLL_SNAPSHOT_EVERY=50ms expect 0 "$plimsoll" run -q -o out.plim -- true
    says "too small; the minimum is 0.1 s"
}

# A seed decides the figures of all and of each site. Lifetimes and ages are times. The peak's interval depends on how
# many heap compositions the file has, and the clock decides that: a run that is held up for a second has one more.
@test "--seed repeats a run" {
    for seed in 7 7 8; do
        "$plimsoll" run -q --seed $seed -s 16K -o out.plim -- "$(program cli-leaky)" || [ $? -eq 3 ]
        "$plimsoll" export out.plim | jq -c '
            def repeated: del(.lifetimes, .ages) | .peak_objects |= .value | .peak_space |= .value;
            [.sampling, (.totals, .sites[] | repeated)]' >>runs.json
    done
    [ "$(sed -n 1p runs.json)" = "$(sed -n 2p runs.json)" ]
    [ "$(sed -n 1p runs.json)" != "$(sed -n 3p runs.json)" ]
    [ "$(jq -s 'map(length) | min' runs.json)" -ge 4 ]
}

# --- where the profile goes ---

@test "the summary of an exact run has no errors" {
    expect 3 "$plimsoll" run --exact -o out.plim -- "$(program cli-leaky)" 10000
    [[ ${stderr_lines[0]} =~ ^"plimsoll: exact: 10,00"[0-9]" allocations, 9.5 MiB in all; peak "[0-9.]+" MiB; 2.4 MiB never freed (2,50"[0-9]" blocks)"$ ]]
    [[ $stderr != *±* && $stderr != *sample* ]]
    expect 3 "$plimsoll" run -o out.plim -- "$(program cli-leaky)" 100
    says "plimsoll: exact: 10"
}

@test "the summary has the bytes allocated, the blocks never freed, the file and the next command" {
    expect 3 "$plimsoll" run -s 4K --seed 1 -- "$(program cli-leaky)" 10000
    [[ $stderr =~ "plimsoll: sampled every 4 KiB: 10,00"[0-9]" allocations, 9.5 MiB in all; peak "[0-9.]+" MiB ± "[0-9.]+" MiB; 2."[0-9]" MiB ± 0."[0-9]+" MiB never freed (2,"[0-9]{3}" ± "[0-9]{2,3}" blocks), from 2,"[0-9]{3}" samples" ]]
    file=$(ls plimsoll.cli-leaky.*.plim)
    says "plimsoll: wrote $file (" "plimsoll: next: plimsoll report $file"
    [ -z "$(ls -A live)" ]
    expect 0 "$plimsoll" report "$file"
    shows "keep_block"
    [ "$(stat -c %a "$file")" = 600 ]
}

@test "the suggested command works for file names that need quoting" {
    expect 3 "$plimsoll" run -o "it's \$HOME.plim" -- "$(program cli-leaky)"
    command=$(sed -n 's/^plimsoll: next: plimsoll //p' <<<"$stderr")
    eval "$plimsoll $command" | grep -q cli-leaky
}

@test "an old profile is overwritten, any other file is not" {
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

@test "a symbolic link at the destination is neither followed nor replaced" {
    echo precious >target
    ln -s target link
    "$plimsoll" run -q -o link -- true
    [ "$(cat target)" = precious ]
    [ -e link.1 ]
    ln -s link.1 profile # a link to a profile
    "$plimsoll" run -q -o profile -- true
    [ "$(readlink profile)" = link.1 ]
    [ -e profile.1 ]
}

@test "the profile survives kill -9" {
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

@test "the first process gets the plain name, others append their pid" {
    "$plimsoll" run -q -s 16K -o out.plim -- "$(program cli-tree)" 4
    ls out.plim
    [ "$(ls out.plim.* | wc -l)" -eq 2 ]
    for file in out.plim.*; do
        [[ $file =~ ^out\.plim\.[0-9]+$ ]]
        pid=${file##*.}
        [ "$("$plimsoll" export "$file" | jq .process.pid)" -eq "$pid" ]
    done
}

@test "profiles without samples are removed unless --keep-all is given" {
    command="for i in 1 2 3; do $(program cli-leaky) 1; done; $(program cli-leaky)"
    expect 3 "$plimsoll" run -s 64K --seed 1 -- sh -c "$command"
    says "wrote 2 profiles of 5 processes:" "discarded the profiles of 3 short processes with little to show; --keep-all keeps them"
    says "next: plimsoll report plimsoll.cli-leaky."
    [ "$(ls ./*.plim | wc -l)" -eq 2 ]
    rm ./*.plim
    expect 3 "$plimsoll" run --keep-all -s 64K --seed 1 -- sh -c "$command"
    says "wrote 5 profiles of 5 processes:"
    [ "$(ls ./*.plim | wc -l)" -eq 5 ]
}

@test "--only profiles the processes with that name" {
    "$plimsoll" run -q -s 16K --only cli-leaky -- sh -c "$(program cli-leaky); $(program cli-tree) 0" || true
    [ "$(ls ./*.plim | wc -l)" -eq 1 ]
    ls plimsoll.cli-leaky.*.plim
    "$plimsoll" run -q -s 16K --only cli-leaky -o out.plim -- sh -c "$(program cli-leaky); $(program cli-leaky)" || true
    [ "$(ls out.plim out.plim.* | wc -l)" -eq 2 ]
    first=$("$plimsoll" export out.plim | jq .process.start_unix_ns)
    [ "$first" -lt "$("$plimsoll" export out.plim.* | jq .process.start_unix_ns)" ]
}

@test "a program that calls exec is named by its last name" {
    expect 3 "$plimsoll" run -s 16K -o out.plim -- env A=1 sh -c "exec $(program cli-leaky)"
    expect 0 "$plimsoll" report out.plim
    [[ ${lines[0]} == *cli-leaky*"exited 3"* ]]
}

@test "a process that outlives the program moves its profile itself" {
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

@test "an unwritable destination is reported before the program starts, and the profile is kept" {
    mkdir closed
    chmod 555 closed
    touch closed/x 2>/dev/null && skip "this user may write everywhere"
    expect 3 "$plimsoll" run -o closed/out.plim -- "$(program cli-leaky)"
    says "cannot write to $PWD/closed" "the profile stays in $PWD/live/plimsoll-run."
}

@test "a missing destination is reported before the program starts, and the profile is kept" {
    expect 3 "$plimsoll" run -s 16K -o nowhere/out.plim -- "$(program cli-leaky)"
    says "cannot write to $PWD/nowhere: No such file or directory; the program runs anyway"
    file=$(sed -n 's/.*next: plimsoll report //p' <<<"$stderr")
    expect 0 "$plimsoll" report "$file"
    shows keep_block
    [ ! -e "${file%/*}/.owner" ]
}

@test "two runs at the same time do not disturb each other" {
    "$plimsoll" run -q -s 16K -o one.plim -- "$(program cli-leaky)" &
    "$plimsoll" run -q -s 16K -o two.plim -- "$(program cli-leaky)" || true
    wait $! || true
    "$plimsoll" report one.plim >/dev/null
    "$plimsoll" report two.plim >/dev/null
    [ -z "$(ls -A live)" ]
}

@test "PLIMSOLL_LIBRARY names the library, and a missing library is reported" {
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

# --- installed under a path that LD_PRELOAD cannot contain ---

# settle_oddly: makes an installation in $odd, a directory with blanks and a colon
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

# stacks FILE: prints the calls of each stack
stacks() {
    "$plimsoll" export -f collapsed --metric calls "$1"
}

@test "from a path with blanks and colons forked and executed programs are profiled, with the same stacks" {
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

@test "LD_PRELOAD gets a link without blanks and colons, made once and kept outside of the live files" {
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

@test "a path with blanks works with another operator new, and with a run inside a run" {
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
    echo >go # before the first check: bats waits for every process it has started
    [[ $stderr != *preload* ]]
    await grep -q go late
    [ "$(cat late)" = go ]
}

@test "the link is made only where no other user can replace it" {
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

@test "a program that changes its user still finds the link" {
    setpriv --reuid=65534 --clear-groups true 2>/dev/null || skip "cannot change user here"
    public=$(mktemp -d) work=$public
    chmod 755 "$public"
    cd "$public"
    settle_oddly
    setpriv --reuid=65534 --clear-groups test -r "$odd/libplimsoll.so" || skip "other users cannot read this directory"
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

# --- what it costs ---

# traced COMMAND...: runs it with strace, one file of $work/trace per process
traced() {
    mkdir trace
    strace -ff -qq -e trace=execve,open,openat -o trace/of "$@"
}

@test "a child that gives itself a title has it in its profile" {
    expect 0 "$plimsoll" run -o titled.plim -- perl -e 'if (!fork) { $0 = "queue: worker 1"; exit } wait'
    [[ $stderr =~ "perl "[0-9]+" (queue: worker 1): "[0-9]+" B in "[0-9]+" calls; peak "[0-9]+" B: titled.plim." ]]
    COLUMNS=200 expect 0 "$plimsoll" report titled.plim
    [[ ${lines[0]} == "perl -e "* ]]
    COLUMNS=200 expect 0 "$plimsoll" report titled.plim.*
    [[ ${lines[0]} =~ ^"queue: worker 1  " ]]
}

@test "run starts no process but the program, and does not look at all processes" {
    export PLIMSOLL_LIVE_DIR=$work/shm
    ln -s "$(mktemp -d /dev/shm/plimsoll-test.XXXXXX)" shm
    traced "$plimsoll" run -q -o out.plim -- true
    rm -r "$(readlink shm)"
    [ -s out.plim ]
    [ "$(grep -l 'execve(' trace/* | wc -l)" = 2 ] && [ "$(ls trace | wc -l)" = 3 ] # the third is a thread of ours
    run -1 grep -hE '"/proc"|"/proc/[0-9]+/(status|maps)"' trace/*
    run -1 grep -hE 'libmicrohttpd|libgnutls|libcurl' trace/*
}

# A library with the name of one of the system's, that replaces malloc and operator new
replaced='#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void *calloc(size_t items, size_t bytes) { return __libc_calloc(items, bytes); }
void *realloc(void *block, size_t bytes) { return __libc_realloc(block, bytes); }
void free(void *block) { __libc_free(block); }
void *_Znwm(size_t bytes) { return malloc(bytes); }'

@test "the allocator is found in the library that will be loaded, whatever its name is" {
    mkdir sub
    cc -shared -fPIC -Wl,-soname,libutil.so.1 -o sub/libutil.so.1 -x c - <<<"$replaced"
    printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { return !puts(getenv("LD_PRELOAD")); }' >say.c
    cc -o plain say.c -Wl,--no-as-needed sub/libutil.so.1
    cc -o bound say.c -Wl,--no-as-needed sub/libutil.so.1 -Wl,-rpath,"$PWD/sub"
    cc -o free say.c
    expect 0 "$plimsoll" run -q -- ./bound
    shows libplimsoll-cxx.so
    LD_LIBRARY_PATH=$PWD/sub expect 0 "$plimsoll" run -q -- ./plain
    shows libplimsoll-cxx.so
    LD_PRELOAD=$PWD/sub/libutil.so.1 expect 0 "$plimsoll" run -q -- ./free
    shows libplimsoll-cxx.so
    expect 0 "$plimsoll" run -q -- ./free
    shows libplimsoll.so
}
