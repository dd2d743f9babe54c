/* SPDX-License-Identifier: MIT */
/*
 * reallocs.c - chains of reallocs: growing with and without free memory behind the block, shrinking, to zero, from
 * NULL, failing, and of another thread's blocks.
 *
 *   reallocs LEDGER
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X)                                                                                                       \
    X(first) X(in_the_way) X(grow) X(blocked) X(shrink) X(to_zero) X(from_null) X(in_vain) X(array) X(theirs) X(large)
LEDGER_DECLARE(SITES);

#define CHAINS 50
#define LINKS 40

static APART struct block site_first(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_first, bytes, malloc(bytes));
}

static APART struct block site_in_the_way(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_in_the_way, bytes, malloc(bytes));
}

#define MOVER(name)                                                                                                    \
    static APART struct block site_##name(struct block old, size_t bytes)                                              \
    {                                                                                                                  \
        return LEDGER_MOVE(SITE_##name, bytes, old, realloc(old.address, bytes));                                      \
    }
MOVER(grow)
MOVER(blocked)
MOVER(shrink)
MOVER(to_zero)
MOVER(from_null)
MOVER(in_vain)
MOVER(theirs)
MOVER(large)

static APART struct block site_array(struct block old, size_t count, size_t bytes)
{
    return LEDGER_MOVE(SITE_array, count * bytes, old, reallocarray(old.address, count, bytes));
}

/* The product of the factors overflows: the call fails, and the block does not change. */
static APART struct block site_array_in_vain(struct block old)
{
    static volatile size_t half = SIZE_MAX / 2;
    return reallocarray(old.address, half, 3) ? (struct block){0} : old;
}

static void grow_freely(void)
{
    struct block block = site_first(16);
    for (size_t i = 1; i < LINKS; i++)
        block = site_grow(block, 16 + i * 3000);
    ledger_free(block);
}

/* There is always a neighbour behind the block, so it cannot stay in place. */
static void grow_blocked(unsigned chain)
{
    struct block block = site_first(24), behind[LINKS];
    for (size_t i = 0; i < LINKS; i++) {
        behind[i] = site_in_the_way(40);
        block = site_blocked(block, 24 << (i % 10));
    }
    for (size_t i = 0; i < LINKS; i++)
        ledger_free(behind[i]);
    if (chain % 2)
        ledger_free(block);
}

static void shrink(void)
{
    struct block block = site_first(50000);
    while (block.bytes > 1)
        block = site_shrink(block, block.bytes / 2);
    ledger_free(block);
}

/* Above the mmap threshold: the kernel moves pages, and the address may change or not. */
static void grow_large(void)
{
    struct block block = site_first(1 << 20);
    for (size_t i = 2; i < 8; i++)
        block = site_large(block, i << 20);
    ledger_free(block);
}

static void end_and_begin(void)
{
    struct block none = {0};
    site_to_zero(site_first(100), 0);
    struct block block = site_from_null(none, 70);
    block = site_in_vain(block, PTRDIFF_MAX);
    block = site_array_in_vain(block);
    block = site_array(block, 9, 100);
    ledger_free(block);
    site_array(none, 10, 12); /* never freed */
}

static void *move_theirs(void *blocks)
{
    ledger_thread(1);
    for (unsigned i = 0; i < CHAINS; i++)
        ((struct block *) blocks)[i] = site_theirs(((struct block *) blocks)[i], 500 + i);
    return NULL;
}

static void hand_over(void)
{
    struct block blocks[CHAINS];
    pthread_t thread;
    for (size_t i = 0; i < CHAINS; i++)
        blocks[i] = site_first(30 + i);
    if (pthread_create(&thread, NULL, move_theirs, blocks))
        _exit(3);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < CHAINS; i++)
        ledger_free(blocks[i]);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned i = 0; i < CHAINS; i++) {
        grow_freely();
        grow_blocked(i);
        shrink();
        end_and_begin();
    }
    grow_large();
    hand_over();
    return 0;
}
