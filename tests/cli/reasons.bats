# SPDX-License-Identifier: MIT
# The messages that explain why nothing, or little, was recorded, and what to do about it.

load support

hello='int main(void) { return 0; }'

@test "a static program is reported once, before it runs" {
    cc -static -o static -x c - <<<"$hello" 2>/dev/null || skip "no static libc"
    expect 0 "$plimsoll" run -- ./static
    [ "${stderr_lines[0]}" = 'plimsoll: ./static is statically linked, so it cannot be preloaded; link the profiler in, with pkg-config --libs plimsoll-static; see `plimsoll help static`' ]
    says "nothing was recorded; see the message at the start"
    [ "$(grep -c "statically linked" <<<"$stderr")" -eq 1 ]
    [ -z "$(ls ./*.plim 2>/dev/null)" ]
    [ -z "$(ls -A live)" ]
}

@test "a static position-independent program is reported as static" {
    cc -static-pie -o static -x c - <<<"$hello" 2>/dev/null || skip "no static libc"
    expect 0 "$plimsoll" run -- ./static
    says "is statically linked"
}

@test "the loader is not reported as a static program" {
    loader=$(readelf -l /bin/true | sed -n 's/.*interpreter: \(.*\)]/\1/p')
    expect 0 "$plimsoll" run -- "$loader" /bin/true
    [[ $stderr != *static* ]]
}

@test "a setuid program is reported" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to make one"
    setpriv --reuid=65534 true 2>/dev/null || skip "cannot change user here"
    setpriv --reuid=65534 --clear-groups test -r "$library" || skip "nobody else may read this tree"
    cp /bin/true suid
    chown 1 suid
    chmod 4755 suid
    chmod 777 . live
    expect 0 setpriv --reuid=65534 --clear-groups "$plimsoll" run -- ./suid
    says "./suid is setuid, setgid or has file capabilities, so the loader ignores LD_PRELOAD"
}

@test "a setuid program is not reported to its owner" {
    cp /bin/true suid
    chmod 4755 suid
    expect 0 "$plimsoll" run -- ./suid
    [[ $stderr != *setuid* ]]
}

# Its free() is one instruction, too short for a jump.
@test "a program whose own malloc cannot be hooked is recognised" {
    cp "$(program cli-own-malloc)" own
    expect 0 "$plimsoll" run -- ./own
    says "the program's malloc is that of ./own, which does not call Plimsoll's: its allocations were not seen"
    [ "$output" = done ]
}

@test "a program that hides its own malloc, which cannot be hooked, is recognised" {
    cp "$(program cli-own-malloc-hidden)" own
    expect 0 "$plimsoll" run -- ./own
    says "./own has an allocator linked in, which Plimsoll could not hook"
}

allocating='#include <stdlib.h>
int main(void) { for (int i = 0; i < 1000; i++) free(malloc(100)); void *volatile kept = malloc(10); free(kept); }'

# sanitized COMPILER OPTION...: builds ./sanitized, and checks that it runs at all on this machine
sanitized() {
    "$@" -O0 -o sanitized -x c - <<<"$allocating" 2>/dev/null || skip "cannot build with $*"
    ./sanitized || skip "$* does not work here"
}

