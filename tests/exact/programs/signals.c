/* SPDX-License-Identifier: MIT */
/*
 * signals.c - allocates and frees while a timer's handler does too, wherever it comes.
 *
 *   signals LEDGER TURNS PERIOD_US
 *
 * To be run over an allocator that is safe in signal handlers.
 */
#include "../../lib/patience.h"
#include "ledger.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define SITES(X) X(main) X(handler)
LEDGER_DECLARE(SITES);

#define DEPTH 12

static APART struct block site_main(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_main, bytes, malloc(bytes));
}

static APART struct block site_handler(size_t bytes)
{
    return LEDGER_ALLOCATE(SITE_handler, bytes, malloc(bytes));
}

static void handle(int signal)
{
    (void) signal;
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

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned long turns = strtoul(argv[2], NULL, 10);
    struct itimerval timer = {{0, atol(argv[3])}, {0, atol(argv[3])}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    alarm(PATIENCE_S);
    ledger_open(argv[1], site_names, SITE_COUNT);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (unsigned long i = 0; i < turns; i++)
        ledger_free(descend((uint32_t) i, DEPTH));
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
