/* SPDX-License-Identifier: MIT */
/*
 * lives.c - blocks of known sizes, and blocks that live for a known time.
 *
 *   lives LEDGER
 *
 * Prints for each site its blocks: "lived SITE BLOCKS AT_LEAST_NS AT_MOST_NS", "sized SITE BLOCKS BYTES".
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X) X(at_once) X(two_ms) X(forty_ms) X(a_while) X(for_ever) X(sizes)
LEDGER_DECLARE(SITES);

#define TOGETHER 10

SITES(LEDGER_MALLOC_SITE)
static struct block (*const sites[])(size_t) = {SITES(LEDGER_FUNCTION)};

/* TOGETHER blocks live for about this long. The real time, which depends on the machine, is measured. */
static void live_for(unsigned site, unsigned ms)
{
    struct block blocks[TOGETHER];
    uint64_t before = ledger_now_ns();
    for (size_t i = 0; i < TOGETHER; i++)
        blocks[i] = sites[site](50 + i);
    uint64_t made = ledger_now_ns();
    if (ms)
        ledger_sleep_ms(ms);
    uint64_t ending = ledger_now_ns();
    for (size_t i = 0; i < TOGETHER; i++)
        ledger_free(blocks[i]);
    dprintf(1, "lived %s %d %llu %llu\n", site_names[site], TOGETHER, (unsigned long long) (ending - made),
            (unsigned long long) (ledger_now_ns() - before));
}

/* Sizes on both sides of each power of two, in different numbers, so that buckets cannot be confused. */
static void try_sizes(void)
{
    for (unsigned shift = 0; shift < 26; shift++)
        for (size_t side = 0; side < 2; side++) {
            size_t bytes = ((size_t) 1 << shift) - side, blocks = 1 + shift + 3 * side;
            for (size_t i = 0; i < blocks; i++)
                ledger_free(site_sizes(bytes));
            dprintf(1, "sized site_sizes %zu %zu\n", blocks, bytes);
        }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (int i = 0; i < 5; i++)
        live_for(SITE_two_ms, 2);
    for (int i = 0; i < 3; i++)
        live_for(SITE_forty_ms, 40);
    live_for(SITE_a_while, 300);
    live_for(SITE_at_once, 0);
    site_for_ever(123);
    try_sizes();
    return 0;
}