@test "programs with a sanitizer as a shared library start, and are recorded" {
    for sanitizer in address thread leak; do
        sanitized gcc "-fsanitize=$sanitizer"
        expect 0 "$plimsoll" run --exact -o "$sanitizer.plim" -- ./sanitized
        says "never freed"
        [[ $stderr != *Sanitizer* ]]
        [ "$(plimsoll export --format json "$sanitizer.plim" | python3 -c '
import json, sys; print(sum(t["calls"] for t in json.load(sys.stdin)["threads"]) >= 1001)')" = True ]
    done
}

@test "the options of AddressSanitizer that the user has set stay" {
    sanitized gcc -fsanitize=address
    cat >print.c <<<'#include <stdio.h>
#include <stdlib.h>
int main(void) { puts(getenv("ASAN_OPTIONS")); return 0; }'
    gcc -fsanitize=address -o print print.c
    ASAN_OPTIONS=detect_leaks=0 expect 0 "$plimsoll" run -- ./print
    [ "$output" = detect_leaks=0:verify_asan_link_order=0 ]
    unset ASAN_OPTIONS # newer Mesons set it
    expect 0 "$plimsoll" run -- ./print
    [ "$output" = verify_asan_link_order=0 ]
}

@test "a program with a sanitizer linked in is recognised" {
    for sanitizer in address thread memory leak; do
        sanitized clang "-fsanitize=$sanitizer"
        expect 0 "$plimsoll" run -- ./sanitized
        says "./sanitized has a sanitizer linked in (-fsanitize), and Plimsoll does not see calls of its malloc; build it without"
    done
}

@test "allocations of a module loaded with RTLD_DEEPBIND are not called exact" {
    cc -shared -fPIC -O0 -o plugin.so -x c - <<<'#include <stdlib.h>
void work(void) { for (int i = 0; i < 1000; i++) free(malloc(100)); }'
    cc -O0 -o opener -x c - <<<'#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(void) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_DEEPBIND);
    ((void (*)(void)) dlsym(plugin, "work"))();
    free(malloc(10));
}'
    expect 0 "$plimsoll" run --exact -o deep.plim -- ./opener
    says "exact for the allocations that Plimsoll saw: " "./plugin.so was loaded with RTLD_DEEPBIND or by dlmopen, so it does not use the program's malloc: its allocations were not seen"
    COLUMNS=200 expect 0 "$plimsoll" report deep.plim
    [[ ${lines[1]} == "exact for "*" allocations; others were not seen"* ]]
    [[ ${lines[2]} == "./plugin.so was loaded with RTLD_DEEPBIND"* ]]
}

@test "an allocator that comes before libplimsoll.so is named" {
    jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc.so.2 .*=> //p' | head -1)
    [ -n "$jemalloc" ] || skip "no jemalloc"
    cc -O0 -o allocating -x c - <<<"$allocating"
    LD_PRELOAD="$jemalloc:$library" PLIMSOLL_SAMPLE=exact PLIMSOLL_OUT=$PWD/behind.plim expect 0 ./allocating
    COLUMNS=200 expect 0 "$plimsoll" report behind.plim
    [[ ${lines[1]} == "no allocation was seen"* ]]
    [[ ${lines[2]} == "the program's malloc is that of $jemalloc, which does not call Plimsoll's: its allocations were not seen" ]]
    shows "allocated    not known: no allocation was seen" "never freed  not known: no allocation was seen"
    LD_PRELOAD="$jemalloc:$library" expect 0 "$plimsoll" run --exact -- ./allocating
    says "exact: 1,0"
}

own='#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
void *je_malloc(size_t n) { return mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void) { memset(je_malloc(64 << 20), 1, 64 << 20); free(malloc(5000)); return 0; }'

@test "an allocator that is linked in under names of its own is recognised, also behind a script" {
    cc -O0 -o own -x c - <<<"$own"
    printf '#!/bin/sh\nexec ./own\n' >wrapper
    chmod +x wrapper
    for command in ./own ./wrapper; do
        expect 0 "$plimsoll" run -- "$command"
        says "own has an allocator linked in, which Plimsoll could not hook: je_malloc; build it so that it calls malloc"
    done
}

@test "a profile of a program with an allocator linked in is nowhere called complete" {
    cc -O0 -o own -x c - <<<"${own//64 << 20/1 << 20}"
    printf '#!/bin/sh\nexec ./own\n' >wrapper
    chmod +x wrapper
    for command in ./own ./wrapper; do
        expect 0 "$plimsoll" run --exact -o "$command.plim" -- "$command"
        says "exact for the allocations that Plimsoll saw: " "heap seen 4.9 KiB, RSS " "allocations of this program were probably not seen"
        COLUMNS=200 expect 0 "$plimsoll" report "$command.plim"
        [[ ${lines[1]} == "exact for "*"; others may not have been seen"* ]]
        [[ ${lines[2]} == *"own has an allocator linked in: allocations that go directly to it were not seen" ]]
        shows " 1. heap seen 4.9 KiB, RSS " "build it so that it calls malloc"
        "$plimsoll" export --format json "$command.plim" >out.json
        jq -e '.advice[0] | .kind == "outside" and (.headline | startswith("heap seen 4.9 KiB, RSS ")) and (.evidence | contains("own has an allocator linked in"))' out.json
    done
}

