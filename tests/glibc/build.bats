# SPDX-License-Identifier: MIT
# src/glibc/build without the compiler: where the source comes from, how it is changed, and what is installed. The glibc
# here is a miniature with its own patch. Its loader and apt are scripts. Nothing is downloaded, and nothing takes long.

load ../cli/support

setup_file() {
    local tree=$BATS_FILE_TMPDIR/tree glibc=$BATS_FILE_TMPDIR/glibc-2.36
    mkdir -p "$tree/src" "$glibc/malloc"
    cp -R "$PLIMSOLL_SOURCE/include" "$tree/"
    cp -R "$PLIMSOLL_SOURCE"/src/{core,format,glibc} "$tree/src/"
    rm -f "$tree"/src/glibc/patches/*
    printf '%s\n' '--- a/malloc/Makefile' '+++ b/malloc/Makefile' '@@ -1 +1,2 @@' ' routines := malloc' \
        '+include plimsoll/Makefile' >"$tree/src/glibc/patches/glibc-2.36.patch"
    echo '#define VERSION "2.36"' >"$glibc/version.h"
    echo 'routines := malloc' >"$glibc/malloc/Makefile"
    echo 'int malloc;' >"$glibc/malloc/malloc.c"
    make_buildable "$glibc"
    pack "$BATS_FILE_TMPDIR/glibc-2.36.tar.xz" "$glibc"
}

# Its libraries are text files. Its loader pretends to run python3, and fails if libc.so.6 has `broken` in it.
make_buildable() { # DIRECTORY
    mkdir "$1/elf" "$1/math"
    echo 'extra-libs := libm' >"$1/math/Makefile"
    cat >"$1/configure" <<'END'
#!/bin/sh
mkdir elf linkobj malloc math
echo 'gcc version 12.2.0 (miniature) ' >config.log
printf '%s.so-version=%s\n' libc .6 libm .6 libc_malloc_debug .0 >soversions.mk
echo 'sorted-subdirs := malloc math' >sysd-sorted
END
    cat >"$1/elf/ld.so" <<'END'
#!/bin/sh
case $1 in
    --list-tunables) echo glibc.malloc.prof: ;;
    --library-path) grep -q broken "$2/libc.so.6" || echo ok ;;
esac
END
    cat >"$1/Makefile" <<'END'
$(objdir)/libc.so $(objdir)/linkobj/libc.so $(objdir)/libc.a: malloc/malloc.c $(objdir)/elf/ld.so
	cp malloc/malloc.c $@
$(objdir)/elf/ld.so: elf/ld.so
	cp elf/ld.so $@
lib malloc/subdir_lib malloc/others: ;
math/others: ; echo libm >$(objdir)/math/libm.so
END
    printf '%s\n' '$(objdir)/malloc/libc_malloc_debug.so: malloc.c ; cp $< $@' >"$1/malloc/GNUmakefile"
    chmod +x "$1/configure" "$1/elf/ld.so"
}

pack() { # TARBALL DIRECTORY
    tar --create --xz --file "$1" --directory "$(dirname "$2")" "$(basename "$2")"
}

# Gives each test its own tree and source.
make_tree() {
    cp -R "$BATS_FILE_TMPDIR"/{tree,glibc-2.36,glibc-2.36.tar.xz} .
}

prepare() { # OPTION...
    tree/src/glibc/build --release 2.36 --into out --prepare "$@"
}

# Builds as on a system with this release, so that glibc's other libraries are not needed.
build() { # OPTION...
    make_command getconf 'echo glibc 2.36'
    tree/src/glibc/build --release 2.36 --into out --source glibc-2.36.tar.xz "$@"
}

make_command() { # NAME SCRIPT
    mkdir -p bin
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
    PATH=$PWD/bin:$PATH
}

prepare_given() {
    prepare --source glibc-2.36.tar.xz
}

# The files of the prepared source that were written after the file `since`.
written() {
    (cd out/work/source && find . -type f -newer "$work/since" -printf '%P\n' | sort)
}

# An apt that knows the versions in `own`, and after an update those in `suite`, too.
make_apt() {
    mkdir bin package
    mkdir -p package/{DEBIAN,usr/src/glibc}
    cp glibc-2.36.tar.xz package/usr/src/glibc/
    printf '%s\n' 'Package: glibc-source' 'Version: 2.36-9' 'Architecture: all' \
        'Maintainer: nobody <nobody@localhost>' 'Description: miniature' >package/DEBIAN/control
    dpkg-deb --build package glibc-source_2.36-9_all.deb >/dev/null
    cat >bin/apt-get <<'END'
#!/bin/sh
here=$(dirname "$0")/..
case $* in
    *indextargets*) echo http://mirror.invalid/debian/; echo http://mirror.invalid/debian-security/ ;;
    *Dir::State::Lists*update*) cat "${4#*=}" >"$here/sources"; mv "$here/suite" "$here/own" ;;
    *download*glibc-source=2.36-9) cp "$here/glibc-source_2.36-9_all.deb" . ;;
    *) exit 100 ;;
esac
END
    cat >bin/apt-cache <<'END'
#!/bin/sh
own=$(dirname "$0")/../own
[ -e "$own" ] || exit 0
while read -r line; do # line by line: if the reader stops, it dies of SIGPIPE
    echo "$line"
    sleep 0.1
done <"$own"
END
    chmod +x bin/*
    PATH=$PWD/bin:$PATH
}

offer() { # VERSION...
    printf 'glibc-source | %s | somewhere\n' "$@"
}

# --- options ---

@test "unknown options are refused with the usage" {
    expect 2 "$PLIMSOLL_SOURCE/src/glibc/build" --relaese 2.36
    says "unknown option --relaese" "usage: src/glibc/build"
    expect 2 "$PLIMSOLL_SOURCE/src/glibc/build" --jobs many
    says "--jobs needs a number, not many"
    expect 2 "$PLIMSOLL_SOURCE/src/glibc/build" --into
    says "--into needs a value"
}

@test "a release without a patch is refused with the list of those that have one" {
    make_tree
    expect 1 tree/src/glibc/build --release 2.17 --into out
    says "there is no patch for glibc 2.17; there are patches for: 2.36"
    [ ! -e out ]
}

@test "a directory that glibc's makefiles cannot handle is refused" {
    make_tree
    expect 1 tree/src/glibc/build --release 2.36 --into "o u t" --prepare --source glibc-2.36.tar.xz
    says "cannot be built in $PWD/o u t"
    [ ! -e "o u t" ]
}

# --- the target directory ---

@test "foreign files in DIR/work are left alone" {
    make_tree
    mkdir -p out/work/source
    echo thesis >out/work/source/thesis.txt
    expect 1 prepare_given
    says "$PWD/out/work has files that this script did not make" "--into"
    echo 'my boxes' >out/work/unpacked
    expect 1 prepare_given
    [ "$(cat out/work/source/thesis.txt)" = thesis ]
    [ "$(ls out/work)" = $'source\nunpacked' ]
}

@test "foreign files in DIR/lib are left alone" {
    make_tree
    mkdir -p out/lib
    echo theirs >out/lib/libc.so.6
    expect 1 build
    says "$PWD/out/lib has files that this script did not make" "there is no $PWD/out/SOURCE for them"
    [ "$(cat out/lib/libc.so.6)" = theirs ]
    [ ! -e out/work ]
}

@test "an interrupted build is continued" {
    make_tree
    expect 0 build
    echo rubbish >rubbish.tar.xz
    expect 1 prepare --source rubbish.tar.xz
    says "cannot unpack rubbish.tar.xz"
    expect 0 build
    rm -r out/lib
    expect 0 build
    [ -e out/lib/libc.so.6 ]
}

# --- the source ---

@test "the package is the newest one of the release that apt offers" {
    make_tree
    make_apt
    offer 2.41-12 2.36-9 2.36-7 >own
    expect 0 prepare
    shows "2.36 from glibc-source 2.36-9"
    [ ! -e sources ]
}

@test "a release that apt does not offer comes from its suite on the machine's own mirror" {
    make_tree
    make_apt
    offer 2.41-12 >own
    offer 2.36-9 >suite
    expect 0 prepare
    shows "2.36 from glibc-source 2.36-9"
    [ "$(cut -d' ' -f3- sources)" = "http://mirror.invalid/debian/ bookworm main" ]
    grep -q '^deb \[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg\]' sources
}

@test "a package that was fetched is not fetched again" {
    make_tree
    make_apt
    offer 2.36-9 >own
    expect 0 prepare
    rm own glibc-source_2.36-9_all.deb
    expect 0 prepare
    shows "2.36 from glibc-source 2.36-9"
}

@test "a source that cannot be fetched gives one line and status 77" {
    make_tree
    make_apt
    expect 77 prepare
    says "apt cannot fetch glibc-source 2.36" "use --source FILE"
    [ "$(wc -l <<<"$stderr")" = 1 ]
}

@test "a source of another release is refused" {
    make_tree
    echo '#define VERSION "2.35"' >glibc-2.36/version.h
    pack glibc-2.36.tar.xz glibc-2.36
    expect 1 prepare_given
    says "glibc-2.36.tar.xz is not glibc 2.36 but 2.35"
    expect 1 prepare --source nowhere.tar.xz
    says "cannot read nowhere.tar.xz"
}

# --- the prepared source ---

@test "a patch that does not apply is reported with its source" {
    make_tree
    echo 'routines := something else' >glibc-2.36/malloc/Makefile
    pack glibc-2.36.tar.xz glibc-2.36
    expect 1 prepare_given
    says "glibc-2.36.patch does not apply to glibc-2.36.tar.xz"
}

@test "every source of the core is compiled, with names that cannot clash with a program's" {
    make_tree
    expect 0 prepare_given
    cd out/work/source/malloc
    [ "$(cat Makefile)" = $'routines := malloc\ninclude plimsoll/Makefile' ]
    for source in $(cd "$PLIMSOLL_SOURCE/src" && find core -name '*.c'); do
        name=$(basename "$source" .c)
        [ "$(cat "pl-$name.c")" = "#include \"plimsoll/$source\"" ]
        grep -qx "routines += pl-$name" plimsoll/Makefile
        grep -qx "CFLAGS-pl-$name.c = .*" plimsoll/Makefile
    done
    grep -q '^plimsoll-cflags :=.* -fno-builtin .*-ftls-model=initial-exec' plimsoll/Makefile
    grep -q '__pl_process' plimsoll/core/process.c
    fails grep -rw 'pl_[a-z0-9_]*' plimsoll
}

@test "unchanged files are left alone, and removed ones are deleted" {
    make_tree
    echo '/* once */' >tree/src/glibc/add/malloc/once.c
    cp tree/src/glibc/add/malloc/once.c glibc-2.36/malloc/other.c
    expect 0 prepare_given
    touch since
    sleep 0.1
    expect 0 prepare_given
    [ -z "$(written)" ]

    echo '/* changed */' >>tree/src/core/blocks/live.c
    rm tree/src/glibc/add/malloc/once.c
    expect 0 prepare_given
    [ "$(written)" = malloc/plimsoll/core/blocks/live.c ]
    [ ! -e out/work/source/malloc/once.c ]
}

