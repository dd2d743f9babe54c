# SPDX-License-Identifier: MIT
# ls, and reports on running processes. A process is found by the profile that it has mapped, by nothing else.

load support

start() {
    rm -f up # of an earlier one
    "$@" >up &
    started=$!
    await grep -q up up
}

@test "a process started by run is listed with its figures" {
    start "$plimsoll" run -q -s 2K --seed 1 -- "$(program cli-leaky)" 10000 60
    child=$(pgrep -P $started)
    expect 0 "$plimsoll" ls
    [[ ${lines[0]} =~ ^" "*PID\ +COMMAND\ +STATE\ +SINCE\ +COUNTED\ +LIVE\ +FILE$ ]]
    grep -E "^ *$child +cli-leaky 10000 60 +running +[0-9:]{8} +[0-9,]+ samples +2\.[0-9] MiB ± 0?\.?[0-9.]+ MiB +.*plimsoll-run.*\.plim$" <<<"$output"
    says "plimsoll report "
    kill -9 "$child"
    wait $started || true
}

@test "a process in exact mode is listed as exact, and its live bytes have no error" {
    start "$plimsoll" run -q --exact -- "$(program cli-leaky)" 10000 60
    child=$(pgrep -P $started)
    expect 0 "$plimsoll" ls --no-header
    grep -E "^ *$child +cli-leaky 10000 60 +running +[0-9:]{8} +exact +2\.4 MiB +" <<<"$output"
    expect 0 "$plimsoll" report --peak "$child"
    shows "The heap was largest" " now  site"
    kill -9 "$child"
    wait $started || true
}

@test "a process started with LD_PRELOAD alone is listed, and its live profile can be reported" {
    LD_PRELOAD=$library PLIMSOLL_SAMPLE=16K start "$(program cli-leaky)" 10000 60
    expect 0 "$plimsoll" ls --no-header
    grep -E "^ *$started +cli-leaky [0-9]+ 60 +running " <<<"$output"
    expect 0 "$plimsoll" report $started
    shows "pid $started" "running" "live  " "keep_block" "what is live"
    [[ $output != *"ever freed"* ]]
    kill $started
    wait $started || true
}

@test "a profile that its process moves away while ls looks at it is no error" {
    command -v strace >/dev/null || skip "no strace"
    LD_PRELOAD=$library start "$(program cli-leaky)" 10000 60
    path=$(echo "$work/live/"*.plim)
    expect 0 strace -f -qq -o trace -P "$path" -e trace=openat -e inject=openat:error=ENOENT:when=2+ "$plimsoll" ls
    grep -q INJECTED trace
    [[ $stderr != *"cannot open"* ]]
    kill $started
    wait $started || true
}

@test "reports of a running process follow its live bytes" {
    cat >steps.py <<'P'
import sys
kept = []
for line in sys.stdin:
    kept.append(bytearray(int(line)))
    print("up", flush=True)
P
    mkfifo in out
    "$plimsoll" run -q -s 4K -- python3 steps.py <in >out &
    exec 7>in 8<out
    echo 10000000 >&7; read -r _ <&8
    child=$(pgrep -P $!)
    before=$("$plimsoll" export --no-symbols "$child" | jq '.totals.inuse_space.value')
    echo 20000000 >&7; read -r _ <&8
    after=$("$plimsoll" export --no-symbols "$child" | jq '.totals.inuse_space.value')
    exec 7>&- 8<&-
    wait
    python3 -c "assert 19e6 < $after - $before < 21e6"
}

@test "the profile of a killed process is listed as ended and found by its pid" {
    LD_PRELOAD=$library PLIMSOLL_SAMPLE=16K start "$(program cli-leaky)" 10000 60
    kill -9 $started
    wait $started || true
    expect 0 "$plimsoll" ls
    file=$(awk "\$1 == $started && \$3 == \"ended\" { print \$NF }" <<<"$output")
    [ -e "$file" ]
    says "to read the profile of an ended process: "
    expect 0 "$plimsoll" report $started
    shows "live when it ended" keep_block
    expect 0 "$plimsoll" report "$file"
    rm "$file"
}

@test "a forked child that has recorded nothing is not taken for its parent" {
    LD_PRELOAD=$library start bash -c 'echo up; sleep 60 & wait'
    await pgrep -P "$started" >/dev/null
    expect 0 "$plimsoll" ls --no-header
    [ "$(awk "\$1 == $started" <<<"$output" | wc -l)" -eq 1 ]
    pkill -P $started
    wait $started || true
}

# is_read_below_its_own_root: ls and report find the profile of $started in its /mnt, and then it is killed
is_read_below_its_own_root() {
    expect 0 "$plimsoll" ls --no-header
    grep -E "^ *$started +cli-leaky 10000 60 +running .*/proc/$started/root/mnt/" <<<"$output"
    expect 0 "$plimsoll" report $started
    shows keep_block
    kill -9 $started
    wait $started || true
}

@test "a process in a chroot of another mount namespace is read below its own root" {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    mkdir inner
    LD_PRELOAD=$library PLIMSOLL_SAMPLE=16K PLIMSOLL_LIVE_DIR=/mnt \
        start unshare -m bash -c "mount --rbind / inner && mount -t tmpfs none inner/mnt &&
            exec chroot inner $(program cli-leaky) 10000 60"
    is_read_below_its_own_root
}

