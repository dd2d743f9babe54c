/* SPDX-License-Identifier: MIT */
/*
 * counts.c - threads that allocate from many stacks with every allocation function, move and free, at random.
 *
 *   counts LEDGER THREADS TURNS alone     each thread frees and moves its own blocks
 *   counts LEDGER THREADS TURNS together  it frees and moves any block, also those of other threads
 *   counts LEDGER THREADS TURNS cleanly   like together, and frees everything in the end; otherwise blocks are left
 *
 * With TURNS 0 it runs forever. With one thread main does everything.
 */
#include "../../lib/patience.h"
#include "../../lib/turns.h"
#include "ledger.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITES(X) X(malloc) X(calloc) X(aligned) X(memalign) X(posix) X(array) X(grow) X(brief)
LEDGER_DECLARE(SITES);

#define SLOTS 256
#define DEPTH_MAX 10

struct slot {
    char taken;
    struct block block;
};

struct worker {
    unsigned number;
    unsigned long turns;
    uint64_t random;
    struct slot *slots;
};

static struct slot own[LEDGER_THREADS][SLOTS], common[SLOTS];

static uint32_t draw(struct worker *worker, uint32_t below)
{
    worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t) (worker->random >> 33) % below;
}

/* ---- the sites ---- */

static APART struct block site_malloc(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_malloc, bytes, malloc(bytes));
}

static APART struct block site_brief(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_brief, bytes, malloc(bytes));
}

static APART struct block site_calloc(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_calloc, 3 * bytes, calloc(3, bytes));
}

static APART struct block site_aligned(size_t bytes)
{
    bytes = (bytes + 63) & ~(size_t) 63;
    return LEDGER_ALLOCATE(SITE_aligned, bytes, aligned_alloc(64, bytes));
}

static APART struct block site_memalign(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_memalign, bytes, memalign(256, bytes));
}

static APART struct block site_posix(size_t bytes)
{
    void *address = NULL;
    return LEDGER_ALLOCATE(SITE_posix, bytes, posix_memalign(&address, 32, bytes) ? NULL : address);
}

static APART struct block site_array(size_t bytes)
{
    struct block none = {0};
    return LEDGER_MOVE(SITE_array, 2 * bytes, none, reallocarray(NULL, 2, bytes));
}

static APART struct block site_grow(size_t bytes, struct block old)
{
    return LEDGER_MOVE(SITE_grow, bytes, old, realloc(old.address, bytes));
}

static struct block (*const sites[])(size_t) = {
    site_malloc, site_calloc, site_aligned, site_memalign, site_posix, site_array, site_malloc, site_malloc,
};

/* ---- many stacks ---- */

struct order {
    struct block (*allocate)(size_t bytes);
    size_t bytes;
    struct block old, made;
};

static void carry_out(void *argument)
{
    struct order *order = argument;
    order->made = order->allocate ? order->allocate(order->bytes) : site_grow(order->bytes, order->old);
}

/* ---- threads ---- */

static size_t draw_size(struct worker *worker)
{
    return draw(worker, 16) ? draw(worker, 400) : draw(worker, 60000);
}

static struct block make(struct worker *worker, struct block (*allocate)(size_t), struct block old)
{
    struct order order = {.allocate = allocate, .bytes = draw_size(worker) + !allocate, .old = old};
    descend(draw(worker, 1u << DEPTH_MAX), draw(worker, DEPTH_MAX), carry_out, &order);
    return order.made;
}

static void take(struct slot *slot)
{
    while (__atomic_test_and_set(&slot->taken, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void give(struct slot *slot)
{
    __atomic_clear(&slot->taken, __ATOMIC_RELEASE);
}

static void turn(struct worker *worker)
{
    struct slot *slot = &worker->slots[draw(worker, SLOTS)];
    struct block none = {0};
    uint32_t what = draw(worker, 10);
    take(slot);
    if (what < 3) {
        slot->block = make(worker, NULL, slot->block);
    } else if (what < 5) {
        ledger_free(make(worker, site_brief, none));
    } else {
        ledger_free(slot->block);
        slot->block = what == 9 ? none : make(worker, sites[draw(worker, 8)], none);
    }
    give(slot);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    ledger_thread(worker->number);
    for (unsigned long i = 0; !worker->turns || i < worker->turns; i++)
        turn(worker);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[LEDGER_THREADS];
    pthread_t thread[LEDGER_THREADS];
    if (argc != 5)
        return 2;
    unsigned threads = (unsigned) atoi(argv[2]);
    bool cleanly = strcmp(argv[4], "cleanly") == 0, together = cleanly || strcmp(argv[4], "together") == 0;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned i = 0; i < threads; i++) {
        unsigned number = threads > 1 ? i + 1 : 0;
        workers[i] = (struct worker){number, strtoul(argv[3], NULL, 10), i + 1, together ? common : own[i]};
        if (threads == 1)
            work(&workers[i]);
        else if (pthread_create(&thread[i], NULL, work, &workers[i]))
            return 3;
    }
    for (unsigned i = 0; threads > 1 && i < threads; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; cleanly && i < SLOTS; i++)
        ledger_free(common[i].block);
    return 0;
}
