/* SPDX-License-Identifier: MIT */
/*
 * trap.h - what the programs share. They say what went wrong without allocating, and end at once.
 */
#ifndef TRAP_H
#define TRAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A function that is found in the profile under its own name. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth);                                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The compiler must not know that a block goes nowhere: it would leave out the pair of calls. */
static inline void *keep(void *block)
{
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static inline int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static inline long resident_kib(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