@test "a process in another mount namespace is read in its own view of the file system" {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    mkdir inner
    LD_PRELOAD=$library PLIMSOLL_SAMPLE=16K PLIMSOLL_LIVE_DIR=/mnt \
        start unshare -m bash -c "mount -t tmpfs none /mnt && exec $(program cli-leaky) 10000 60"
    is_read_below_its_own_root
}

@test "when nothing is profiled, ls says how to start" {
    unshare -mpf --mount-proc true 2>/dev/null || skip "no namespaces here"
    run -0 unshare -mpf --mount-proc bash -c 'mount -t tmpfs none /dev/shm && exec env -u XDG_RUNTIME_DIR "$0" ls' "$plimsoll"
    [ "$output" = "plimsoll: no process is being profiled; to start one: plimsoll run -- PROGRAM" ]
}

@test "ls prints messages to stderr and its table to stdout" {
    LD_PRELOAD=$library start "$(program cli-leaky)" 100 60
    expect 0 "$plimsoll" ls
    grep -E "^ *$started +cli-leaky [0-9]+ 60 +running " <<<"$output"
    [[ $output != *plimsoll:* ]]
    says "plimsoll: "
    kill $started
    wait $started || true
}

@test "profiles in an older format are reported in one line" {
    forge leak
    printf '\1' | dd of=leak.plim bs=1 seek=8 conv=notrunc status=none
    cp leak.plim live/left.1.plim
    cp leak.plim live/left.2.plim
    expect 0 "$plimsoll" ls --no-header --all
    [ "$(grep -c "in an older format" <<<"$stderr")" -eq 1 ]
    [[ $stderr != *left.1.plim* && $output != *left.1.plim* ]]
}

@test "ls lists the ten newest profiles of ended processes, and --all lists the rest" {
    forge leak
    for i in $(seq 12); do
        cp leak.plim "live/left.$i.plim"
    done
    expect 0 "$plimsoll" ls --no-header
    [ "$(grep -c ' ended ' <<<"$output")" -eq 10 ] # not only ours: other processes may have left profiles too
    says "older ones are not shown; to list all: plimsoll ls --all"
    expect 0 "$plimsoll" ls --no-header --all
    [ "$(grep -c 'live/left\.[0-9]*\.plim$' <<<"$output")" -eq 12 ]
    [[ $stderr != *--all* ]]
}

# With a /dev/shm of its own: that of the machine may have profiles of others.
clean() {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    expect 0 unshare -m env -u XDG_RUNTIME_DIR sh -c 'mount -t tmpfs none /dev/shm && exec "$@"' sh "$plimsoll" ls --clean
}

@test "ls shows the title that a process has set" {
    cat >title.py <<'P'
import ctypes, sys, time
kept = [str(i) for i in range(1000)]
libc = ctypes.CDLL(None)
text = b"worker: batch 7 of 9"
data = ctypes.create_string_buffer(text)
start = ctypes.addressof(data)
# PR_SET_MM_ARG_START and _END need a privilege; without it the arguments are overwritten in place
argv = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
first = int(argv[45])
room = int(argv[46]) - first
ctypes.memset(first, 0, room)
ctypes.memmove(first, text, min(len(text), room - 1))
print("up", flush=True)
time.sleep(60)
P
    LD_PRELOAD=$library start python3 title.py -- some arguments whose room the title can take
    expect 0 "$plimsoll" ls --no-header
    grep -E "^ *$started +worker: batch 7 of 9 +running " <<<"$output"
    kill $started
    wait $started || true
}

@test "ls does not advise to remove a profile that a running run will collect" {
    start "$plimsoll" run -q -o kept.plim -- sh -c "'$(program cli-leaky)' 10000 0; echo up; exec sleep 60"
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    expect 0 unshare -m env -u XDG_RUNTIME_DIR sh -c 'mount -t tmpfs none /dev/shm && exec "$@"' sh "$plimsoll" ls
    grep -E "cli-leaky +collecting " <<<"$output"
    says "will collect the profiles of its ended processes"
    [[ $stderr != *--clean* ]]
    pkill -P $started
    wait $started || true
}

@test "ls --clean removes the profiles of ended processes, and no other file" {
    mkdir -p shm
    export PLIMSOLL_LIVE_DIR=$PWD/shm
    LD_PRELOAD=$library start "$(program cli-leaky)" 10 60
    kill -9 $started
    wait $started || true
    left=$(echo shm/*.plim)
    LD_PRELOAD=$library start "$(program cli-leaky)" 10 60
    running=$started
    start "$plimsoll" run -q --keep-all -o kept.plim -- sh -c "'$(program cli-leaky)' 10 0; echo up; exec sleep 60"
    run=$started
    echo text >shm/other.plim
    clean
    says "removed 1 profile of ended processes: "
    [ ! -e "$left" ] && [ -n "$(find shm -maxdepth 1 -name "*.$running.*")" ]
    clean
    says "none of your ended processes has left a profile"
    kill -9 $running
    pkill -P $run
    wait $run || true
    [ -f kept.plim ] && [ -f shm/other.plim ]
}

@test "ls --clean removes the directory of a run that was killed" {
    mkdir -p shm
    export PLIMSOLL_LIVE_DIR=$PWD/shm
    start "$plimsoll" run -q --live-dir shm -- "$(program cli-leaky)" 10 60
    child=$(pgrep -P $started)
    kill -9 $started $child
    wait $started || true
    await sh -c "! kill -0 $child 2>/dev/null"
    [ -n "$(ls shm)" ]
    clean
    says "removed 1 profile"
    [ -z "$(ls -A shm)" ]
}
