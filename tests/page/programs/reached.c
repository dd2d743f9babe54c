/* SPDX-License-Identifier: MIT */
/*
 * reached.c - allocates TIMES blocks, each DEPTH calls below main: `reached DEPTH TIMES [also]`. Stacks of different
 * depths have the same innermost frames. With `also`, main allocates one more block from another line.
 */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void descend(int depth)
{
    if (depth > 1)
        descend(depth - 1);
    else
        kept = malloc(100);
    kept = kept; /* work after the call, so that it is no tail call */
}

int main(int argc, char **argv)
{
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
        descend(atoi(argv[1]));
    if (argc > 3)
        descend(1);
    return 0;
}
