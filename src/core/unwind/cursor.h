/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - reads numbers from tables that cannot be trusted.
 *
 * A read beyond the end touches no memory, yields zero and marks the cursor bad. So a parser need not check each read:
 * it checks once at the end.
 */
#ifndef PL_CURSOR_H
#define PL_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compiler.h"

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

/* The lower `bits` of a number, sign-extended. */
INLINE int64_t pl_cursor_sign_extend(uint64_t value, unsigned bits)
{
    return bits == 0 || bits >= 64 ? (int64_t) value : (int64_t) (value << (64 - bits)) >> (64 - bits);
}

void pl_cursor_skip(struct pl_cursor *cursor, uint64_t bytes);
uint8_t pl_cursor_byte(struct pl_cursor *cursor);

/* An unsigned number of 0 to 8 bytes, least significant first. */
uint64_t pl_cursor_fixed(struct pl_cursor *cursor, unsigned bytes);

uint64_t pl_cursor_uleb(struct pl_cursor *cursor);
int64_t pl_cursor_sleb(struct pl_cursor *cursor);

#endif
