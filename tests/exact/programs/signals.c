/* SPDX-License-Identifier: MIT */
/*
 * signals.c - allocates and frees while a timer's handler does the same at any point.
 *
 *   signals LEDGER TURNS PERIOD_US
 *
 * It needs an allocator that is safe in signal handlers.
 */
#include "handler_sites.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

static void handle(int signal)
{
    (void) signal;
    allocate_and_free();
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    unsigned long turns = strtoul(argv[2], NULL, 10);
    struct itimerval timer = {{0, atol(argv[3])}, {0, atol(argv[3])}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    ledger_open(argv[1], site_names, SITE_COUNT);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (unsigned long i = 0; i < turns; i++)
        ledger_free(allocate_below((uint32_t) i));
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