@test "objects are rebuilt when a file is added to glibc's own" {
    make_tree
    expect 0 prepare_given
    mkdir out/work/objects
    echo '/* changed */' >>tree/src/core/blocks/live.c
    expect 0 prepare_given
    [ -d out/work/objects ]
    mkdir -p tree/src/glibc/add/sysdeps
    echo '/* instead */' >tree/src/glibc/add/sysdeps/instead.c
    expect 0 prepare_given
    [ ! -e out/work/objects ]
}

@test "--plain gives the original source" {
    make_tree
    expect 0 prepare_given
    expect 0 prepare --plain --source glibc-2.36.tar.xz
    find out/work/source -type d -empty -delete
    diff -r glibc-2.36 out/work/source
}

# --- the result ---

@test "the result is the loader, libc, libc_malloc_debug and a description of their source" {
    make_tree
    expect 0 build
    shows "glibc: $PWD/out/lib"
    cd out
    [ "$(cd lib && echo *)" = "ld-linux-x86-64.so.2 libc.a libc.so.6 libc_malloc_debug.so.0" ]
    grep -qx 'release 2.36' SOURCE
    grep -qx 'patch glibc-2.36.patch' SOURCE
    grep -qx 'flags gcc 12.2.0 (miniature) --prefix=/usr .* CFLAGS=-O2 .*' SOURCE
    grep -qx "sha256 $(sha256sum <../glibc-2.36.tar.xz | cut -d' ' -f1)" SOURCE
    [ ! -e work/lib ]
}

