# SPDX-License-Identifier: MIT
# What the tree promises about itself: who knows whom, what the runtime asks for and offers, and what it costs.

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

@test "the core calls nothing but the loader" {
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

@test "malloc takes at most 8 and free at most 7 instructions when nothing is sampled" {
    "$PLIMSOLL_SOURCE/tools/hot" "$PLIMSOLL_BUILD/libplimsoll.so"
}

@test "an instruction too many, or a call, on the unsampled path is noticed" {
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

@test "every function that ARCHITECTURE.md names exists" {
    look docs functions
}

@test "every command that the documents show works" {
    look docs commands
}

@test "make install puts everything in its place, and it works from there" {
    DESTDIR=$BATS_TEST_TMPDIR meson install --no-rebuild --quiet -C "$PLIMSOLL_BUILD"
    prefix=$(meson introspect --buildoptions "$PLIMSOLL_BUILD" | jq -r '.[] | select(.name == "prefix").value')
    installed=$BATS_TEST_TMPDIR$prefix
    [ -x "$installed/bin/plimsoll" ]
    [ -f "$installed/lib/plimsoll/libplimsoll.so" ]
    cd "$BATS_TEST_TMPDIR"
    "$installed/bin/plimsoll" run -o out.plim -- /usr/bin/python3 -c 'kept = [bytes(1000) for _ in range(20000)]'
    "$installed/bin/plimsoll" report out.plim | grep -q python3
}

@test "the closing line of make check counts test cases and loses no failure" {
    look counting
}
