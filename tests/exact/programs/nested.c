/* SPDX-License-Identifier: MIT */
/*
 * nested.c - a handler allocates and frees at each instruction of an allocation and its free, one instruction after the
 * other.
 *
 *   nested LEDGER WHICH     see the table at the end
 *
 * To be run over an allocator that is safe in signal handlers.
 */
#include "../../lib/step.h"
#include "ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SITES(X) X(main) X(handler)
LEDGER_DECLARE(SITES);
SITES(LEDGER_MALLOC_SITE)

#define DEPTH 12

static void act(void)
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

static APART struct block descend(uint32_t turns, unsigned depth)
{
    if (depth == 0)
        return site_main(100);
    return turns & 1 ? turn_right(turns >> 1, depth - 1) : turn_left(turns >> 1, depth - 1);
}

static void known_stack(void)
{
    step_begin();
    ledger_free(site_main(100));
    step_end();
}

static void new_stack(void)
{
    static uint32_t turns;
    turns++;
    step_begin();
    ledger_free(descend(turns, DEPTH));
    step_end();
}

static void *run_thread(void *unused)
{
    ledger_thread(1);
    known_stack();
    return unused;
}

static void new_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, NULL))
        exit(3);
    pthread_join(thread, NULL);
}

static const struct {
    const char *name;
    void (*turn)(void);
    long spacing, stride; /* as of at_every_step(); a visit does not end while handlers keep coming to it */
} cases[] = {
    {"known-stack", known_stack, 250, 3},
    {"new-stack", new_stack, 500, 23},
    {"new-thread", new_thread, 500, 23},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[2]) == 0)
            at_every_step(cases[i].spacing, cases[i].stride, act, cases[i].turn);
    return 0;
}
