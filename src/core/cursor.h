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

/* The lower `bits` of a number as a signed one. */
INLINE int64_t pl_sign_extend(uint64_t value, unsigned bits)
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
