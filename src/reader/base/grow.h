/* SPDX-License-Identifier: MIT */
/*
 * grow.h - memory that is freed by hand: arrays that grow at the end, copies of texts. As with arenas, running out of
 * memory ends the program.
 */
#ifndef PL_GROW_H
#define PL_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *pl_grow_check(void *memory, size_t items, size_t bytes)
{
    if (!memory) {
        fprintf(stderr, "plimsoll: out of memory (%zu items of %zu bytes wanted)\n", items, bytes);
        exit(1);
    }
    return memory;
}

static inline void *pl_grow_zeroed(size_t items, size_t bytes)
{
    return pl_grow_check(calloc(items, bytes), items, bytes);
}

/* A copy of the first `bytes` bytes of a text. The caller frees it. */
static inline char *pl_grow_text(const char *text, size_t bytes)
{
    return pl_grow_check(strndup(text, bytes), bytes, 1);
}

/* `array` with room for item number `count`; items are of `bytes` bytes. Doubles, so n additions cost O(n). */
static inline void *pl_grow(void *array, uint32_t count, uint32_t *capacity, size_t bytes)
{
    if (count < *capacity)
        return array;
    size_t wanted = *capacity ? (size_t) *capacity * 2 : 8;
    array = pl_grow_check(wanted <= UINT32_MAX ? reallocarray(array, wanted, bytes) : NULL, wanted, bytes);
    *capacity = (uint32_t) wanted;
    return array;
}

#endif
