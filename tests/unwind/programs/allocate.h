/* SPDX-License-Identifier: MIT */
/*
 * allocate.h - for the programs that run under the oracle: a function whose stack is examined.
 */
#ifndef ALLOCATE_H
#define ALLOCATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

/* Not a tail call, so that the frame is kept. */
static NOINLINE void allocate(int n)
{
    void *volatile block = malloc((size_t) (n & 255));
    free(block);
    sink += n;
}

/* Provided by the oracle for code that must not allocate. Without the oracle it is null. */
extern void oracle_compare(void) __attribute__((weak));

__attribute__((unused)) static NOINLINE void compare_here(void)
{
    if (oracle_compare)
        oracle_compare();
    sink++;
}

/* The arguments of a program are the name of a scenario and a number of repetitions. */
struct scenario {
    const char *name;
    void (*run)(int times);
};

static inline int run_scenario(const struct scenario *scenarios, size_t count, int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < count; i++) {
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run(atoi(argv[2]));
            printf("%s done\n", argv[1]);
            return 0;
        }
    }
    fprintf(stderr, "usage: %s scenario times\n", argv[0]);
    return 2;
}

#endif
