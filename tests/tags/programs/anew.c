/* SPDX-License-Identifier: MIT */
/*
 * anew.c - many stacks with a few allocations each, some of them kept; then a reset, and one stack that keeps nothing.
 */
#include <plimsoll.h>
#include <stdlib.h>
#include <unistd.h>

#define BITS 12
#define KEPT_OF 8
#define ROUNDS 40
#define ROUND_US 20000

static void *kept[(1 << BITS) / KEPT_OF];
static void *volatile sink;

static void allocate(unsigned number)
{
    void *block = malloc(1000);
    sink = block;
    if (number % KEPT_OF == 0)
        kept[number / KEPT_OF] = block;
    else
        free(block);
}

/* A different stack for each number: one frame for each bit. */
static __attribute__((noinline)) void one(unsigned number, unsigned left);

static __attribute__((noinline)) void zero(unsigned number, unsigned left)
{
    if (left == 0)
        allocate(number);
    else if (number >> (left - 1) & 1)
        one(number, left - 1);
    else
        zero(number, left - 1);
}

static __attribute__((noinline)) void one(unsigned number, unsigned left)
{
    if (left == 0)
        allocate(number);
    else if (number >> (left - 1) & 1)
        one(number, left - 1);
    else
        zero(number, left - 1);
}

static __attribute__((noinline)) void after(void)
{
    for (int i = 0; i < 10; i++) {
        sink = malloc(100);
        free(sink);
    }
}

int main(void)
{
    for (unsigned i = 0; i < 1 << BITS; i++)
        zero(i, BITS);
    usleep(5 * ROUND_US);
    plimsoll_reset();
    for (int i = 0; i < ROUNDS; i++) {
        after();
        usleep(ROUND_US);
    }
    return kept[0] == NULL;
}
