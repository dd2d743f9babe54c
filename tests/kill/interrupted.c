/* SPDX-License-Identifier: MIT */
/*
 * interrupted.c - allocates while a timer's handler allocates, too, and prints the number of calls and bytes.
 *
 *   interrupted CALLS PERIOD_US
 *
 * It needs an allocator that is safe in signal handlers. New stacks keep the profile growing, so that handlers
 * interrupt every part of the profiler, including its system calls.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "../lib/turns.h"

#define BYTES 100
#define HANDLER_BYTES 40000 /* more than the profiler lets pass before its next visit */

static volatile uint64_t handled;

static void handle(int signal)
{
    (void) signal;
    free(malloc(HANDLER_BYTES));
    handled++;
}

static void allocate(void *block)
{
    *(void **) block = malloc(BYTES);
}

int main(int argc, char **argv)
{
    uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    long period_us = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, period_us}, {0, period_us}}, never = {{0, 0}, {0, 0}};
    static char line[64];
    setvbuf(stdout, line, _IOLBF, sizeof line); /* keeps stdio from allocating */
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (uint64_t i = 0; i < calls; i++) {
        void *block;
        descend((uint32_t) i, 16, allocate, &block);
        free(block);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%llu %llu\n", (unsigned long long) (calls + handled),
           (unsigned long long) (calls * BYTES + handled * HANDLER_BYTES));
    return 0;
}
