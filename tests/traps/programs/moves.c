/* SPDX-License-Identifier: MIT */
/*
 * moves.c - realloc in every way, each in its own function, so that the figures of each can be compared.
 */
#include <errno.h>
#include <stdint.h>

#include "trap.h"

#define TIMES 50

static APART void *first_allocate(size_t bytes)
{
    return keep(malloc(bytes));
}

static APART void *grow_in_place(void *block)
{
    return keep(realloc(block, 104)); /* glibc keeps the chunk */
}

static APART void *grow_away(void *block)
{
    return keep(realloc(block, 300000));
}

static APART void *shrink(void *block)
{
    return keep(realloc(block, 10));
}

static APART void *fail_to_grow(void *block)
{
    return keep(realloc(block, (size_t) PTRDIFF_MAX - 1));
}

static APART void *from_nothing(void)
{
    return keep(realloc(NULL, 77));
}

static APART void *to_nothing(void *block)
{
    return keep(realloc(block, 0));
}

static APART void *by_array(void *block)
{
    return keep(reallocarray(block, 7, 11));
}

int main(void)
{
    for (int i = 0; i < TIMES; i++) {
        void *block = first_allocate(100);
        void *volatile same = block;
        CHECK((block = grow_in_place(block)) != NULL);
        CHECK(block == same);
        CHECK((block = grow_away(block)) != NULL);
        CHECK((block = shrink(block)) != NULL);
        CHECK(fail_to_grow(block) == NULL && errno == ENOMEM);
        CHECK(fail_to_grow(NULL) == NULL);
        CHECK((block = by_array(block)) != NULL);
        void *nothing = to_nothing(block);
        free(nothing);
        free(from_nothing());
        if (i == 0)
            free(first_allocate(100));
    }
    return 0;
}
