/* SPDX-License-Identifier: MIT */
/*
 * turns.h - calls a function through a different stack for every number: each bit is a call of turn_left or turn_right.
 */
#ifndef TURNS_H
#define TURNS_H

#include "trap.h"

typedef void turn_end(void *argument);

static void turn(unsigned number, unsigned bits, turn_end *end, void *argument);

static NOINLINE void turn_left(unsigned number, unsigned bits, turn_end *end, void *argument)
{
    turn(number >> 1, bits - 1, end, argument);
    __asm__ volatile("# left"); /* keeps the compiler from merging two equal functions */
}

static NOINLINE void turn_right(unsigned number, unsigned bits, turn_end *end, void *argument)
{
    turn(number >> 1, bits - 1, end, argument);
    __asm__ volatile("# right");
}

static NOINLINE void turn(unsigned number, unsigned bits, turn_end *end, void *argument)
{
    if (bits == 0)
        end(argument);
    else if (number & 1)
        turn_right(number, bits, end, argument);
    else
        turn_left(number, bits, end, argument);
    __asm__ volatile("");
}

#endif
