/* SPDX-License-Identifier: MIT */
/*
 * trap.h - shared by the programs. A program that finds an error prints it without allocating, and ends at once.
 */
#ifndef TRAP_H
#define TRAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/apart.h"

#define CHECK(truth)                                                                                                   \
    do {                                                                                                               \
        if (!(truth)) {                                                                                                \
            dprintf(2, "%s:%d: not so: %s\n", __FILE__, __LINE__, #truth);                                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Hides from the compiler that a block is unused. Otherwise it would remove the pair of calls. */
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
