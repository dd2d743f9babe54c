/* SPDX-License-Identifier: MIT */
/*
 * step.h - what if a signal came just here? Asked of every instruction of a piece of code.
 *
 *     at_each_step(1, ALL_STEPS, act, turn);  calls turn() again and again
 *
 *     at_every_step(500, 31, act, turn);      the same, sooner: act() is called many times in each turn
 *
 *     step_begin(); CODE; step_end();         in turn(): the code that is interrupted, in one or more pieces
 *
 * The processor's trap flag makes a SIGTRAP of each instruction between the two. In the first turn act() is called in
 * the handler of the first one, then of the second, and so on, until the code is at its end before it is its turn. Only
 * one thread at a time may be stepped. A trap takes microseconds: a million of them take too long.
 */
#ifndef LIB_STEP_H
#define LIB_STEP_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#define ALL_STEPS LONG_MAX
#define TRAP_FLAG 0x100 /* of x86-64 */

static volatile long step_taken, step_target, step_spacing;
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

/* What follows the last target's instruction is run as usual, also in a child that act() forks. */
static void on_step(int signal, siginfo_t *info, void *interrupted)
{
    (void) signal;
    (void) info;
    if (++step_taken != step_target)
        return;
    if (step_spacing)
        step_target += step_spacing;
    else
        ((ucontext_t *) interrupted)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    step_act();
}

static __attribute__((unused)) bool step_was_reached(void)
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

/* At one step in `spacing`, beginning with the first, in the first turn; in each further turn `stride` steps later. */
static __attribute__((unused)) void at_every_step(long spacing, long stride, void (*act)(void), void (*turn)(void))
{
    step_prepare(act);
    turn(); /* whatever is done only once, is done */
    step_spacing = spacing;
    for (long first = 1; first <= spacing; first += stride) {
        step_target = first;
        step_taken = 0;
        turn();
    }
    step_spacing = 0;
}

#endif
