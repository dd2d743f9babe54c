/* SPDX-License-Identifier: MIT */
/*
 * turns.h - calls a function through a different stack for every number.
 *
 *     descend(number, depth, end, argument);
 *
 * calls end(argument) below `depth` calls of turn_left() and turn_right(). The lowest bit of `number` chooses the
 * outermost of them: 0 is left, 1 is right.
 */
#ifndef LIB_TURNS_H
#define LIB_TURNS_H

#include <stdint.h>

#include "apart.h"

typedef void turns_end(void *argument);

static void descend(uint32_t turns, unsigned depth, turns_end *end, void *argument);

/* The texts keep the compiler from merging two equal functions, and the calls from becoming jumps. */
static APART void turn_left(uint32_t turns, unsigned depth, turns_end *end, void *argument)
{
    descend(turns, depth, end, argument);
    __asm__ volatile("# left" ::: "memory");
}

static APART void turn_right(uint32_t turns, unsigned depth, turns_end *end, void *argument)
{
    descend(turns, depth, end, argument);
    __asm__ volatile("# right" ::: "memory");
}

static APART void descend(uint32_t turns, unsigned depth, turns_end *end, void *argument)
{
    if (depth == 0)
        end(argument);
    else if (turns & 1)
        turn_right(turns >> 1, depth - 1, end, argument);
    else
        turn_left(turns >> 1, depth - 1, end, argument);
    __asm__ volatile("" ::: "memory");
}

#endif
