/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - reads little numbers out of tables that cannot be trusted.
 *
 * A read beyond the end yields zero and marks the cursor bad; nothing is read there. So a parser reads on without a
 * check after each step, and asks once.
 */
#ifndef PL_CURSOR_H
#define PL_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

struct pl_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

INLINE uint64_t pl_cursor_left(const struct pl_cursor *cursor)
{
    return (uint64_t) (cursor->end - cursor->at);
}

INLINE void pl_cursor_fail(struct pl_cursor *cursor)
{
    cursor->at = cursor->end;
    cursor->bad = true;
}

INLINE void pl_cursor_skip(struct pl_cursor *cursor, uint64_t bytes)
{
    if (bytes <= pl_cursor_left(cursor))
        cursor->at += bytes;
    else
        pl_cursor_fail(cursor);
}

/* An unsigned number of 1 to 8 bytes, least significant first. */
INLINE uint64_t pl_cursor_fixed(struct pl_cursor *cursor, unsigned bytes)
{
    uint64_t value = 0;
    if (bytes > pl_cursor_left(cursor)) {
        pl_cursor_fail(cursor);
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t) cursor->at[i] << (8 * i);
    cursor->at += bytes;
    return value;
}

INLINE uint8_t pl_cursor_byte(struct pl_cursor *cursor)
{
    return (uint8_t) pl_cursor_fixed(cursor, 1);
}

INLINE int64_t pl_sign_extend(uint64_t value, unsigned bits)
{
    return bits >= 64 ? (int64_t) value : (int64_t) (value << (64 - bits)) >> (64 - bits);
}

/* LEB128; *bits is how many bits were spelled out. */
INLINE uint64_t pl_cursor_leb(struct pl_cursor *cursor, unsigned *bits)
{
    uint64_t value = 0;
    uint8_t byte;
    *bits = 0;
    do {
        byte = pl_cursor_byte(cursor);
        if (*bits < 64)
            value |= (uint64_t) (byte & 0x7f) << *bits;
        *bits += 7;
    } while (byte & 0x80);
    return value;
}

INLINE uint64_t pl_cursor_uleb(struct pl_cursor *cursor)
{
    unsigned bits;
    return pl_cursor_leb(cursor, &bits);
}

INLINE int64_t pl_cursor_sleb(struct pl_cursor *cursor)
{
    unsigned bits;
    uint64_t value = pl_cursor_leb(cursor, &bits);
    return pl_sign_extend(value, bits);
}

#endif
