# SPDX-License-Identifier: MIT
# How tools/setup installs packages. dpkg-query, apt-get, id and sudo are replaced by scripts: nothing is installed.
#
# The machine is three lists of packages: `installed`, `lists` (the packages apt knows) and `mirror` (the packages apt
# will know after an update). `log` has the calls of apt without the simulated ones.

setup() {
    machine=$BATS_TEST_TMPDIR
    mkdir "$machine/tools" "$machine/bin"
    cp "$PLIMSOLL_SOURCE/tools/setup" "$machine/tools/"
    touch "$machine"/{installed,lists,mirror,log}

    stand_in dpkg-query <<'STAND_IN'
for package; do :; done
case $package in
    --*) sed 's/^[^ ]*/installed/' "$machine/installed" ;;
    *) grep -q "^$package\( \|$\)" "$machine/installed" && printf installed ;;
esac
STAND_IN
    stand_in apt-get <<'STAND_IN'
simulated= names= failed= list=lists
while [ $# -gt 0 ]; do
    case $1 in
        --option) shift ;;
        --simulate) simulated=yes ;;
        -* | install) ;;
        update) cp "$machine/mirror" "$machine/lists"; echo update >>"$machine/log"; exit ;;
        *) names="$names $1" ;;
    esac
    shift
done
[ -n "$simulated" ] || echo "install$names" >>"$machine/log"
[ -n "$simulated" ] || list=mirror
for name in $names; do
    grep -qx "$name" "$machine/lists" && grep -qx "$name" "$machine/$list" || { echo "E: no $name" >&2; failed=yes; }
done
[ -z "$failed" ] || exit 100
[ -n "$simulated" ] || printf '%s\n' $names >>"$machine/installed"
STAND_IN
    stand_in id <<<'echo 1000'
    stand_in sudo <<'STAND_IN'
case $1 in env) exec "$@" ;; tee) cat >/dev/null ;; esac
STAND_IN
}

stand_in() {
    { echo "#!/bin/sh"; echo "machine='$machine'"; cat; } >"$machine/bin/$1"
    chmod +x "$machine/bin/$1"
}

# has LIST PACKAGE...: fills one of the lists
has() {
    printf '%s\n' "${@:2}" >"$machine/$1"
}

needs() {
    printf '%s\n' '[some]  for a test' "$@" >"$machine/tools/packages"
}

set_up() {
    run env PATH="$machine/bin:$PATH" "$machine/tools/setup" some
}

asked_of_apt() {
    diff <(printf '%s\n' "$@") "$machine/log"
}

asked_nothing() {
    [ ! -s "$machine/log" ]
}

@test "setup prints nothing and does not call apt when everything is installed" {
    needs 'one   # for this' 'two' 'three | four   # for that' 'five'
    has installed one two four 'six five (= 5), seven'
    set_up
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    asked_nothing
}

@test "setup installs missing packages, and does not fetch package lists when it has them" {
    needs 'one' 'two' 'three'
    has installed two
    has lists one two three
    has mirror one two three
    set_up
    [ "$status" -eq 0 ]
    [ "$output" = "setup: installing one three" ]
    asked_of_apt 'install one three'
}

@test "setup installs the first alternative that apt has" {
    needs 'new|old' 'zero | one | two'
    has lists old one two
    has mirror old one two
    set_up
    [ "$status" -eq 0 ]
    asked_of_apt 'install old one'
}

@test "setup installs no alternative when another one is installed" {
    needs 'new | old'
    has installed old
    has lists new old
    set_up
    [ "$status" -eq 0 ]
    asked_nothing
}

@test "without package lists setup fetches them before it chooses among alternatives" {
    needs 'new | old' 'other'
    has mirror old other
    set_up
    [ "$status" -eq 0 ]
    [ "$output" = "$(printf '%s\n' 'setup: fetching package lists' 'setup: installing old other')" ]
    asked_of_apt update 'install old other'
}

@test "setup chooses again when the package lists were out of date" {
    needs 'new | old'
    has lists old
    has mirror new
    set_up
    [ "$status" -eq 0 ]
    asked_of_apt 'install old' update 'install new'
}

@test "setup fails when apt has none of the alternatives" {
    needs 'new | old'
    has lists other
    has mirror other
    set_up
    [ "$status" -ne 0 ]
}

@test "without a network setup prints a few of apt's errors, and asks whether there is one" {
    needs one two three four five six seven
    has lists one two three four five six seven
    set_up
    [ "$status" -eq 1 ]
    [ "$(grep -c '^E: ' <<<"$output")" -eq 5 ]
    [[ "${lines[-1]}" == "setup: apt-get could not install"*"network?" ]]
}

@test "setup without root names the packages to install" {
    needs 'new | old' 'other'
    has lists old other
    rm "$machine/bin/sudo"
    for tool in sh awk dirname grep sed sort tr; do ln -s "$(command -v $tool)" "$machine/bin/"; done
    run env PATH="$machine/bin" "$machine/tools/setup" some
    [ "$status" -eq 1 ]
    [[ "$output" == *": apt-get install old other" ]]
    asked_nothing
}
