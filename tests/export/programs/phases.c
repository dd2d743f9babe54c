/* SPDX-License-Identifier: MIT */
/*
 * phases.c - three phases, each with its own allocations. The blocks of the first phase are freed in the last.
 */
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS 20
#define BLOCKS 50
#define ROUND_US 20000

static void *kept[ROUNDS * BLOCKS];

static __attribute__((noinline)) void make_first(int round)
{
    for (int i = 0; i < BLOCKS; i++)
        kept[round * BLOCKS + i] = malloc(1000);
}

static __attribute__((noinline)) void make_and_free(int round)
{
    for (int i = 0; i < BLOCKS + round; i++)
        free(malloc(64));
}

static __attribute__((noinline)) void make_last(int round)
{
    for (int i = 0; i < BLOCKS; i++) {
        free(kept[round * BLOCKS + i]);
        kept[round * BLOCKS + i] = malloc(500);
    }
}

int main(void)
{
    static void (*const phase[])(int round) = {make_first, make_and_free, make_last};
    for (int p = 0; p < 3; p++)
        for (int round = 0; round < ROUNDS; round++) {
            phase[p](round);
            usleep(ROUND_US);
        }
}
