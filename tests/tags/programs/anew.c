/* SPDX-License-Identifier: MIT */
/*
 * anew.c - many stacks with a few allocations each, some of them kept; then a reset, and one stack that keeps nothing.
 */
#include <plimsoll.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../lib/turns.h"

#define BITS 12
#define KEPT_OF 8
#define ROUNDS 40
#define ROUND_US 20000

static void *kept[(1 << BITS) / KEPT_OF];
static void *volatile sink;

static void allocate(void *argument)
{
    unsigned number = *(unsigned *) argument;
    void *block = malloc(1000);
    sink = block;
    if (number % KEPT_OF == 0)
        kept[number / KEPT_OF] = block;
    else
        free(block);
}

static APART void after(void)
{
    for (int i = 0; i < 10; i++) {
        sink = malloc(100);
        free(sink);
    }
}

int main(void)
{
    for (unsigned i = 0; i < 1 << BITS; i++)
        descend(i, BITS, allocate, &i);
    usleep(5 * ROUND_US);
    plimsoll_reset();
    for (int i = 0; i < ROUNDS; i++) {
        after();
        usleep(ROUND_US);
    }
    return kept[0] == NULL;
}
