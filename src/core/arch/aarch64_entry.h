/* SPDX-License-Identifier: MIT */
/*
 * aarch64_entry.h - makes calls of a function lead elsewhere, by a jump in place of one instruction.
 *
 *   function: b ──► room: ldr x16; br x16 (hook)    body: the instruction that was there, moved here
 *             the rest ◄─────────────────────────────────  b rest
 *
 * The plan says which instruction changes and what goes to `room`. Where the processor checks targets of indirect
 * branches, a function begins with `bti` or `paciasp`, and the second instruction changes. The hook then gets the
 * return address without its signature, and the body signs it again.
 */
#ifndef PL_ARCH_AARCH64_ENTRY_H
#define PL_ARCH_AARCH64_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

#define PL_ARCH_ENTRY_ROOM 64            /* bytes at `room`, for each function */
#define PL_ARCH_ENTRY_REACH (100u << 20) /* how far from the function it may be */
#define PL_ARCH_ENTRY_BYTES 4
#define PL_ARCH_ENTRY_SLACK 0

struct pl_arch_entry {
    uintptr_t jump; /* where bytes change: at the entry, or behind its mark for indirect branches */
    uintptr_t body; /* calls the function itself */
    uint8_t after[PL_ARCH_ENTRY_BYTES];
    uint8_t room[PL_ARCH_ENTRY_ROOM];
};

INLINE uint32_t pl_arch_entry_word(const uint8_t *at)
{
    return (uint32_t) at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
}

INLINE void pl_arch_put_word(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t) (value >> 8 * i);
}

INLINE int64_t pl_arch_signed_field(uint32_t word, unsigned from, unsigned bits)
{
    return (int64_t) ((uint64_t) word << (64 - from - bits)) >> (64 - bits);
}

/* b target */
static inline bool pl_arch_put_jump(uint8_t *to, uintptr_t at, uintptr_t target)
{
    int64_t words = (int64_t) (target - at) >> 2;
    pl_arch_put_word(to, 0x14000000u | ((uint64_t) words & 0x3ffffff), 4);
    return words >= -(1 << 25) && words < 1 << 25;
}

enum pl_arch_relative {
    PL_RELATIVE_NOT,
    PL_RELATIVE_JUMP,    /* b */
    PL_RELATIVE_CALL,    /* bl */
    PL_RELATIVE_BRANCH,  /* b.cond, cbz, cbnz, tbz, tbnz */
    PL_RELATIVE_ADDRESS, /* adr, adrp */
    PL_RELATIVE_LOAD,    /* ldr of a literal */
};

static inline enum pl_arch_relative pl_arch_relative(uint32_t word, uintptr_t at, uintptr_t *target)
{
    if ((word & 0x7c000000) == 0x14000000) {
        *target = at + (uintptr_t) (pl_arch_signed_field(word, 0, 26) * 4);
        return word >> 31 ? PL_RELATIVE_CALL : PL_RELATIVE_JUMP;
    }
    if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000) {
        *target = at + (uintptr_t) (pl_arch_signed_field(word, 5, 19) * 4);
        return PL_RELATIVE_BRANCH;
    }
    if ((word & 0x7e000000) == 0x36000000) {
        *target = at + (uintptr_t) (pl_arch_signed_field(word, 5, 14) * 4);
        return PL_RELATIVE_BRANCH;
    }
    if ((word & 0x1f000000) == 0x10000000) {
        int64_t distance = (int64_t) ((uint64_t) pl_arch_signed_field(word, 5, 19) << 2 | (word >> 29 & 3));
        bool pages = word >> 31;
        *target = (pages ? at & ~(uintptr_t) 4095 : at) + (uintptr_t) (pages ? distance * 4096 : distance);
        return PL_RELATIVE_ADDRESS;
    }
    return (word & 0x3b000000) == 0x18000000 ? PL_RELATIVE_LOAD : PL_RELATIVE_NOT;
}

/* A branch with its distance, in words, replaced. */
static inline uint32_t pl_arch_retarget(uint32_t word, uint32_t words)
{
    bool tests_bit = (word & 0x7e000000) == 0x36000000;
    return tests_bit ? (word & ~0x7ffe0u) | words << 5 : (word & ~0xffffe0u) | words << 5;
}

