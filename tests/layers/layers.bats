# SPDX-License-Identifier: MIT
# Rules of the tree: which layer may know which, what the runtime needs and exports, and what it costs.

here=$PLIMSOLL_SOURCE/tests/layers

look() {
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/$1.py" "${@:2}"
}

@test "each layer reads only the headers of the layers below it" {
    look includes layers
}

@test "the core includes system headers only for types and constants" {
    look includes system
}

@test "the core calls nothing but the loader and its front end" {
    look objects calls
}

@test "the runtime exports exactly what its map lists" {
    look objects exports
}

@test "the runtime needs nothing but libc and the loader" {
    look objects needed
}

@test "the runtime's thread-local storage is under 128 bytes" {
    look objects tls
}

@test "the cold path uses at most 1 KiB of stack" {
    look stack
}

@test "malloc takes at most 8 and free at most 6 instructions when nothing is sampled" {
    "$PLIMSOLL_SOURCE/tools/hot" "$PLIMSOLL_BUILD/libplimsoll.so"
}

@test "the hooks for the objects of Python take at most 6 to 13 instructions when nothing is sampled" {
    test "$(uname -m)" = x86_64 || skip "budgets are known for x86_64"
    "$PLIMSOLL_SOURCE/tools/hot" --python "$PLIMSOLL_BUILD/libplimsoll.so"
}

@test "one instruction too many, or a call, on the unsampled path is detected" {
    cat >"$BATS_TEST_TMPDIR/slow.c" <<'END'
__thread long calls __attribute__((tls_model("initial-exec")));
void *(*next_malloc)(unsigned long);
void (*next_free)(void *);
void note(void *);
void *malloc(unsigned long n) { calls += n; calls ^= n; calls *= n; calls += 7; calls ^= 99; return next_malloc(n); }
void free(void *p) { note(p); next_free(p); }
END
    gcc -O2 -fPIC -shared -fno-builtin -o "$BATS_TEST_TMPDIR/slow.so" "$BATS_TEST_TMPDIR/slow.c"
    run "$PLIMSOLL_SOURCE/tools/hot" "$BATS_TEST_TMPDIR/slow.so"
    [ "$status" -ne 0 ]
    [[ "$output" =~ "malloc: "[0-9]{2}" instructions" ]]
    [[ "$output" =~ "free: no path" ]]
}

# stand_in DIRECTORY [SOURCE]: imitates a glibc. With SOURCE, which defines malloc and free, it leaves a profile.
stand_in() {
    mkdir -p "$1/lib"
    printf '%s\n' 'release 2.36' 'package glibc-source' >"$1/SOURCE"
    ln -s "$(ldconfig -p | sed -n 's/.*libc\.so\.6 (.*x86-64.*=> //p' | head -1)" "$1/lib/libc.so.6"
    ln -s /lib64/ld-linux-x86-64.so.2 "$1/lib/ld-linux-x86-64.so.2"
    [ -n "${2:-}" ] || return 0
    gcc -O2 -fPIC -shared -fno-builtin -o "$1/lib/hooks.so" -x c - <<<"#include <dlfcn.h>
        void *(*next_malloc)(unsigned long);
        void (*next_free)(void *);
        __attribute__((constructor)) static void find(void)
        {
            next_malloc = dlsym(RTLD_NEXT, \"malloc\");
            next_free = dlsym(RTLD_NEXT, \"free\");
        }
        unsigned long volatile calls;
        $2"
    rm "$1/lib/ld-linux-x86-64.so.2"
    printf '%s\n' '#!/bin/sh' ': >"$GLIBC_MALLOC_PROFILE_OUT.1.plim"' \
        "LD_PRELOAD='$1/lib/hooks.so' exec /lib64/ld-linux-x86-64.so.2 \"\$@\"" >"$1/lib/ld-linux-x86-64.so.2"
    chmod +x "$1/lib/ld-linux-x86-64.so.2"
}

@test "the additional instructions of a glibc's malloc and free are counted, and too many are detected" {
    cd "$BATS_TEST_TMPDIR"
    hot="$PLIMSOLL_SOURCE/tools/hot --build $PLIMSOLL_BUILD"
    free='void free(void *p) { next_free(p); }'
    stand_in "$PWD/glibc-plain"
    stand_in "$PWD/good" "void *malloc(unsigned long n) { return next_malloc(n); } $free"
    stand_in "$PWD/slow" "void *malloc(unsigned long n) { calls++; calls++; calls++; return next_malloc(n); } $free"

    run $hot --glibc good --glibc-plain glibc-plain
    [ "$status" -eq 0 ]
    [[ "$output" =~ "without the profiler: +"[1-4]" (at most +4)" ]]
    [[ "$output" =~ "+   1" ]]

    run $hot --glibc slow --glibc-plain glibc-plain
    [ "$status" -ne 0 ]
    [[ "$output" =~ "over budget" ]]

    run $hot --glibc glibc-plain --glibc-plain glibc-plain
    [ "$status" -ne 0 ]
    [[ "$output" =~ "has no profiler in it" ]]

    run $hot --glibc good --glibc-plain slow
    [ "$status" -ne 0 ]
    [[ "$output" =~ "slow should be without the profiler" ]]

    echo 'flags -O3' >>glibc-plain/SOURCE
    run $hot --glibc good --glibc-plain glibc-plain
    [ "$status" -ne 0 ]
    [[ "$output" =~ "cannot be compared: flags None, -O3" ]]

    run $hot --glibc nowhere
    [ "$status" -ne 0 ]
    [[ "$output" =~ "nowhere has no glibc" ]]
}

@test "every function that ARCHITECTURE.md names exists" {
    look docs functions
}

@test "every command that the documents show works" {
    look docs commands
}

@test "make install installs everything, and it works from there" {
    DESTDIR=$BATS_TEST_TMPDIR meson install --no-rebuild --quiet -C "$PLIMSOLL_BUILD"
    prefix=$(meson introspect --buildoptions "$PLIMSOLL_BUILD" | jq -r '.[] | select(.name == "prefix").value')
    installed=$BATS_TEST_TMPDIR$prefix
    [ -x "$installed/bin/plimsoll" ]
    [ -f "$installed/lib/plimsoll/libplimsoll.so" ]
    cd "$BATS_TEST_TMPDIR"
    "$installed/bin/plimsoll" run -o out.plim -- /usr/bin/python3 -c 'kept = [bytes(1000) for _ in range(20000)]'
    "$installed/bin/plimsoll" report out.plim | grep -q python3
}

@test "no program of a test or a benchmark is built by default" {
    look targets default
}

@test "make builds exactly the default targets" {
    look targets product
}

@test "every test script depends on the command and the runtimes" {
    look targets depends
}

@test "the last line of make check counts test cases and loses no failure" {
    look counting
}
