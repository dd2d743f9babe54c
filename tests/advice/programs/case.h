/* SPDX-License-Identifier: MIT */
/*
 * case.h - shared by the programs of this directory. Each does one thing that gets advice, or something similar,
 * depending on its argument. The function that advice must name is called site_SOMETHING.
 */
#ifndef CASE_H
#define CASE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART __attribute__((noinline))
#define ROUND_NS 1000000

static inline bool case_is(int count, char **words, const char *name)
{
    return count == 2 && strcmp(words[1], name) == 0;
}

static inline int case_unknown(const char *program)
{
    fprintf(stderr, "%s: no such case\n", program);
    return 2;
}

static inline void case_wait(void)
{
    nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
}

static inline double case_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* Hides from the compiler that the block is unused, so that it is not left out. */
static inline void *case_use(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

#endif
