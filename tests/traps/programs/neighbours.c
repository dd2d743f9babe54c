/* SPDX-License-Identifier: MIT */
/*
 * neighbours.c - allocates small blocks and prints how close to each other the allocator puts them.
 *
 *   neighbours [BLOCKS]     blocks of 8 bytes, of which it frees every other one
 */
#include <stdint.h>

#include "trap.h"

#define BLOCKS_MAX 5000

static void *block[BLOCKS_MAX];

static APART void *neighbours_allocate(void)
{
    return keep(malloc(8));
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *) a, y = *(const uintptr_t *) b;
    return (x > y) - (x < y);
}

static size_t closest(int blocks)
{
    static uintptr_t sorted[BLOCKS_MAX];
    size_t least = SIZE_MAX;
    memcpy(sorted, block, sizeof sorted);
    qsort(sorted, (size_t) blocks, sizeof *sorted, by_address);
    for (int i = 1; i < blocks; i++)
        if (sorted[i] - sorted[i - 1] < least)
            least = sorted[i] - sorted[i - 1];
    return least;
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : BLOCKS_MAX;
    for (int i = 0; i < blocks; i++)
        CHECK((block[i] = neighbours_allocate()) != NULL);
    dprintf(1, "%zu bytes apart\n", closest(blocks));
    for (int i = 0; i < blocks; i += 2)
        free(block[i]);
    return 0;
}