@test "unchanged files of the result are not replaced" {
    make_tree
    expect 0 build
    (cd out/lib && stat --format '%n %i %y' *) >before
    expect 0 build
    (cd out/lib && stat --format '%n %i %y' *) | diff before -
}

@test "only a working build replaces the previous one" {
    make_tree
    expect 0 build
    cp -R out/lib out/SOURCE .
    echo 'int broken;' >tree/src/glibc/add/malloc/malloc.c
    expect 1 build
    says "python3 does not run with $PWD/out/work/lib/ld-"
    diff -r lib out/lib
    diff SOURCE out/SOURCE

    echo 'int mended;' >tree/src/glibc/add/malloc/malloc.c
    expect 0 build
    for library in libc.so.6 libc.a libc_malloc_debug.so.0; do
        [ "$(cat "out/lib/$library")" = 'int mended;' ]
    done
}

@test "libraries of an earlier build are removed" {
    make_tree
    expect 0 build --all
    [ "$(cat out/lib/libm.so.6)" = libm ]
    expect 0 build
    [ ! -e out/lib/libm.so.6 ]
}

@test "a system without a known loader is reported" {
    make_tree
    make_command readelf :
    expect 1 build
    says "cannot find this system's loader"
}

# --- make check ---

# Runs tools/check with nothing to compile and one test, which records the glibc directory that it gets.
check_with_build_ending() { # STATUS
    mkdir -p tree/tools
    cp "$PLIMSOLL_SOURCE/tools/check" tree/tools/
    printf '#!/bin/sh\nexit %s\n' "$1" >tree/src/glibc/build
    make_command ninja :
    make_command meson 'case $1 in
        introspect) [ "$2" != --tests ] && echo "[]" ||
            echo "[{\"name\": \"any\", \"suite\": [\"plimsoll:glibc\"], \"depends\": []}]" ;;
        test) echo "$PLIMSOLL_GLIBC" >'"$PWD"'/seen ;;
    esac'
    mkdir -p tree/build{,-check}/glibc/lib
    run tree/tools/check gcc
}

@test "make check tests the glibc that it has built, and none if the build failed" {
    make_tree
    check_with_build_ending 0
    [ "$(cat seen)" = "$PWD/tree/build-check/glibc" ]
    for status in 1 77; do
        check_with_build_ending "$status"
        [ -s seen ]
        [ ! -e "$(cat seen)" ]
        rm seen
    done
}
