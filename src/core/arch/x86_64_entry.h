/* SPDX-License-Identifier: MIT */
/*
 * x86_64_entry.h - makes calls of a function lead elsewhere, by a jump in its first bytes.
 *
 *   function: jmp ──► room: jmp *hook          body: the first instructions of the function, moved here
 *             the rest ◄────────────────────────────  jmp rest
 *
 * The plan says which bytes change and what goes to `room`. It is refused unless every instruction of the function can
 * be read, none of them leads into the bytes that change, and the first ones can be moved.
 */
#ifndef PL_ARCH_X86_64_ENTRY_H
#define PL_ARCH_X86_64_ENTRY_H

#include "core/arch/x86_64_code.h"

#define PL_ARCH_ENTRY_ROOM 64          /* bytes at `room`, for each function */
#define PL_ARCH_ENTRY_REACH (1u << 30) /* how far from the function it may be */
#define PL_ARCH_ENTRY_BYTES 5          /* a jump, 32 bits relative */
#define PL_ARCH_ENTRY_SLACK 24         /* bytes behind the function that must be readable */

struct pl_arch_entry {
    uintptr_t jump; /* where bytes change: at the entry, or behind its endbr64 */
    uintptr_t body; /* calls the function itself */
    uint8_t after[PL_ARCH_ENTRY_BYTES];
    uint8_t room[PL_ARCH_ENTRY_ROOM];
};

INLINE void pl_arch_put_word(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t) (value >> 8 * i);
}

/* Four bytes that are `target` less the address `end` behind them. */
static inline bool pl_arch_put_distance(uint8_t *to, uintptr_t end, uintptr_t target)
{
    int64_t distance = (int64_t) (target - end);
    pl_arch_put_word(to, (uint64_t) distance, 4);
    return distance == (int32_t) distance;
}

static inline bool pl_arch_put_jump(uint8_t *to, uintptr_t at, uintptr_t target)
{
    to[0] = 0xe9;
    return pl_arch_put_distance(to + 1, at + PL_ARCH_ENTRY_BYTES, target);
}

/* Moves an instruction to the address `at`. Returns its bytes there; 0: that cannot be done. */
static inline unsigned pl_arch_move_instruction(const struct pl_arch_instruction *in, const uint8_t *from, uint8_t *to,
                                                uintptr_t at)
{
    uint8_t op = from[0];
    if (in->flow == PL_FLOW_ON || in->flow == PL_FLOW_RETURN) {
        for (unsigned i = 0; i < in->bytes; i++)
            to[i] = from[i];
        uintptr_t target = (uintptr_t) from + in->bytes +
                           (uintptr_t) (intptr_t) (in->relative_at ? pl_arch_code_word(from + in->relative_at) : 0);
        return !in->relative_at || pl_arch_put_distance(to + in->relative_at, at + in->bytes, target) ? in->bytes : 0;
    }
    if (in->flow == PL_FLOW_JUMP)
        return pl_arch_put_jump(to, at, in->target) ? PL_ARCH_ENTRY_BYTES : 0;
    bool narrow = (op & 0xf0) == 0x70, wide = op == 0x0f && (from[1] & 0xf0) == 0x80;
    if (in->flow != PL_FLOW_BRANCH || (!narrow && !wide))
        return 0;
    to[0] = 0x0f;
    to[1] = (uint8_t) (0x80 | ((narrow ? op : from[1]) & 0xf));
    return pl_arch_put_distance(to + 2, at + 6, in->target) ? 6 : 0;
}

/* A call that returns to where it would have returned, which unwind tables know: push it, and jump. */
static inline unsigned pl_arch_put_call(uint8_t *to, uintptr_t at, uintptr_t target, uintptr_t back)
{
    to[0] = 0x68; /* push $, 4 bytes */
    pl_arch_put_word(to + 1, back, 4);
    pl_arch_put_word(to + 5, 0x042444c7, 4); /* movl $, 4(%rsp) */
    pl_arch_put_word(to + 9, back >> 32, 4);
    return pl_arch_put_jump(to + 13, at + 13, target) ? 13 + PL_ARCH_ENTRY_BYTES : 0;
}

/* True: all of its instructions are known, and none leads into the bytes that change. */
static inline bool pl_arch_entry_is_alone(const uint8_t *code, unsigned bytes, uintptr_t jump)
{
    for (unsigned at = 0; at < bytes;) {
        struct pl_arch_instruction in = pl_arch_read_instruction(code + at);
        bool leads = in.flow == PL_FLOW_BRANCH || in.flow == PL_FLOW_JUMP;
        if (!in.bytes || (leads && in.target - jump < PL_ARCH_ENTRY_BYTES))
            return false;
        at += in.bytes;
    }
    return true;
}

/* `code` is the function, where it is executed; `room` where the plan's room will be. False: it cannot be done. */
static inline bool pl_arch_plan_entry(const uint8_t *code, unsigned bytes, uintptr_t room, uintptr_t hook,
                                      struct pl_arch_entry *out)
{
    enum { MARK = 4, INDIRECT = 14, MOST = PL_ARCH_ENTRY_ROOM - 2 * 15 };
    bool marked = bytes > MARK && (uint32_t) pl_arch_code_word(code) == 0xfa1e0ff3; /* endbr64 */
    unsigned from = marked ? MARK : 0, to = INDIRECT, end = from + PL_ARCH_ENTRY_BYTES;
    out->jump = (uintptr_t) code + from;
    out->body = room + INDIRECT;
    for (unsigned i = 0; i < PL_ARCH_ENTRY_ROOM; i++)
        out->room[i] = 0xcc;
    pl_arch_put_word(out->room, 0x25ff, 6); /* jmp *(what follows) */
    pl_arch_put_word(out->room + 6, hook, 8);
    if (!pl_arch_entry_is_alone(code, bytes, out->jump))
        return false;
    for (bool ended = false; from < end;) {
        const uint8_t *here = code + from;
        struct pl_arch_instruction in = pl_arch_read_instruction(here);
        unsigned moved = 0, next = from + in.bytes;
        if (!ended && next <= bytes && to <= MOST)
            moved = in.flow != PL_FLOW_CALL ? pl_arch_move_instruction(&in, here, out->room + to, room + to)
                    : *here == 0xe8 && next >= end
                        ? pl_arch_put_call(out->room + to, room + to,
                                           (uintptr_t) code + next + (uintptr_t) (intptr_t) pl_arch_code_word(here + 1),
                                           (uintptr_t) code + next)
                        : 0;
        if (!moved)
            return false;
        ended = in.flow == PL_FLOW_JUMP || in.flow == PL_FLOW_RETURN;
        from = next;
        to += moved;
    }
    return pl_arch_put_jump(out->room + to, room + to, (uintptr_t) code + from) &&
           pl_arch_put_jump(out->after, out->jump, room);
}

/* Code at `at` has changed. */
INLINE void pl_arch_entry_changed(uintptr_t at, unsigned bytes)
{
    (void) at, (void) bytes;
}

#endif
