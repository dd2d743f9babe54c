# SPDX-License-Identifier: MIT
# Why nothing, or little, was recorded: said exactly, with what to do about it.

load support

hello='int main(void) { return 0; }'

@test "a static program is called static before it ran, and once" {
    cc -static -o static -x c - <<<"$hello" 2>/dev/null || skip "no static libc"
    expect 0 "$plimsoll" run -- ./static
    [ "${stderr_lines[0]}" = 'plimsoll: ./static is statically linked, so it cannot be preloaded; build it with -lplimsoll; see `plimsoll help static`' ]
    says "nothing was recorded, as was said at the start"
    [ "$(grep -c "statically linked" <<<"$stderr")" -eq 1 ]
    [ -z "$(ls ./*.plim 2>/dev/null)" ]
    [ -z "$(ls -A live)" ]
}

@test "a static position-independent program is static all the same" {
    cc -static-pie -o static -x c - <<<"$hello" 2>/dev/null || skip "no static libc"
    expect 0 "$plimsoll" run -- ./static
    says "is statically linked"
}

@test "the loader itself is not a static program" {
    loader=$(readelf -l /bin/true | sed -n 's/.*interpreter: \(.*\)]/\1/p')
    expect 0 "$plimsoll" run -- "$loader" /bin/true
    [[ $stderr != *static* ]]
}

@test "a setuid program is called that" {
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

@test "a setuid program is nothing special to its owner" {
    cp /bin/true suid
    chmod 4755 suid
    expect 0 "$plimsoll" run -- ./suid
    [[ $stderr != *setuid* ]]
}

@test "a program with an exported malloc of its own is recognised" {
    cp "$(program cli-own-malloc)" own
    expect 0 "$plimsoll" run -- ./own
    says "./own defines malloc itself (an allocator is linked in), so its calls do not reach us"
    [ "$output" = done ]
}

@test "a program with a hidden malloc of its own is recognised" {
    cp "$(program cli-own-malloc-hidden)" own
    expect 0 "$plimsoll" run -- ./own
    says "./own has an allocator linked in, so only its libraries' allocations are seen"
}

@test "a program for another libc is recognised by its loader" {
    cc -o other -x c - <<<"$hello" -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1
    run -127 "$plimsoll" run -- ./other
    [[ $output == *"./other uses another C library than libplimsoll.so (its loader is not glibc's)"* ]]
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

@test "--only that names nobody says who was there" {
    expect 0 "$plimsoll" run --only nobody -- true
    says "nothing was recorded, because no process was called nobody (--only); the program itself is called true"
}

@test "an environment that was cleared on the way is suspected" {
    expect 3 "$plimsoll" run -s 16K -- env -i "$(program cli-leaky)"
    says "env became another program (exec) in which nothing was recorded" "its environment was cleared"
}

@test "too few bytes for a sample are no mystery" {
    expect 3 "$plimsoll" run -s 1G -- "$(program cli-leaky)" 10
    says "no sample, so what was never freed is not known" "to count every allocation: plimsoll run --exact -- ..."
}

@test "a program that allocates nothing is said to" {
    expect 0 "$plimsoll" run -- true
    says "no allocation was made"
}

@test "without a place for live files the program runs unprofiled, and that is said" {
    PLIMSOLL_LIVE_DIR=/proc expect 0 "$plimsoll" run -- echo ran
    [ "$output" = ran ]
    says "cannot make a directory for live profiles in /proc"
}
