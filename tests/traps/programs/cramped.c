/* SPDX-License-Identifier: MIT */
/* cramped.c - needs most of the address space it is allowed: RLIMIT_AS is set by whoever starts it. */
#include <sys/resource.h>

#include "trap.h"

int main(int argc, char **argv)
{
    size_t bytes = (size_t) (argc > 1 ? atoi(argv[1]) : 1) << 20;
    char *block = keep(malloc(bytes));
    CHECK(block != NULL);
    memset(block, 1, bytes);
    for (int i = 0; i < 10000; i++)
        CHECK(keep(malloc(64)) != NULL);
    free(block);
    return 0;
}
