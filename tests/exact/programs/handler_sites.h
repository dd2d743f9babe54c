/* SPDX-License-Identifier: MIT */
/*
 * handler_sites.h - sites of main and of a signal handler; main allocates with many different stacks.
 *
 * For programs whose handlers allocate. It must be included once, because it declares the ledger's sites.
 */
#ifndef HANDLER_SITES_H
#define HANDLER_SITES_H

#include "../../lib/turns.h"
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

static void allocate_at_main(void *made)
{
    *(struct block *) made = site_main(100);
}

/* Allocates at main's site. The lowest 12 bits of `turns` choose the stack. */
static inline struct block allocate_below(uint32_t turns)
{
    struct block made;
    descend(turns, DEPTH, allocate_at_main, &made);
    return made;
}

#endif