@test "blocks that there is no memory to follow are said to be missing from live figures" {
    cc -O0 -o limited -x c - <<<'#include <stdlib.h>
#include <sys/resource.h>
int main(void) {
    free(malloc(10));
    setrlimit(RLIMIT_AS, &(struct rlimit){64 << 20, 64 << 20});
    for (int i = 0; i < 50000; i++)
        if (!malloc(1000))
            return 1;
    return 0;
}'
    expect 0 "$plimsoll" run --exact -o limited.plim -- ./limited
    [[ $stderr =~ "exact, but for "[0-9,]+" blocks that count as freed at once (no memory to follow them): 50,00" ]]
    [[ $stderr =~ "; peak at least "[0-9.]+" "[KM]"iB; at least "[0-9.]+" "[KM]"iB never freed" ]]
    COLUMNS=200 expect 0 "$plimsoll" report limited.plim
    [[ ${lines[1]} =~ ^"exact, but for "[0-9,]+" blocks that count as freed at once (no memory to follow them)" ]]
    shows "peak " "at least"
    shows "never freed  at least"
}

@test "memory that does not come from malloc is on the first screen" {
    cc -O0 -o own -x c - <<<"$own"
    strip own
    expect 0 "$plimsoll" run --exact -o own.plim -- ./own
    [[ $stderr == *"heap 4.9 KiB, RSS 6"*" MiB: most of this program's memory does not come from malloc"* ]]
    COLUMNS=200 expect 0 "$plimsoll" report own.plim
    shows "heap mappings, not included: at most 64.0 MiB mapped at a time, 64.0 MiB at the end, resident or not"
    shows " 1. heap 4.9 KiB, RSS 6" "most of this program's memory does not come from malloc"
    [[ $output == *"report --heap mappings own.plim shows the code that maps memory"* ]]
    [[ $output == *"when the heap was largest"* && $output != *"begin here"* ]]
    expect 0 "$plimsoll" report --advice --heap mappings own.plim
    COLUMNS=200 expect 0 "$plimsoll" report --heap mappings own.plim
    shows "addresses that the program maps" "resident or not"
    [[ $output == *"held 64.0 MiB"* && $output != *"begin here"* ]]
    expect 0 "$plimsoll" run -q --exact --no-mappings -o own.plim -- ./own
    COLUMNS=200 expect 0 "$plimsoll" report own.plim
    shows " 1. heap 4.9 KiB, RSS 6" "plimsoll report --memory PID shows what RSS consists of"
    expect 3 "$plimsoll" run --exact -- "$(program cli-leaky)"
    [[ $stderr != *"come from malloc"* ]]
}

@test "what a function leaves behind does not hide that it held nearly all of the peak" {
    cc -O0 -o bulk -x c - <<'C'
#include <stdlib.h>
static void *block[2048];
__attribute__((noinline)) static void handle(size_t bytes, int blocks)
{
    for (int i = 0; i < blocks; i++)
        block[i] = malloc(bytes);
}
int main(void)
{
    handle(1000, 600);
    handle(4096, 2048);
    for (int i = 0; i < 2048; i++)
        free(block[i]);
    return 0;
}
C
    expect 0 "$plimsoll" run -q --exact -o bulk.plim -- ./bulk
    COLUMNS=200 expect 0 "$plimsoll" report bulk.plim
    shows " 1. handle (bulk) held 8.6 MiB when the heap was largest: 100.0% of the peak" "to lower the peak, begin here"
    shows " 2. handle (bulk) held 586 KiB: 100.0% of what was never freed"
}

large='#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int count, char **words)
{
    static char *block;
    if (!strcmp(words[1], "shared"))
        memset(mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 64 << 20);
    block = malloc(64 << 20);
    if (strcmp(words[1], "untouched"))
        memset(block, 1, 64 << 20);
    return count != 2;
}'

@test "a heap that the program did not see is not said to come from elsewhere than malloc" {
    jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc.so.2 .*=> //p' | head -1)
    [ -n "$jemalloc" ] || skip "no jemalloc"
    cc -O0 -o large -x c - <<<"$large"
    expect 0 env LD_PRELOAD="$jemalloc:$library" PLIMSOLL_SAMPLE=exact PLIMSOLL_OUT="$PWD/unseen.plim" ./large touched
    COLUMNS=200 expect 0 "$plimsoll" report unseen.plim
    shows " 1. heap seen 0 B, RSS " ": most of this program's memory was not seen: its malloc does not call Plimsoll's"
    [[ $output != *"does not come from malloc"* ]]
}

