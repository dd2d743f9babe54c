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

#define BYTES 100
#define HANDLER_BYTES 40000 /* more than the profiler lets pass before its next visit */

/* A function that keeps its own frame and name. */
#if __has_attribute(noclone)
#define APART __attribute__((noinline, noclone))
#else
#define APART __attribute__((noinline))
#endif

static volatile uint64_t handled;

static void handle(int signal)
{
    (void) signal;
    free(malloc(HANDLER_BYTES));
    handled++;
}

static void *descend(uint32_t turns, unsigned depth);

APART static void *turn_left(uint32_t turns, unsigned depth)
{
    void *block = descend(turns, depth);
    __asm__ volatile("# left" : "+r"(block));
    return block;
}

APART static void *turn_right(uint32_t turns, unsigned depth)
{
    void *block = descend(turns, depth);
    __asm__ volatile("# right" : "+r"(block));
    return block;
}

static void *descend(uint32_t turns, unsigned depth)
{
    if (depth == 0)
        return malloc(BYTES);
    return turns & 1 ? turn_right(turns >> 1, depth - 1) : turn_left(turns >> 1, depth - 1);
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
    for (uint64_t i = 0; i < calls; i++)
        free(descend((uint32_t) i, 16));
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%llu %llu\n", (unsigned long long) (calls + handled),
           (unsigned long long) (calls * BYTES + handled * HANDLER_BYTES));
    return 0;
}
