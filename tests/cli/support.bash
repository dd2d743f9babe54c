# SPDX-License-Identifier: MIT
# What all tests of the command line share: the program, profiles to read, and a place that is nobody else's.
#
# Live files go to a directory of the test's own, so that tests neither see nor disturb anybody's profiles.

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

# forge SCENARIO: writes SCENARIO.plim
forge() {
    "$PLIMSOLL_BUILD/tests/reader/forge" "$1" "$1.plim"
}

# story WHICH: writes WHICH.plim, in which every allocation was counted
story() {
    "$PLIMSOLL_BUILD/tests/cli/story" "$1" "$1.plim"
}

# program NAME: a program of tests/cli/programs, as built
program() {
    echo "$PLIMSOLL_BUILD/tests/cli/$1"
}

# Runs the command with its stdout in $output and its stderr in $stderr, and expects an exit status.
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

# stray FILE: a copy of plimsoll that finds what lies around it, but not what is installed on this machine: the directory
# in it is another, of the same length
stray() {
    local libraries
    libraries=$(sed -n 's/^#define PL_ABOUT_LIBRARIES "\(.*\)"$/\1/p' "$PLIMSOLL_BUILD/src/cli/about.h")
    [[ $libraries == /?* && ! -e ${libraries//[!\/]/-} ]]
    LC_ALL=C sed "s|$libraries|${libraries//[!\/]/-}|g" "$executable" >"$1"
    chmod +x "$1"
}

# forget_links: links to this test's files that `run` has made, and leaves for good
forget_links() {
    find "/var/tmp/plimsoll-$(id -u)" -lname "$work/*" -printf '%h\0' 2>/dev/null | xargs -0r rm -r
}

# fails COMMAND...: for `! COMMAND`, which bash lets pass whatever COMMAND does
fails() {
    if "$@"; then
        echo "did not fail: $*"
        return 1
    fi
}

# Seconds after which something hangs: nothing else may depend on it.
patience=$(sed -n 's/^#define PATIENCE_S //p' "$PLIMSOLL_SOURCE/tests/lib/patience.h")

# await COMMAND...: until it succeeds
await() {
    local end=$((SECONDS + patience))
    while ((SECONDS < end)); do
        "$@" && return
        sleep 0.05
    done
    echo "never came true: $*"
    return 1
}
