/* SPDX-License-Identifier: MIT */
/* phases.c - allocates at one place, waits for a signal, and allocates at another. Whoever signals has changed the rate. */
#include <signal.h>

#include "trap.h"

static NOINLINE void *fine_allocate(void)
{
    return keep(malloc(100));
}

static NOINLINE void *coarse_allocate(void)
{
    return keep(malloc(101));
}

int main(void)
{
    sigset_t set;
    int number;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 20000; i++)
        free(fine_allocate());
    dprintf(1, "fine\n");
    CHECK(sigwait(&set, &number) == 0);
    for (int i = 0; i < 200000; i++)
        free(coarse_allocate());
    return 0;
}
