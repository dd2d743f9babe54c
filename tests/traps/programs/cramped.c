/* SPDX-License-Identifier: MIT */
/*
 * cramped.c - needs most of the address space that RLIMIT_AS allows it. The test sets the limit, or it does so itself.
 *
 *   cramped MIB [OWN_LIMIT_MIB]
 */
#include <sys/resource.h>

#include "trap.h"

int main(int argc, char **argv)
{
    size_t bytes = (size_t) (argc > 1 ? atoi(argv[1]) : 1) << 20;
    struct rlimit limit = {.rlim_cur = (rlim_t) (argc > 2 ? atoi(argv[2]) : 0) << 20, .rlim_max = RLIM_INFINITY};
    free(keep(malloc(64)));
    CHECK(!limit.rlim_cur || setrlimit(RLIMIT_AS, &limit) == 0);
    char *block = keep(malloc(bytes));
    CHECK(block != NULL);
    memset(block, 1, bytes);
    for (int i = 0; i < 10000; i++)
        CHECK(keep(malloc(64)) != NULL);
    free(block);
    return 0;
}
