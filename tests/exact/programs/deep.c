/* SPDX-License-Identifier: MIT */
/*
 * deep.c - allocates on the way down a recursion, at its bottom, and on the way up.
 *
 *   deep LEDGER
 *
 * Depths lie around the limit of recorded frames, and far beyond it.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES(X) X(down) X(bottom) X(up)
LEDGER_DECLARE(SITES);

#define STACK_BYTES ((size_t) 64 << 20)

#define SITE(name)                                                                                                     \
    static APART struct block site_##name(size_t bytes)                                                                \
    {                                                                                                                  \
        return LEDGER_ALLOCATE(SITE_##name, bytes, malloc(bytes));                                                     \
    }
SITE(down)
SITE(bottom)
SITE(up)

static void descend(unsigned levels, unsigned every);

static APART void step_odd(unsigned levels, unsigned every)
{
    char room[24];
    __asm__ volatile("" : : "r"(room) : "memory");
    descend(levels, every);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static APART void step_even(unsigned levels, unsigned every)
{
    descend(levels, every);
    __asm__ volatile("" ::: "memory");
}

static APART void descend(unsigned levels, unsigned every)
{
    struct block block = {0};
    if (levels % every == 0)
        block = site_down(levels % 1000);
    if (levels == 0)
        site_bottom(77);
    else if (levels % 2)
        step_odd(levels - 1, every);
    else
        step_even(levels - 1, every);
    if (levels % every == 0) {
        ledger_free(block);
        ledger_free(site_up(levels % 777));
    }
}

static void *work(void *unused)
{
    static const unsigned depths[] = {1, 10, 60, 63, 64, 65, 119, 120, 121, 125, 126, 127, 128, 129, 200, 500, 2000};
    ledger_thread(1);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        descend(depths[i], 1);
    for (int i = 0; i < 3; i++)
        descend(100000, 500);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    pthread_t thread;
    if (argc != 2)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, work, NULL))
        return 3;
    pthread_join(thread, NULL);
    return 0;
}
