/* SPDX-License-Identifier: MIT */
/*
 * cursor.c - the reads of cursor.h. Out of line on purpose: inlined, they would make every parser use more stack.
 */
#include "core/unwind/cursor.h"

COLD void pl_cursor_skip(struct pl_cursor *cursor, uint64_t bytes)
{
    if (bytes <= pl_cursor_left(cursor))
        cursor->at += bytes;
    else
        pl_cursor_fail(cursor);
}

COLD uint64_t pl_cursor_fixed(struct pl_cursor *cursor, unsigned bytes)
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

COLD uint8_t pl_cursor_byte(struct pl_cursor *cursor)
{
    if (cursor->at < cursor->end)
        return *cursor->at++;
    cursor->bad = true;
    return 0;
}

/*
 * LEB128: seven bits per byte, least significant first; the eighth bit says that more bytes follow. In the signed form,
 * the highest of the seven bits in the last byte is the sign.
 */
COLD uint64_t pl_cursor_uleb(struct pl_cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
        uint8_t byte = *cursor->at++;
        value |= shift < 64 ? (uint64_t) (byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            return value;
    }
    cursor->bad = true;
    return 0;
}

COLD int64_t pl_cursor_sleb(struct pl_cursor *cursor)
{
    const uint8_t *start = cursor->at;
    uint64_t value = pl_cursor_uleb(cursor);
    return pl_cursor_sign_extend(value, 7 * (unsigned) (cursor->at - start));
}
