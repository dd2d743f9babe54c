/* SPDX-License-Identifier: MIT */
/*
 * allocate.h - for the programs that are run under the oracle: a place in the stack that is looked at.
 */
#ifndef ALLOCATE_H
#define ALLOCATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

/* Not a tail call: the frame is to be seen. */
static NOINLINE void allocate(int n)
{
    void *volatile block = malloc((size_t) (n & 255));
    free(block);
    sink += n;
}

/* What the oracle offers to code that must not allocate. Without the oracle, nothing. */
extern void oracle_compare(void) __attribute__((weak));

__attribute__((unused)) static NOINLINE void compare_here(void)
{
    if (oracle_compare)
        oracle_compare();
    sink++;
}

/* Programs take the name of one thing to do and how often. */
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