@test "a process whose malloc was not seen is named, even if a script started it" {
    printf '#!/bin/sh\n%s\nexit 0\n' "$(program cli-own-malloc)" >wrapper # no exec: the shell stays
    chmod +x wrapper
    expect 0 "$plimsoll" run -o out.plim -- ./wrapper
    grep -E "^plimsoll: cli-own-malloc [0-9]+: the program's malloc is that of .*, which does not call Plimsoll's" <<<"$stderr"
    grep -E "^plimsoll:   cli-own-malloc [0-9]+: allocations not seen: out.plim.[0-9]+" <<<"$stderr"
    [[ $stderr != *"little to show"* ]]
}

@test "the first screen says how much of RSS is files and shared memory, and when the heap was larger than RSS" {
    cc -O0 -o large -x c - <<<"$large"
    unset MALLOC_PERTURB_ # with it, malloc writes to every block
    for how in shared touched untouched; do
        expect 0 "$plimsoll" run -q --exact -o $how.plim -- ./large $how
        COLUMNS=200 "$plimsoll" report $how.plim >$how
    done
    grep -E "RSS +1[0-9]{2} MiB, 6[0-9.]+ MiB of it files and shared memory" shared
    grep "peak +64.0 MiB in .*; more than RSS: part of it was not resident" -E untouched
    fails grep -E "of it files|more than RSS" touched
}

@test "a program that the kernel killed for lack of memory is not said to be killed by a signal" {
    unshare -m true 2>/dev/null || skip "no mount namespace here"
    grep -q ^0:: /proc/self/cgroup || skip "no cgroup of version 2"
    [ -d /sys/fs/cgroup ] || skip "no /sys/fs/cgroup here"
    mkdir cgroup
    echo 419430400 >cgroup/memory.max
    echo oom_kill 0 >cgroup/memory.events
    cat >inside <<'S'
mount --bind cgroup /sys/fs/cgroup && exec plimsoll run -o oom.plim -- sh -c 'echo oom_kill 1 >cgroup/memory.events; kill -9 $$'
S
    expect 137 unshare -m sh inside
    [[ $stderr == *"sh was killed, probably out of memory (OOM killer): cgroup limit 400 MiB, RSS at most "* ]]
    expect 0 "$plimsoll" report oom.plim
    shows "killed, probably out of memory"
}

# A cgroup with a limit on memory can be made in `cgroups`, by writing to the file `limit`; otherwise skips the test.
# Not from within `run`, which would take the skip for a success.
need_limited() {
    cgroups=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    [ -e $cgroups ] || cgroups=/sys/fs/cgroup limit=memory.max
    group=$cgroups/plimsoll-test.$$
    mkdir "$group" 2>/dev/null && [ -e "$group/$limit" ] && return
    rmdir "$group" 2>/dev/null || true
    skip "no cgroup with a memory limit can be made here"
}

# limited BYTES COMMAND...: runs COMMAND in a cgroup with this memory limit, after need_limited
limited() {
    local status=0
    echo "$1" >"$group/$limit"
    if [ "$limit" = memory.max ]; then
        echo 0 >"$group/memory.swap.max" || true
        echo "${oom_group:-0}" >"$group/memory.oom.group"
    fi
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "${@:2}" 2>said || status=$?
    await rmdir "$group"
    return $status
}

@test "the OOM killer is called by its name, with the limit and the usage, and the profile is complete" {
    need_limited
    run -137 limited 67108864 "$plimsoll" run -o oom.plim -- perl -e 'push @x, "x" x 1048576 while 1'
    grep -E "perl was killed, probably out of memory \(OOM killer\): cgroup limit 64.0 MiB, usage at most 6[34][.0-9]* MiB, RSS at most [0-9.]+ MiB" said
    expect 0 "$plimsoll" report oom.plim
    shows "killed, probably out of memory" "live when it ended"
}

@test "when the kernel kills run together with the program, the profile is on the disk" {
    unset PLIMSOLL_LIVE_DIR
    export container=test
    need_limited
    oom_group=1 run limited 67108864 "$plimsoll" run -o oom.plim -- \
        perl -e 'push @x, "x" x 1024 for 1 .. 20000; kill 9, getppid(), $$' # what memory.oom.group does
    [ "$status" -eq 137 ]
    file=$(echo plimsoll-run.*/plimsoll.perl.*.plim)
    expect 0 "$plimsoll" report "$file"
    shows "ended, exit status unknown" "live when it ended"
    expect 0 "$plimsoll" ls --no-header --all
    shows "$file"
}

