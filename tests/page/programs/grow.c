/* SPDX-License-Identifier: MIT */
/*
 * grow.c - for every line that it reads, allocates another 100 KiB in a hundred blocks and prints how many bytes it
 * holds. Ends at the end of its input.
 */
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 100
#define BLOCK_BYTES 1024

struct kept {
    struct kept *before;
    char rest[BLOCK_BYTES - sizeof(struct kept *)];
};

static __attribute__((noinline)) struct kept *keep_more(struct kept *before)
{
    for (int i = 0; i < BLOCKS; i++) {
        struct kept *block = malloc(sizeof *block);
        if (!block)
            abort();
        block->before = before;
        before = block;
    }
    return before;
}

int main(void)
{
    struct kept *kept = NULL;
    for (unsigned long rounds = 1; getchar() != EOF; rounds++) {
        kept = keep_more(kept);
        printf("%lu\n", rounds * BLOCKS * BLOCK_BYTES);
        fflush(stdout);
    }
    return kept == NULL;
}
