/* SPDX-License-Identifier: MIT */
/*
 * kill_ledger.h - a program's own account of what it allocated and freed, in a mapped file that survives it.
 *
 * Each figure is a pair: one counter is incremented before the call and the other after it. At whatever instruction the
 * program is killed, the truth lies between the two. They differ by the one call that the thread was making.
 * kill_ledger.py reads this.
 */
#ifndef PL_TESTS_LEDGER_H
#define PL_TESTS_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#define LEDGER_MAGIC 0x4c454447u
#define LEDGER_WORKERS 4
#define LEDGER_DEPTH 11 /* a site is a path of this many turns, left or right */
#define LEDGER_SITES (1u << LEDGER_DEPTH)

struct ledger_pair {
    uint32_t started;
    uint32_t done;
};

struct ledger {
    uint32_t magic; /* stored at the start of main */
    uint32_t workers;
    uint32_t sites;
    uint32_t tid[LEDGER_WORKERS + 1];
    struct ledger_pair allocated[LEDGER_WORKERS][LEDGER_SITES];
    struct ledger_pair freed[LEDGER_WORKERS][LEDGER_WORKERS][LEDGER_SITES]; /* by whom, whose, where it was allocated */
};

/* The size of a block follows from its site. At least a struct block fits. */
static inline size_t ledger_size(uint32_t site)
{
    return 16 + site % 61 * 24;
}

#endif
