/* SPDX-License-Identifier: MIT */
/*
 * live.c - allocates many small blocks from a few stacks and keeps them all: the cost of tracking live blocks.
 *
 *   live BLOCKS
 */
#include <stdio.h>
#include <stdlib.h>

#define BYTES 48
#define BLOCKS_MAX 20000000
#define STACKS 8

static void *kept[BLOCKS_MAX];

static __attribute__((noinline)) void *allocate(size_t depth)
{
    void *block = depth ? allocate(depth - 1) : malloc(BYTES);
    *(size_t *) block = depth;
    return block;
}

int main(int argc, char **argv)
{
    size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000000;
    if (blocks > BLOCKS_MAX)
        return 2;
    for (size_t i = 0; i < blocks; i++)
        kept[i] = allocate(i % STACKS);
    return kept[blocks - 1] ? 0 : 1;
}
