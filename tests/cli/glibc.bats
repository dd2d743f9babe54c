# SPDX-License-Identifier: MIT
# run --glibc and --glibc-tree, as far as they can be tested without a glibc that has the profiler inside: how it is
# found, how programs are run with it, and the messages when that fails. The glibc here is the system's own, disguised.

load support

setup_file() {
    python3 "$PLIMSOLL_SOURCE/tests/cli/fake_glibc.py" "$BATS_FILE_TMPDIR/glibc"
    cc -o "$BATS_FILE_TMPDIR/arguments" -x c - <<<'#include <stdio.h>
        int main(int count, char **word) { for (int i = 0; i < count; i++) printf("<%s>", word[i]); puts(""); }'
}

# The system's libc.
libc=$(ldd /bin/true | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')

# Runs a program with the disguised glibc.
inside() {
    "$plimsoll" run --glibc -q --glibc-dir "$BATS_FILE_TMPDIR/glibc" -- "$@"
}

tree() {
    "$plimsoll" run --glibc-tree -q --glibc-dir "$BATS_FILE_TMPDIR/glibc" -- "$@"
}

# same COMMAND...: it prints the same and succeeds, run by our loader and run alone
same() {
    expect 0 "$@"
    local plain=$output
    expect 0 inside "$@"
    [ "$output" = "$plain" ] || { printf 'with our loader: %s\nalone: %s\n' "$output" "$plain"; return 1; }
}

make_script() { # FILE LINE
    printf '%s\n' "$2" >"$1"
    chmod +x "$1"
}

# Changes to a directory that other users may read, with the glibc in it. `nobody COMMAND...` acts as another user.
go_public() {
    [ "$(id -u)" -eq 0 ] || skip "needs root to change user"
    public=$(mktemp -d)
    chmod 777 "$public"
    cp -r "$BATS_FILE_TMPDIR/glibc" "$public"
    cd "$public"
    export PLIMSOLL_LIVE_DIR=$public
    nobody test -r "$public/glibc/SOURCE" -a -x "$executable" || skip "other users cannot read this directory"
}

nobody() {
    setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

teardown() {
    rm -rf "${public:-}"
}

can_enclose() {
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
}

# --- how the glibc is found ---

@test "without a glibc the message gives the next step" {
    stray plimsoll
    expect 1 ./plimsoll run --glibc -- true
    says "there is no glibc with the profiler inside, neither in $PWD/glibc nor in" "build one with \`make glibc\`, or give its directory with --glibc-dir DIR"
}

@test "the glibc is found beside the command, by the variable and by the option, and the option wins" {
    cp "$executable" .
    cp -r "$BATS_FILE_TMPDIR/glibc" .
    expect 0 ./plimsoll run -q --glibc -- grep -o "$PWD/glibc/lib/libc.so.6" /proc/self/maps
    mv glibc other
    PLIMSOLL_GLIBC=other expect 0 ./plimsoll run -q --glibc -- grep -o "$PWD/other/lib/libc.so.6" /proc/self/maps
    PLIMSOLL_GLIBC=nowhere expect 0 ./plimsoll run -q --glibc --glibc-dir other -- grep -o "$PWD/other/lib/libc.so.6" /proc/self/maps
    [[ $stderr != *PLIMSOLL_GLIBC* ]]
}

@test "a directory without a usable glibc is refused with the reason" {
    expect 1 "$plimsoll" run --glibc --glibc-dir nowhere -- true
    says "cannot use the glibc in nowhere: No such file or directory"
    mkdir empty
    expect 1 "$plimsoll" run --glibc --glibc-dir empty -- true
    says "cannot use the glibc in $PWD/empty: $PWD/empty/lib/libc.so.6: No such file or directory"
    cp -r "$BATS_FILE_TMPDIR/glibc" half
    rm half/SOURCE
    expect 1 "$plimsoll" run --glibc --glibc-dir half -- true
    says "$PWD/half/SOURCE does not say which release it is"
    rm half/lib/ld-*
    expect 1 "$plimsoll" run --glibc --glibc-dir half -- true
    says "half/lib/ld-linux" "No such file or directory"
    cp -r "$BATS_FILE_TMPDIR/glibc" plain
    cp "$libc" plain/lib/libc.so.6
    expect 1 "$plimsoll" run --glibc --glibc-dir plain -- true
    says "$PWD/plain/lib/libc.so.6 is a glibc without the profiler"
}

@test "the path of the glibc may contain blanks, colons and semicolons" {
    odd="$PWD/a b:c;d"
    cp -r "$BATS_FILE_TMPDIR/glibc" "$odd"
    cc -o bound -x c - <<<'int main(void) { return 3; }' -Wl,-rpath,"$(dirname "$libc")" -Wl,--disable-new-dtags
    expect 0 "$plimsoll" run -q --glibc --glibc-dir "$odd" -- grep -o "$odd/lib/libc.so.6" /proc/self/maps
    [[ $stderr != *cannot* ]]
    expect 3 "$plimsoll" run -q --glibc --glibc-dir "$odd" -- ./bound
    [[ $stderr != *cannot* ]]
    forget_links
    can_enclose
    expect 0 "$plimsoll" run -q --glibc-tree --glibc-dir "$odd" -- grep -c 'a\\040b:c;d/lib/' /proc/self/mountinfo
    [ "$output" -eq 2 ]
}

@test "a glibc of another release needs its own libraries and is refused for --glibc-tree" {
    cp -r "$BATS_FILE_TMPDIR/glibc" old
    sed -i 's/^release .*/release 2.11/' old/SOURCE
    expect 1 "$plimsoll" run --glibc --glibc-dir old -- true
    says "it is glibc 2.11 without its other libraries" "\`make glibc RELEASE=2.11\` builds them"
    touch old/lib/libm.so.6
    expect 0 "$plimsoll" run -q --glibc --glibc-dir old -- true
    expect 1 "$plimsoll" run --glibc-tree --glibc-dir old -- true
    says "--glibc-tree cannot replace this system's glibc by another release (2.11 instead of " "or use --glibc"
}

@test "options that make no sense together are refused" {
    expect 2 "$plimsoll" run --glibc --glibc-tree -- true
    says "choose one"
    expect 2 "$plimsoll" run --glibc-dir x -- true
    says "--glibc-dir x has no effect by itself; add --glibc or --glibc-tree"
    PLIMSOLL_GLIBC=x expect 0 "$plimsoll" run -q -- true
    [ -z "$stderr" ]
}

# --- what the program sees ---

@test "the program runs with our libc and the system's other libraries" {
    expect 0 inside perl -MPOSIX -e 'open(F, "/proc/self/maps"); print grep /lib[cm]\.so/, <F>'
    shows "$BATS_FILE_TMPDIR/glibc/lib/libc.so.6" "/libm.so.6"
    [[ $output != *"$libc"* ]]
}

@test "the program gets the typed name and its arguments unchanged" {
    cp "$BATS_FILE_TMPDIR/arguments" .
    ln -s arguments other-name
    same ./arguments
    same ./other-name 'a b' '' '*' -- --help
    PATH=$PWD:$PATH same other-name x
    PATH=:$PATH same other-name x
    mkdir -- -dash
    cp arguments -- -dash/-program
    expect 0 inside -dash/-program x
    [ "$output" = "<-dash/-program><x>" ]
}

@test "the environment has the settings and preloads nothing" {
    expect 0 inside sh -c 'env | grep -E "^(PLIMSOLL_|GLIBC_|LD_)" | sort'
    shows "GLIBC_MALLOC_PROFILE=1" "PLIMSOLL_RUN=$PWD/live/plimsoll-run." "PLIMSOLL_OUT=$PWD/plimsoll.%c.%p.plim" "PLIMSOLL_SAMPLE=524288"
    [[ $output != *LD_* ]]
}

@test "the default sampling interval is 512K" {
    show() { "$plimsoll" run --glibc -q --glibc-dir "$BATS_FILE_TMPDIR/glibc" "$@" -- sh -c 'echo $PLIMSOLL_SAMPLE $GLIBC_MALLOC_PROFILE_BYTES'; }
    [ "$(show)" = 524288 ]
    [ "$(show --sample 4K)" = 4096 ]
    [ "$(show --exact)" = exact ]
    [ "$(show --sample auto)" = auto ]
    [ "$(show --overhead 1%)" = auto ]
    [ "$(PLIMSOLL_SAMPLE=8K show)" = 8192 ]
    [ "$(GLIBC_MALLOC_PROFILE_BYTES=2M show)" = "524288 2M" ]
    [ "$(GLIBC_MALLOC_PROFILE_BYTES=2M show --sample 4K)" = 4096 ]
}

@test "a prefix from the environment gives way to --output" {
    GLIBC_MALLOC_PROFILE_OUT=prefix expect 0 inside sh -c 'echo $GLIBC_MALLOC_PROFILE_OUT'
    [ "$output" = prefix ]
    GLIBC_MALLOC_PROFILE_OUT=prefix expect 0 "$plimsoll" run --glibc -q --glibc-dir "$BATS_FILE_TMPDIR/glibc" -o x.plim -- sh -c 'echo $GLIBC_MALLOC_PROFILE_OUT'
    [ -z "$output" ]
}

@test "LD_PRELOAD keeps every library but our own" {
    LD_PRELOAD="libm.so.6:$library libz.so.1" expect 0 inside sh -c 'echo $LD_PRELOAD'
    [ "$output" = libm.so.6:libz.so.1 ]
    LD_PRELOAD=$library expect 0 inside sh -c 'echo ${LD_PRELOAD-unset}'
    [ "$output" = unset ]
    LD_PRELOAD=$(realpath "$library") expect 0 inside sh -c 'echo ${LD_PRELOAD-unset}'
    [ "$output" = unset ]
}

@test "preloading switches the profiler inside glibc off" {
    GLIBC_MALLOC_PROFILE=1 expect 0 "$plimsoll" run -q -- sh -c 'echo ${GLIBC_MALLOC_PROFILE-unset}'
    [ "$output" = unset ]
}

@test "LD_LIBRARY_PATH is searched after our directory" {
    mkdir libraries
    cc -shared -o libraries/libthere.so -x c - <<<'int there(void) { return 42; }'
    cc -o needs -x c - <<<'int there(void); int main(void) { return there(); }' -L libraries -lthere
    LD_LIBRARY_PATH=$PWD/libraries:/lib expect 42 inside ./needs
    LD_LIBRARY_PATH=/lib expect 127 inside ./needs
    LD_LIBRARY_PATH=/lib expect 0 inside sh -c 'echo $LD_LIBRARY_PATH'
    [ "$output" = /lib ]
}

@test "a library found by the program's rpath is used before the system's" {
    mkdir own
    cc -shared -o own/libz.so.1 -x c - <<<'const char *zlibVersion(void) { return "own"; }'
    cc -o asks -x c - <<<'#include <stdio.h>
        const char *zlibVersion(void); int main(void) { puts(zlibVersion()); }' -L own -l:libz.so.1 -Wl,-rpath,'$ORIGIN/own'
    expect 0 inside ./asks
    [ "$output" = own ]
}

@test "$ORIGIN is the directory of the program, not of a link to it" {
    mkdir own
    cc -shared -o own/libbeside.so -x c - <<<'int beside(void) { return 42; }'
    cc -o own/asks -x c - <<<'int beside(void); int main(void) { return beside(); }' -L own -lbeside -Wl,-rpath,'$ORIGIN'
    ln -s own/asks link
    ln -s asks own/alias
    make_script script "#!$PWD/link"
    expect 42 inside ./link
    expect 42 inside own/alias
    PATH=$PWD:$PATH expect 42 inside link
    expect 42 inside ./script
}

@test "our libc is used even if the rpath names the directory of the system's libc" {
    cc -o old -x c - <<<'#include <stdio.h>
        int main(void) { char l[999]; FILE *f = fopen("/proc/self/maps", "r"); while (fgets(l, 999, f)) fputs(l, stdout); }' \
        -Wl,-rpath,"$(dirname "$libc")" -Wl,--disable-new-dtags
    expect 0 inside ./old
    shows "$BATS_FILE_TMPDIR/glibc/lib/libc.so.6"
    [[ $output != *"$libc"* ]]
    LD_PRELOAD=$libc expect 126 inside ./old
    says "cannot run ./old with --glibc: its RPATH or LD_PRELOAD loads $libc, which does not work with another glibc's loader" "use --glibc-tree"
}

@test "functions of the program's libraries still override those of our libc" {
    cc -shared -fPIC -o libfront.so -x c - <<<'int getppid(void) { return 42; }'
    cc -o front -x c - <<<'int getppid(void); int main(void) { return getppid(); }' -L . -lfront -Wl,-rpath,"$PWD"
    expect 42 inside ./front
}

@test "the process has the name that the kernel would give it, and no link is left over" {
    for program in cat-of-one-kind cat-whose-name-is-longer-than-the-kernel-keeps; do
        cp "$(command -v cat)" $program
        same ./$program /proc/self/comm
    done
    ln -s cat-of-one-kind link
    same ./link /proc/self/comm
    printf '#!/bin/sh\ncat /proc/$$/comm\n' >script
    chmod +x script
    same ./script
    printf '#!/usr/bin/env sh\ncat /proc/$$/comm\n' >script
    same ./script
    printf 'cat /proc/$$/comm\n' >script
    expect 0 inside ./script
    [ "$output" = sh ]
    # run removes its link when it learns that the program runs. The program may start a little earlier.
    expect 0 inside timeout "$patience" sh -c 'until [ "$(ls -A "$PLIMSOLL_RUN")" = .owner ]; do sleep 0.01; done'
    [ -z "$(ls -A live)" ]
}

@test "the message of --only has the name of the program" {
    make_script script '#!/bin/sh'
    expect 0 "$plimsoll" run --glibc --glibc-dir "$BATS_FILE_TMPDIR/glibc" --only nobody -- ./script
    says "no process was called nobody (--only); the program itself is called script"
    make_script script '#!/usr/bin/env sh'
    expect 0 "$plimsoll" run --glibc --glibc-dir "$BATS_FILE_TMPDIR/glibc" --only nobody -- ./script
    says "the program itself is called sh"
}

@test "options of run replace our tunables and keep the others" {
    tunables=glibc.malloc.check=1:glibc.malloc.prof=0:glibc.malloc.prof_bytes=64K:glibc.malloc.prof_out=x:glibc.malloc.profane=1
    show() { GLIBC_TUNABLES=$tunables "$plimsoll" run -q --glibc-dir "$BATS_FILE_TMPDIR/glibc" "$@" -- sh -c 'echo ${GLIBC_TUNABLES-unset}'; }
    [ "$(show --glibc)" = glibc.malloc.check=1:glibc.malloc.prof_bytes=64K:glibc.malloc.prof_out=x:glibc.malloc.profane=1 ]
    [ "$(show --glibc --sample 4K -o y.plim)" = glibc.malloc.check=1:glibc.malloc.profane=1 ]
    tunables=glibc.malloc.prof=1
    [ "$(show --glibc)" = unset ]
}

# --- the program behaves as without us ---

@test "the exit status, signals and streams are those of the program" {
    for status in 0 1 77 255; do
        expect $status inside sh -c "exit $status"
    done
    expect 137 inside sh -c 'kill -9 $$'
    expect 143 inside sh -c 'kill -TERM $$'
    [ "$(printf 'one\ntwo' | inside cat)" = $'one\ntwo' ]
}

@test "a program that cannot be run is refused as without --glibc" {
    expect 127 inside no-such-program
    says "cannot run no-such-program: not found in \$PATH"
    expect 127 inside ./no-such-program
    says "cannot run ./no-such-program: No such file or directory"
    expect 127 inside ''
    echo text >plain
    expect 126 inside ./plain
    says "cannot run ./plain: Permission denied"
    PATH=$PWD:$PATH expect 126 inside plain
    expect 126 inside /
    says "cannot run /: Permission denied"
    make_script script '#!/no/such/interpreter'
    expect 127 inside ./script
    says "cannot run ./script: its interpreter /no/such/interpreter does not exist"
    make_script script "#!$PWD/plain"
    expect 126 inside ./script
    says "cannot run ./script: Permission denied"
    [ -z "$(ls live)" ]
}

@test "the loader reports a missing library" {
    mkdir gone
    cc -shared -o gone/libgone.so -x c - <<<'int gone(void) { return 0; }'
    cc -o needs -x c - <<<'int gone(void); int main(void) { return gone(); }' -L gone -lgone
    expect 127 inside ./needs
    says "libgone.so: cannot open shared object file" "nothing was recorded, because ./needs did not start with the glibc"
}

# --- scripts ---

@test "a script is run by its interpreter, with the kernel's rules" {
    a=$BATS_FILE_TMPDIR/arguments
    make_script script "#!$a"
    same ./script x y
    PATH=$PWD:$PATH same script x
    make_script script "#! 	$a   one argument	with blanks  	"
    same ./script x
    make_script script "#!$a"$'\r'
    expect 127 inside ./script
    printf '#!%s -x' "$a" >script
    same ./script
    make_script script "#!$a $(printf 'x%.0s' $(seq 300))"
    same ./script
    cp "$a" here
    make_script script '#!here relative'
    same ./script x
}

@test "nested interpreters are followed as far as the kernel follows them" {
    make_script s1 "#!$BATS_FILE_TMPDIR/arguments"
    for n in 2 3 4 5; do
        make_script s$n "#!$PWD/s$((n - 1)) a$n"
    done
    same ./s2 x
    same ./s5 x
    make_script s6 "#!$PWD/s5 a6"
    run -126 ./s6
    expect 126 inside ./s6
    says "cannot run ./s6: Too many levels of symbolic links"
}

@test "the shell runs a file that is neither binary nor script, as with execvp" {
    echo 'echo "$0|$1"' >text
    chmod +x text
    expect 0 inside ./text one
    [ "$output" = "./text|one" ]
    make_script text '#!'
    echo 'echo "$0|$1"' >>text
    expect 0 inside ./text one
    [ "$output" = "./text|one" ]
}

@test "/usr/bin/env in a script is followed to the program that it finds" {
    mkdir bin
    cp "$BATS_FILE_TMPDIR/arguments" bin/show
    export PATH=$PWD/bin:$PATH
    make_script script '#!/usr/bin/env show'
    same ./script x y
    make_script script '#!/usr/bin/env -S show -w  two'
    same ./script x
    make_script script "#!/usr/bin/env -S show 'one word' \\\$x"
    same ./script x
    make_script script '#!/usr/bin/env -S A=1 show'
    same ./script x
    make_script script '#!/usr/bin/env no-such-program'
    expect 127 inside ./script
    says "env: ‘no-such-program’: No such file or directory"
    make_script bin/wrapper '#!/usr/bin/env show'
    make_script script '#!/usr/bin/env wrapper'
    same ./script x
    make_script script '#!/usr/bin/env perl'
    echo 'open(F, "/proc/self/maps"); print grep { m{glibc/lib/libc} } <F>' >>script
    expect 0 inside ./script
    shows "$BATS_FILE_TMPDIR/glibc/lib/libc.so.6"
}

# --- programs that cannot be profiled ---

hello='int main(void) { return 3; }'

@test "a static program without the profiler is refused with the next step" {
    cc -static -o static -x c - <<<"$hello" 2>/dev/null || skip "no static libc"
    expect 126 inside ./static
    says "cannot run ./static with --glibc: ./static is static, and not linked with the libc.a that has the profiler inside" "\`plimsoll help static\`"
}

@test "a static program with the profiler runs directly and needs no glibc" {
    cc -static -o static -x c - 2>/dev/null <<<"$hello"'
        __asm__(".pushsection .note.Plimsoll, \"a\", @note\n .balign 4\n .long 9, 0, 1\n .asciz \"Plimsoll\"\n .balign 4\n .popsection");' ||
        skip "no static libc"
    expect 3 "$plimsoll" run --glibc --glibc-dir nowhere -- ./static
    [[ $stderr != *nowhere* ]]
    says "./static was linked without --eh-frame-hdr, so its stacks end after one frame; link it with -Wl,--eh-frame-hdr"
    expect 3 "$plimsoll" run -- ./static
    says "./static is statically linked, so it cannot be preloaded; its glibc has the profiler inside: add --glibc"
}

@test "programs for other machines and other C libraries are refused" {
    cp /bin/true foreign
    printf '\xf3\x00' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
    expect 126 inside ./foreign
    says "./foreign is built for another machine"
    cp /bin/true small
    printf '\x01' | dd of=small bs=1 seek=4 conv=notrunc status=none
    expect 126 inside ./small
    says "cannot run ./small with --glibc"
    cc -shared -o libc.so -x c - <<<'void nothing(void) { }'
    cc -nostdlib -o other -x c - <<<'void nothing(void); void _start(void) { nothing(); }' -L . -l:libc.so -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1
    expect 126 inside ./other
    says "./other uses a C library other than glibc"
}

@test "a program with its own loader runs with ours, and --glibc-tree does not profile it" {
    loader=$(readelf -lW /bin/true | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
    for name in ld-linux-mine.so.2 loader; do
        cp "$loader" $name
        cc -o other -x c - <<<"$hello" -Wl,--dynamic-linker="$PWD/$name"
        expect 3 inside ./other
        can_enclose
        expect 3 tree ./other
        says "./other is not profiled itself, only the programs that it starts, because it uses its own loader, $PWD/$name; use --glibc"
    done
}

@test "a program with another malloc gets a message that it is not profiled" {
    cp "$(program cli-own-malloc)" own
    expect 0 inside ./own
    says "./own defines malloc itself (an allocator is linked in), so glibc's is not used" "without --glibc"
    cc -shared -fPIC -o liballoc.so -x c - <<<'#include <unistd.h>
        void *malloc(size_t n) { return sbrk((n + 15) & ~15l); } /* no small pool: plimsoll itself uses it, too */
        void free(void *p) { } void *calloc(size_t n, size_t m) { return malloc(n * m); }
        void *realloc(void *p, size_t n) { char *q = malloc(n); for (size_t i = 0; p && i < n; i++) q[i] = ((char *) p)[i]; return q; }'
    LD_PRELOAD=$PWD/liballoc.so expect 0 inside true
    says "true does not use glibc's malloc but that of $PWD/liballoc.so; profile it without --glibc"
}

@test "a setuid program runs without its privileges, and a message says so" {
    go_public
    cp "$(command -v id)" suid
    chown 1 suid
    chmod 4755 suid
    expect 0 nobody "$plimsoll" run --glibc --glibc-dir glibc -- ./suid -u
    says "./suid is setuid, setgid or has file capabilities; with --glibc it runs without these privileges"
    [ "$output" = 65534 ]
}

@test "a program that may not be read is refused" {
    go_public
    cp /bin/true secret
    chmod 711 secret
    expect 126 nobody "$plimsoll" run --glibc --glibc-dir glibc -- ./secret
    says "./secret may be executed but not read" "use --glibc-tree"
}

@test "without a directory for live files the program runs unprofiled with the system's libc" {
    expect 0 "$plimsoll" run --glibc --glibc-dir "$BATS_FILE_TMPDIR/glibc" --live-dir /no/such/place -- sh -c 'grep -c glibc/lib/libc /proc/$$/maps; echo ${GLIBC_MALLOC_PROFILE-unset}'
    [ "$output" = $'0\nunset' ]
}

@test "the message names what keeps processes from creating a profile" {
    profile() { "$plimsoll" run --glibc --glibc-dir "$BATS_FILE_TMPDIR/glibc" "$@" -- true; }
    limited() { ulimit -f 64; profile; }
    expect 0 limited
    says "nothing was recorded, because the file size limit here is 64.0 KiB" "ulimit -f"
    mkdir gone
    lost() { cd gone; rmdir ../gone; profile; }
    expect 0 lost
    says "nothing was recorded, because the working directory no longer exists" "give --output an absolute path"
    can_enclose
    mkdir full
    expect 0 unshare -m sh -c 'mount -t tmpfs -o size=64k none full; head -c 48k /dev/zero >full/x; exec "$@"' sh \
        "$plimsoll" run --glibc --glibc-dir "$BATS_FILE_TMPDIR/glibc" --live-dir full -- true
    says "nothing was recorded, because $PWD/full is full" "--live-dir"
}

@test "a profile that disappears while run collects it is not an error" {
    expect 0 "$plimsoll" run -s 1 -- sh -c 'ln -s nowhere "$PLIMSOLL_RUN/x.plim"'
    [[ $stderr != *"cannot open"* ]]
    says "next: plimsoll report plimsoll.sh."
}

# --- --glibc-tree ---

@test "plimsoll refuses --glibc-tree when it runs with our glibc itself" {
    expect 1 inside "$plimsoll" run --glibc-tree --glibc-dir "$BATS_FILE_TMPDIR/glibc" -- true
    says "plimsoll itself runs with the glibc in $BATS_FILE_TMPDIR/glibc" "start it without --glibc"
}

@test "--glibc-tree replaces the system's libc for the program and its children only" {
    can_enclose
    before=$(md5sum <"$libc")
    expect 0 tree sh -c 'md5sum <$1; sh -c "md5sum <\$1" sh $1; basename $(readlink /proc/$$/exe); echo $GLIBC_MALLOC_PROFILE ${LD_PRELOAD-none}' sh "$libc"
    ours=$(md5sum <"$BATS_FILE_TMPDIR/glibc/lib/libc.so.6")
    [ "${lines[0]}" = "$ours" ]
    [ "${lines[1]}" = "$ours" ]
    [ "${lines[2]}" = "$(basename "$(readlink -f /bin/sh)")" ]
    [ "${lines[3]}" = "1 none" ]
    [ "$ours" != "$before" ]
    [ "$(md5sum <"$libc")" = "$before" ]
}

@test "--glibc-tree mounts our files read-only" {
    can_enclose
    run tree sh -c "echo x >>$libc"
    [ "$status" -ne 0 ]
    [[ $output == *"Read-only file system"* ]]
}

@test "--glibc-tree keeps exit status and error messages" {
    can_enclose
    expect 7 tree sh -c 'exit 7'
    expect 137 tree sh -c 'kill -9 $$'
    expect 127 tree no-such-program
    says "cannot run no-such-program: not found in \$PATH"
    make_script script "#!$BATS_FILE_TMPDIR/arguments"
    expect 0 tree ./script x
    [ "$output" = "<$BATS_FILE_TMPDIR/arguments><./script><x>" ]
    [ -z "$(ls live)" ]
}

@test "without root --glibc-tree uses a user namespace and keeps the user and group" {
    go_public
    nobody unshare -Um true 2>/dev/null || skip "no user namespaces here"
    expect 0 nobody "$plimsoll" run --glibc-tree -q --glibc-dir glibc -- \
        sh -c 'id -u; id -g; md5sum <$1; grep CapEff /proc/self/status' sh "$libc"
    [ "${lines[0]}" = 65534 ]
    [ "${lines[1]}" = 65534 ]
    [ "${lines[2]}" = "$(md5sum <glibc/lib/libc.so.6)" ]
    [[ ${lines[3]} == *0000000000000000 ]]
}

@test "without namespaces the message suggests --glibc" {
    unshare -Ur true 2>/dev/null || skip "no user namespaces here"
    run unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_mnt_namespaces; exec "$@"' sh "$plimsoll" run --glibc-tree --glibc-dir "$BATS_FILE_TMPDIR/glibc" -- true
    [ "$status" -eq 1 ]
    [[ $output == *"cannot mount $BATS_FILE_TMPDIR/glibc/lib over $(readlink -f "$libc"): creating a namespace: "*"; --glibc needs no namespace"* ]]
    [ -z "$(ls live)" ]
}

@test "with --glibc-tree a static program runs and its children are profiled" {
    can_enclose
    cc -static -o static -x c - <<<'#include <unistd.h>
        int main(void) { execl("/bin/sh", "sh", "-c", "echo $GLIBC_MALLOC_PROFILE", NULL); }' 2>/dev/null || skip "no static libc"
    expect 0 "$plimsoll" run --glibc-tree --glibc-dir "$BATS_FILE_TMPDIR/glibc" -- ./static
    [ "$output" = 1 ]
    says "./static is static, and not linked with the libc.a that has the profiler inside, so only the programs that it starts are profiled"
}

@test "functions of a library that was replaced only inside the tree still get their names" {
    mkdir -p glibc/lib
    library_of() { cc -g -shared -fPIC -fno-builtin -Wl,--build-id -o libx.so -x c - <<<"#include <stdlib.h>
        void *$1(void) { return malloc(100000); } void *(*get)(void) = $1;"; }
    library_of allocate_in_here
    cc -fno-builtin -o app -x c - <<<'extern void *(*get)(void); int main(void) { return !get(); }' -L . -lx -Wl,-rpath,"$PWD"
    "$plimsoll" run -q --exact --no-symbols -o app.plim -- ./app
    mv libx.so glibc/lib
    library_of another
    expect 0 "$plimsoll" report app.plim
    says "libx.so was rebuilt since this profile was made"
    [[ $output != *allocate_in_here* ]]
    PLIMSOLL_GLIBC=$PWD/glibc expect 0 "$plimsoll" report app.plim
    [ -z "$stderr" ]
    shows allocate_in_here
    rm libx.so
    PLIMSOLL_GLIBC=$PWD/glibc expect 0 "$plimsoll" report app.plim
    shows allocate_in_here
}

@test "a libc that differs from the one that ran is not reported as rebuilt" {
    library_of() { cc -g -shared -fPIC -fno-builtin -Wl,--build-id -o ld-linux-x.so -x c - <<<"#include <stdlib.h>
        void *$1(void) { return malloc(100000); } void *(*get)(void) = $1;"; }
    library_of one
    cc -fno-builtin -o app -x c - <<<'extern void *(*get)(void); int main(void) { return !get(); }' -L . -l:ld-linux-x.so -Wl,-rpath,"$PWD"
    "$plimsoll" run -q --exact --no-symbols -o app.plim -- ./app
    library_of another
    expect 0 "$plimsoll" report app.plim
    says "$PWD/ld-linux-x.so is not the file that ran: it was replaced since, or" "--glibc-tree" "PLIMSOLL_GLIBC="
    [[ $stderr != *"--force"* ]]
}
