/* SPDX-License-Identifier: MIT */
/*
 * nested.c - a handler allocates and frees at each instruction of an allocation and its free.
 *
 *   nested LEDGER WHICH     see the table at the end
 *
 * It needs an allocator that is safe in signal handlers.
 */
#include "../../lib/patience.h"
#include "../../lib/step.h"
#include "handler_sites.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    ledger_free(allocate_below(turns));
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
    long spacing, stride; /* for at_every_step(); a visit never ends if handlers interrupt it too often */
} cases[] = {
    {"known-stack", known_stack, 250, 3},
    {"new-stack", new_stack, 500, 23},
    {"new-thread", new_thread, 500, 23},
};

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[2]) == 0)
            at_every_step(cases[i].spacing, cases[i].stride, allocate_and_free, cases[i].turn);
    return 0;
}
