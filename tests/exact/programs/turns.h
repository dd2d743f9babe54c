/* SPDX-License-Identifier: MIT */
/*
 * turns.h - sites of main and of a signal handler, and stacks that differ in the order of two functions.
 *
 * For programs whose handlers allocate. It must be included once, because it declares the ledger's sites.
 */
#ifndef TURNS_H
#define TURNS_H

#include "ledger.h"

#include <stdlib.h>

#define SITES(X) X(main) X(handler)
LEDGER_DECLARE(SITES);
SITES(LEDGER_MALLOC_SITE)

#define DEPTH 12

/* The work of a handler. */
static inline void allocate_and_free(void)
{
    struct block first = site_handler(40), second = site_handler(50);
    ledger_free(first);
    ledger_free(second);
}

static struct block descend(uint32_t turns, unsigned depth);

static APART struct block turn_left(uint32_t turns, unsigned depth)
{
    struct block block = descend(turns, depth);
    __asm__ volatile("# left" ::: "memory");
    return block;
}

static APART struct block turn_right(uint32_t turns, unsigned depth)
{
    struct block block = descend(turns, depth);
    __asm__ volatile("# right" ::: "memory");
    return block;
}

/* Allocates at main's site. Each of the lowest `depth` bits of `turns` chooses a frame of the stack. */
static APART struct block descend(uint32_t turns, unsigned depth)
{
    if (depth == 0)
        return site_main(100);
    return turns & 1 ? turn_right(turns >> 1, depth - 1) : turn_left(turns >> 1, depth - 1);
}

#endif
