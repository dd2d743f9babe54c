# SPDX-License-Identifier: MIT
# Shared by all tests of the command line: the program, profiles to read, and a working directory for each test.
#
# Live files go to a directory of the test, so that tests neither see nor disturb other profiles.

export PAGER=cat # tests of terminals must not wait for a key
bats_require_minimum_version 1.5.0

# Hints name the command as it was typed. Tests find it by $PATH, so hints read as they do in the documentation.
PATH=$PLIMSOLL_BUILD:$PATH
plimsoll=plimsoll
executable=$PLIMSOLL_BUILD/plimsoll
library=$PLIMSOLL_BUILD/libplimsoll.so

setup() {
    work=$BATS_TEST_TMPDIR
    mkdir "$work/live"
    cd "$work" || return
    unset PLIMSOLL_SAMPLE PLIMSOLL_OUT PLIMSOLL_ONLY PLIMSOLL_MAX_FILE PLIMSOLL_OFF PLIMSOLL_SEED PLIMSOLL_LIBRARY PLIMSOLL_OVERHEAD
    unset NO_COLOR COLUMNS LD_PRELOAD LD_LIBRARY_PATH PLIMSOLL_RUN PLIMSOLL_NAMES PLIMSOLL_GLIBC
    unset GLIBC_MALLOC_PROFILE GLIBC_MALLOC_PROFILE_BYTES GLIBC_MALLOC_PROFILE_OUT GLIBC_MALLOC_PROFILE_STATS
    export PLIMSOLL_LIVE_DIR=$work/live DEBUGINFOD_URLS= XDG_CONFIG_HOME=$work/config
}

# forge SCENARIO: writes SCENARIO.plim, a synthetic profile
forge() {
    "$PLIMSOLL_BUILD/tests/reader/forge" "$1" "$1.plim"
}

# story WHICH: writes WHICH.plim, a synthetic profile in which every allocation was counted
story() {
    "$PLIMSOLL_BUILD/tests/cli/story" "$1" "$1.plim"
}

# program NAME: prints the path of a program of tests/cli/programs
program() {
    echo "$PLIMSOLL_BUILD/tests/cli/$1"
}

# start_unprofiled: sets $started to the PID of a `sleep` that no profile is known of. An earlier process with the same
# PID may have left a profile in /dev/shm, which commands would name instead.
start_unprofiled() {
    started=
    while [ -z "$started" ] || compgen -G "/dev/shm/*.$started.*" >/dev/null; do
        [ -z "$started" ] || kill "$started"
        sleep 600 3>&- &
        started=$!
    done
    await grep -q sleep /proc/$started/comm
}

# expect STATUS COMMAND...: runs COMMAND, which must exit with STATUS; $output has its stdout and $stderr its stderr
expect() {
    local status=$1
    shift
    run "-$status" --separate-stderr "$@"
}

# says TEXT...: each is part of stderr
says() {
    local text
    for text in "$@"; do
        [[ $stderr == *"$text"* ]] || { printf 'stderr lacks: %s\nit is:\n%s\n' "$text" "$stderr"; return 1; }
    done
}

# shows TEXT...: each is part of stdout
shows() {
    local text
    for text in "$@"; do
        [[ $output == *"$text"* ]] || { printf 'stdout lacks: %s\nit is:\n%s\n' "$text" "$output"; return 1; }
    done
}

# stray FILE: copies plimsoll so that it finds what lies beside it, but nothing that is installed on this machine: the
# installation directory in the copy is replaced by another of the same length
stray() {
    local libraries
    libraries=$(sed -n 's/^#define PL_ABOUT_LIBRARIES "\(.*\)"$/\1/p' "$PLIMSOLL_BUILD/src/cli/about.h")
    [[ $libraries == /?* && ! -e ${libraries//[!\/]/-} ]]
    LC_ALL=C sed "s|$libraries|${libraries//[!\/]/-}|g" "$executable" >"$1"
    chmod +x "$1"
}

# forget_links: removes the links to this test's files that `run` has made, which it never removes itself
forget_links() {
    find "/var/tmp/plimsoll-$(id -u)" -lname "$work/*" -printf '%h\0' 2>/dev/null | xargs -0r rm -r
}

# fails COMMAND...: COMMAND must fail. (`! COMMAND` cannot fail a test: bash ignores its status under set -e.)
fails() {
    if "$@"; then
        echo "did not fail: $*"
        return 1
    fi
}

# After this many seconds a test gives up waiting. Nothing else may depend on it.
patience=$(sed -n 's/^#define PATIENCE_S //p' "$PLIMSOLL_SOURCE/tests/lib/patience.h")

# await COMMAND...: repeats COMMAND until it succeeds
await() {
    local end=$((SECONDS + patience))
    while ((SECONDS < end)); do
        "$@" && return
        sleep 0.05
    done
    echo "timed out: $*"
    return 1
}
