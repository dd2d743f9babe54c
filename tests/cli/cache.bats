# SPDX-License-Identifier: MIT
# The cache of names: which commands use it, where it is, and that it changes nothing that people see.

load support

# Entries of the cache in DIRECTORY
entries() {
    ls "$1/symbols" 2>/dev/null | wc -l
}

# record OPTION...: runs a program with a few stacks, quietly
record() {
    expect 3 "$plimsoll" run -q "$@" -- "$(program cli-leaky)"
}

@test "run fills the cache, and a second run uses it without changing it" {
    export PLIMSOLL_CACHE=$work/cache
    record -o one.plim
    [ "$(entries cache)" -gt 0 ]
    [ "$(stat -c %a cache/symbols)" = 700 ]
    for entry in cache/symbols/*; do
        [ "$(stat -c %a "$entry")" = 600 ]
    done
    touch -d '2001-01-01' cache/symbols/*
    inodes=$(stat -c '%n %i' cache/symbols/*)
    record -o two.plim
    [ "$(stat -c '%n %i' cache/symbols/*)" = "$inodes" ] # nothing was found anew
    [ -z "$(find cache/symbols -type f ! -newermt '2001-01-02')" ] # all of it was used
}

@test "profiles are the same with and without the cache, byte for byte" {
    PLIMSOLL_CACHE=off record --no-symbols -o bare.plim
    PLIMSOLL_CACHE=off "$plimsoll" merge -o without.plim bare.plim
    PLIMSOLL_CACHE=$work/cache "$plimsoll" merge -o first.plim bare.plim
    PLIMSOLL_CACHE=$work/cache "$plimsoll" merge -o second.plim bare.plim
    [ "$(entries cache)" -gt 0 ]
    PLIMSOLL_CACHE=off "$plimsoll" report without.plim | grep -q 'leaky.c'
    cmp without.plim first.plim
    cmp without.plim second.plim
}

@test "reports are the same with and without the cache" {
    PLIMSOLL_CACHE=off record --no-symbols -o bare.plim
    PLIMSOLL_CACHE=off "$plimsoll" report --tree bare.plim >without
    PLIMSOLL_CACHE=$work/cache "$plimsoll" report --tree bare.plim >first
    [ "$(entries cache)" -gt 0 ]
    PLIMSOLL_CACHE=$work/cache "$plimsoll" report --tree bare.plim >second
    cmp without first
    cmp without second
}

@test "the cache is below XDG_CACHE_HOME, else below ~/.cache" {
    unset PLIMSOLL_CACHE
    mkdir home xdg
    HOME=$work/home XDG_CACHE_HOME=$work/xdg record -o one.plim
    [ "$(entries xdg/plimsoll)" -gt 0 ]
    [ ! -e home/.cache ]
    HOME=$work/home XDG_CACHE_HOME= record -o one.plim
    [ "$(entries home/.cache/plimsoll)" -gt 0 ]
    HOME=$work/home XDG_CACHE_HOME=relative record -o one.plim
    [ ! -e relative ]
}

@test "PLIMSOLL_CACHE=off and --no-symbols make no cache" {
    mkdir home
    HOME=$work/home XDG_CACHE_HOME= PLIMSOLL_CACHE=off record -o one.plim
    unset PLIMSOLL_CACHE
    HOME=$work/home XDG_CACHE_HOME= record --no-symbols -o one.plim
    [ -z "$(ls -A home)" ]
}

@test "without a home, or with one that cannot be used, run says nothing about the cache" {
    unset PLIMSOLL_CACHE XDG_CACHE_HOME
    touch file
    for home in '' relative /no/such/directory "$work/file" /proc; do
        HOME=$home record -o one.plim
        [ -z "$stderr" ]
    done
    (unset HOME; record -o one.plim)
    PLIMSOLL_CACHE=$work/file/cache record -o one.plim
    [ -z "$stderr" ]
    PLIMSOLL_CACHE=off "$plimsoll" report one.plim | grep -q leaky.c
}

@test "nothing is made in the home of another user" {
    [ "$(id -u)" = 0 ] || skip "only root can give files away"
    unset PLIMSOLL_CACHE
    mkdir home
    chown 65534 home
    HOME=$work/home XDG_CACHE_HOME= record -o one.plim
    [ -z "$(ls -A home)" ]
    mkdir home/.cache
    chown 65534 home/.cache
    HOME=$work/home XDG_CACHE_HOME= record -o one.plim
    [ -z "$(ls -A home/.cache)" ]
}

@test "runs at the same time share the cache" {
    export PLIMSOLL_CACHE=$work/cache
    for i in 1 2 3 4 5 6; do
        record -o "$i.plim" &
    done
    wait
    for i in 1 2 3 4 5 6; do
        PLIMSOLL_CACHE=off "$plimsoll" report "$i.plim" | grep -q leaky.c
    done
    [ -z "$(find cache/symbols -name '.new-*')" ]
}