@test "in a container live profiles are on the disk of their destination, and run says so" {
    unset PLIMSOLL_LIVE_DIR
    unshare -m true 2>/dev/null || skip "no mount namespace here"
    mkdir out
    expect 0 unshare -m sh -c 'mount -t tmpfs -o size=64m none /dev/shm && plimsoll run -o out/app.plim -- sh -c "ls out; ls -A /dev/shm" && ls -A /dev/shm'
    [[ $output == plimsoll-run.* && ${#lines[@]} -eq 1 ]]
    says "live profiles are in $PWD/out/plimsoll-run." ", because " "; --live-dir chooses another place"
    [ -s out/app.plim ] && [[ $(ls out) != *plimsoll-run* ]]
    # Without `run`, the profile is where it belongs from the start, and a kill -9 leaves it there.
    LD_PRELOAD=$library PLIMSOLL_OUT=out/alone.plim container=test sh -c 'kill -9 $$' || true
    expect 0 "$plimsoll" report out/alone.plim
    # A destination that cannot be written to: better in /dev/shm than nowhere.
    LD_PRELOAD=$library PLIMSOLL_OUT=/proc/nowhere.plim container=test sh -c 'echo $$ >pid; kill -9 $$' || true
    rm "/dev/shm/plimsoll.sh.$(cat pid).plim"
}

@test "a program for another libc is recognised by its loader" {
    cc -o other -x c - <<<"$hello" -Wl,--dynamic-linker=/lib/ld-uClibc.so.1
    run -127 "$plimsoll" run -- ./other
    [[ $output == *"./other uses a C library other than glibc and musl (its loader is neither's)"* ]]
}

@test "a 32-bit program is recognised" {
    python3 - <<'P'
import struct
header = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 40, 0, 0)
segment = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 200, 200, 5, 4096)
code = b"\x31\xc0\x40\x31\xdb\xcd\x80"
open("small", "wb").write(header + segment + code + bytes(100))
P
    chmod +x small
    run "$plimsoll" run -- ./small
    [[ $output == *"./small is a 32-bit program, and libplimsoll.so is 64-bit"* ]]
}

@test "a program for another machine is recognised" {
    cp /bin/true foreign
    printf '\xf3\x00' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
    run "$plimsoll" run -- ./foreign
    [[ $output == *"./foreign is built for another machine"* ]]
}

@test "a script is judged by its interpreter" {
    cc -static -o interpreter -x c - <<<"$hello" 2>/dev/null || skip "no static libc"
    printf '#!%s/interpreter\n' "$PWD" >script
    chmod +x script
    expect 0 "$plimsoll" run -- ./script
    says "$PWD/interpreter is statically linked"
    printf '#!/usr/bin/env perl\n' >script
    expect 0 "$plimsoll" run -s 1G -- ./script
    [[ $stderr != *because* ]]
    says "wrote plimsoll.perl."
}

@test "when --only matches no process, the message names the program" {
    expect 0 "$plimsoll" run --only nobody -- true
    says "nothing was recorded, because no process was called nobody (--only); the program itself is called true"
}

@test "a cleared environment is suspected when exec loses the profiler" {
    expect 3 "$plimsoll" run -s 16K -- env -i "$(program cli-leaky)"
    says "env became another program (exec) in which nothing was recorded" "its environment was cleared" "ASAN_OPTIONS=verify_asan_link_order=0"
}

@test "a program too small for a sample gets the reason and the next step" {
    expect 3 "$plimsoll" run -s 1G -- "$(program cli-leaky)" 10
    says "no sample was taken, so it is unknown what was never freed" "to count every allocation: plimsoll run --exact -- ..."
}

@test "the summary says when a program allocates nothing" {
    expect 0 "$plimsoll" run -- true
    says "no allocation was made"
}

@test "without a directory for live files the program runs unprofiled, with a message" {
    PLIMSOLL_LIVE_DIR=/proc expect 0 "$plimsoll" run -- echo ran
    [ "$output" = ran ]
    says "cannot make a directory for live profiles in /proc"
}
