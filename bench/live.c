/* SPDX-License-Identifier: MIT */
/*
 * live.c - allocates many blocks from a few stacks and keeps them all: the cost of tracking live blocks.
 *
 *   live BLOCKS [LEAST MOST]      of 48 bytes, or of sizes between these two, each as likely as the others
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 48u
#define BLOCKS_MAX 20000000
#define STACKS 8

static void *kept[BLOCKS_MAX];
static size_t least = BYTES, most = BYTES;

static size_t draw_size(void)
{
    static unsigned long long random = 1;
    random = random * 6364136223846793005u + 1442695040888963407u;
    return least + (size_t) (random >> 33) % (most - least + 1);
}

static __attribute__((noinline)) void *allocate(size_t depth, size_t bytes)
{
    void *block = depth ? allocate(depth - 1, bytes) : malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

int main(int argc, char **argv)
{
    size_t blocks = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000000;
    if (argc > 3) {
        least = strtoul(argv[2], NULL, 10);
        most = strtoul(argv[3], NULL, 10);
    }
    if (blocks < 1 || blocks > BLOCKS_MAX || most < least)
        return 2;
    for (size_t i = 0; i < blocks; i++)
        kept[i] = allocate(i % STACKS, draw_size());
    return kept[blocks - 1] ? 0 : 1;
}