/* Moves an instruction to the address `at`. Returns its bytes there; 0: that cannot be done. */
static inline unsigned pl_arch_move_instruction(uint32_t word, uintptr_t from, uint8_t *to, uintptr_t at)
{
    uintptr_t target;
    switch (pl_arch_relative(word, from, &target)) {
    case PL_RELATIVE_NOT:
        pl_arch_put_word(to, word, 4);
        return 4;
    case PL_RELATIVE_JUMP:
        return pl_arch_put_jump(to, at, target) ? 4 : 0;
    case PL_RELATIVE_BRANCH: /* to the jump behind the next one */
        pl_arch_put_word(to, pl_arch_retarget(word, 2), 4);
        return pl_arch_put_jump(to + 4, at + 4, at + 12) && pl_arch_put_jump(to + 8, at + 8, target) ? 12 : 0;
    case PL_RELATIVE_ADDRESS: /* ldr xN, the address behind a jump */
        pl_arch_put_word(to, 0x58000000u | 2u << 5 | (word & 31), 4);
        pl_arch_put_word(to + 8, target, 8);
        return pl_arch_put_jump(to + 4, at + 4, at + 16) ? 16 : 0;
    case PL_RELATIVE_CALL: /* it returns to where it would have returned: ldr x30, that */
        pl_arch_put_word(to, 0x58000000u | 2u << 5 | 30, 4);
        pl_arch_put_word(to + 8, from + 4, 8);
        return pl_arch_put_jump(to + 4, at + 4, target) ? 16 : 0;
    default:
        return 0;
    }
}

/* No instruction leads to the one that changes. */
static inline bool pl_arch_entry_is_alone(const uint8_t *code, unsigned bytes, uintptr_t jump)
{
    for (unsigned at = 0; at + 4 <= bytes; at += 4) {
        uintptr_t target;
        enum pl_arch_relative how = pl_arch_relative(pl_arch_entry_word(code + at), (uintptr_t) code + at, &target);
        if ((how == PL_RELATIVE_JUMP || how == PL_RELATIVE_BRANCH) && target == jump)
            return false;
    }
    return true;
}

/* `code` is the function, where it is executed; `room` where the plan's room will be. False: it cannot be done. */
static inline bool pl_arch_plan_entry(const uint8_t *code, unsigned bytes, uintptr_t room, uintptr_t hook,
                                      struct pl_arch_entry *out)
{
    const uint32_t paciasp = 0xd503233f, pacibsp = 0xd503237f, autiasp = 0xd50323bf, autibsp = 0xd50323ff;
    uint32_t first = bytes >= 4 ? pl_arch_entry_word(code) : 0;
    bool marked = (first & 0xffffff3f) == 0xd503241f, is_signed = first == paciasp || first == pacibsp;
    unsigned skip = marked || is_signed ? 4 : 0, to = 0;
    if (bytes < skip + 4 || (uintptr_t) code % 4)
        return false;
    for (unsigned i = 0; i < PL_ARCH_ENTRY_ROOM; i++)
        out->room[i] = 0;
    out->jump = (uintptr_t) code + skip;
    if (is_signed) {
        pl_arch_put_word(out->room, first == paciasp ? autiasp : autibsp, 4);
        to = 4;
    }
    pl_arch_put_word(out->room + to, 0x58000000u | 2u << 5 | 16, 4); /* ldr x16, hook */
    pl_arch_put_word(out->room + to + 4, 0xd61f0200u, 4);            /* br x16 */
    pl_arch_put_word(out->room + to + 8, hook, 8);
    to += 16;
    out->body = room + to;
    if (is_signed) {
        pl_arch_put_word(out->room + to, first, 4);
        to += 4;
    }
    unsigned moved = pl_arch_move_instruction(pl_arch_entry_word(code + skip), out->jump, out->room + to, room + to);
    to += moved;
    return moved && pl_arch_entry_is_alone(code, bytes, out->jump) &&
           pl_arch_put_jump(out->room + to, room + to, out->jump + 4) && pl_arch_put_jump(out->after, out->jump, room);
}

/* Code at `at` has changed: other parts of the processor must notice. */
INLINE void pl_arch_entry_changed(uintptr_t at, unsigned bytes)
{
    __builtin___clear_cache((char *) at, (char *) at + bytes);
}

#endif
