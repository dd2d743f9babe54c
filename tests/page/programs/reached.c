/* SPDX-License-Identifier: MIT */
/*
 * reached.c - allocates TIMES blocks, each DEPTH calls below main: `reached DEPTH TIMES [also]`. Seen from the inside,
 * stacks of different depths begin alike. With `also` there is one more, from another line of main.
 */
#include <stdlib.h>

static void *volatile kept;

__attribute__((noinline)) static void descend(int depth)
{
    if (depth > 1)
        descend(depth - 1);
    else
        kept = malloc(100);
    kept = kept; /* something is left to do: this is no tail call */
}

int main(int argc, char **argv)
{
    for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
        descend(atoi(argv[1]));
    if (argc > 3)
        descend(1);
    return 0;
}
