/* SPDX-License-Identifier: MIT */
/*
 * writes.c - holds memory, and writes to parts of it when it is told to. It prints `ready`; then, for each byte of its
 * input, it writes once and prints `written`. It ends with its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define MIB (1u << 20)
#define APART __attribute__((noinline, noclone))
#define SMALL 4000
#define WRITTEN_SMALL 1000 /* the first of them; each has a page of its own */
#define SMALL_BYTES 4080

static void *volatile all[4];
static char *volatile small[SMALL];

/* Written at the start, and not again. */
APART static char *idle(void)
{
    return malloc(32 * MIB);
}

/* Its first quarter is written each time. */
APART static char *quarter(void)
{
    return malloc(16 * MIB);
}

/* All of it is written each time. */
APART static char *busy(void)
{
    return malloc(8 * MIB);
}

APART static char *record(void)
{
    return malloc(SMALL_BYTES);
}

/* Comes between, and is full at once. */
APART static char *latecomer(void)
{
    return malloc(4 * MIB);
}

static void write_again(int with)
{
    memset(all[1], with, 4 * MIB);
    memset(all[2], with, 8 * MIB);
    for (int i = 0; i < WRITTEN_SMALL; i++)
        small[i][0] = (char) with;
}

int main(void)
{
    volatile char sum = 0;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* soft-dirty bits are those of huge pages */
    memset(all[0] = idle(), 1, 32 * MIB);
    memset(all[1] = quarter(), 1, 16 * MIB);
    memset(all[2] = busy(), 1, 8 * MIB);
    for (int i = 0; i < SMALL; i++)
        memset(small[i] = record(), 1, SMALL_BYTES);
    puts("ready");
    fflush(stdout);
    for (int with; (with = getchar()) != EOF;) {
        write_again(with);
        if (!all[3])
            memset(all[3] = latecomer(), 1, 4 * MIB);
        for (int i = 0; i < 32 * (int) MIB; i += 4096)
            sum = (char) (sum + ((char *) all[0])[i]); /* reading is not writing */
        puts("written");
        fflush(stdout);
    }
    return 0;
}
