/* SPDX-License-Identifier: MIT */
/*
 * step.h - what if a signal came just here? Asked of every instruction of a piece of code.
 *
 *     at_each_step(1, ALL_STEPS, act, turn);  calls turn() again and again
 *
 *     step_begin(); CODE; step_end();         in turn(): the code that is interrupted, in one or more pieces
 *
 * The processor's trap flag makes a SIGTRAP of each instruction between the two. In the first turn act() is called in
 * the handler of the first one, then of the second, and so on, until the code is at its end before it is its turn. Only
 * one thread at a time may be stepped.
 */
#ifndef STEP_H
#define STEP_H

#include "account.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define ALL_STEPS LONG_MAX
#define TRAP_FLAG 0x100 /* of x86-64 */

static volatile long step_taken, step_target;
static void (*volatile step_act)(void);

static __attribute__((noinline)) void step_begin(void)
{
    if (step_taken < step_target)
        __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                             : "memory", "cc");
}

static __attribute__((noinline)) void step_end(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $-0x101, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

/* What follows the target's instruction is run as usual, also in a child that act() forks. */
static void on_step(int signal, siginfo_t *info, void *interrupted)
{
    (void) signal;
    (void) info;
    if (++step_taken != step_target)
        return;
    ((ucontext_t *) interrupted)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    step_act();
}

static bool step_was_reached(void)
{
    return step_taken >= step_target;
}

static void step_prepare(void (*act)(void))
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    step_target = 0;
    step_act = act;
}

/* At each `stride`th of the first `most`, to be correct. */
static __attribute__((unused)) void at_each_step(long stride, long most, void (*act)(void), void (*turn)(void))
{
    step_prepare(act);
    turn(); /* whatever is done only once, is done */
    do {
        step_target += stride;
        step_taken = 0;
        turn();
    } while (step_was_reached() && step_target < most);
}

static __attribute__((unused)) void same(const char *what, uint64_t seen, uint64_t expected)
{
    char line[256];
    if (seen == expected)
        return;
    snprintf(line, sizeof line, "%s: %llu instead of %llu, at step %ld", what, (unsigned long long) seen,
             (unsigned long long) expected, step_target);
    require(false, line);
}

static inline struct plimsoll_stats of_process(void)
{
    struct plimsoll_stats stats = {0};
    REQUIRE(plimsoll_stats(&stats, sizeof stats) == 0);
    return stats;
}

static inline struct plimsoll_stats of_tag(plimsoll_context tag)
{
    struct plimsoll_stats stats = {0};
    REQUIRE(plimsoll_tag_stats(tag, &stats, sizeof stats) == 0);
    return stats;
}

#endif
