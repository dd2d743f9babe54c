/* SPDX-License-Identifier: MIT */
/*
 * settled.c - never frees a large table, made at the start, and small entries, made during the first half of a second.
 * The table is larger, but the entries are more suspicious.
 */
#include <stdlib.h>
#include <time.h>

#define ROUNDS 100
#define ROUND_NS 10000000

static void *table, *entry[ROUNDS];

__attribute__((noinline)) static void make_table(void)
{
    table = malloc(1000000);
}

__attribute__((noinline)) static void make_entry(int i)
{
    entry[i] = malloc(100);
}

int main(void)
{
    struct timespec pause = {.tv_nsec = ROUND_NS};
    make_table();
    for (int i = 0; i < ROUNDS; i++) {
        if (i < ROUNDS / 2)
            make_entry(i);
        nanosleep(&pause, NULL);
    }
    return table == NULL || entry[0] == NULL;
}
