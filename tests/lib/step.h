/* SPDX-License-Identifier: MIT */
/*
 * step.h - interrupts a piece of code at every instruction, as a signal might.
 *
 *     at_each_step(1, ALL_STEPS, act, turn);  calls turn() repeatedly
 *
 *     at_every_step(500, 31, act, turn);      the same, faster: act() is called many times in each turn
 *
 *     step_begin(); CODE; step_end();         in turn(): the code that is interrupted, in one or more pieces
 *
 * The processor's trap flag raises a SIGTRAP after each instruction between the two. In the first turn the handler of
 * the first SIGTRAP calls act(), in the second turn that of the second, and so on, until the code ends before its
 * instruction is reached. Only one thread at a time may be stepped. A trap takes microseconds: do not step a million.
 *
 * Other processors have no trap flag that a program can set itself: there the code runs, but is never interrupted.
 */
#ifndef LIB_STEP_H
#define LIB_STEP_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

#define ALL_STEPS LONG_MAX
#define TRAP_FLAG 0x100 /* of x86-64 */

static volatile long step_taken, step_target, step_spacing;
static void (*volatile step_act)(void);

#if defined(__x86_64__)
#define STEP_INTERRUPTS true
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

static void stop_stepping(ucontext_t *interrupted)
{
    interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}
#else
#define STEP_INTERRUPTS false
static void step_begin(void)
{
}

static void step_end(void)
{
}

static void stop_stepping(ucontext_t *interrupted)
{
    (void) interrupted;
}
#endif

/* After the last target the code runs without traps, also in a child that act() forks. */
static void on_step(int signal, siginfo_t *info, void *interrupted)
{
    (void) signal;
    (void) info;
    if (++step_taken != step_target)
        return;
    if (step_spacing)
        step_target += step_spacing;
    else
        stop_stepping(interrupted);
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

/* Interrupts every `stride`th of the first `most` instructions. */
static __attribute__((unused)) void at_each_step(long stride, long most, void (*act)(void), void (*turn)(void))
{
    step_prepare(act);
    turn(); /* one-time initialisation happens here */
    do {
        step_target += stride;
        step_taken = 0;
        turn();
    } while (step_was_reached() && step_target < most);
}

/* The first turn interrupts one step in `spacing`, beginning with the first. Each later turn begins `stride` later. */
static __attribute__((unused)) void at_every_step(long spacing, long stride, void (*act)(void), void (*turn)(void))
{
    step_prepare(act);
    turn(); /* one-time initialisation happens here */
    step_spacing = spacing;
    for (long first = 1; first <= spacing; first += stride) {
        step_target = first;
        step_taken = 0;
        turn();
    }
    step_spacing = 0;
}

#endif
