/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - how much memory the live table of exact mode takes for blocks of one size, with this program's malloc.
 *
 *   blocks            with glibc
 *   blocks others     with a preloaded jemalloc, tcmalloc or mimalloc
 *
 * The table itself (src/core/blocks/blocks.c) gets addresses from malloc. mincore shows how much it takes, so the
 * result is the same on every machine.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks/blocks.h"
#include "core/blocks/filter.h"
#include "core/memory.h"

#define PAGE 4096u
#define BLOCKS_MAX 1000000u
#define HEAP_BYTES (64u << 20)
#define SLAB_PAGES_MAX ((80u << 20) / PAGE)

uint8_t pl_filter[PL_FILTER_BYTES] PAGE_ALIGNED;
uint32_t pl_memory_frozen;

static struct pl_blocks blocks;
static uintptr_t address[BLOCKS_MAX];
static unsigned char resident[SLAB_PAGES_MAX];

static uint64_t pages_at(const void *at, uint64_t bytes)
{
    uint64_t pages = 0;
    if (mincore((void *) (uintptr_t) at, bytes, resident))
        abort();
    for (uint64_t i = 0; i < bytes / PAGE; i++)
        pages += resident[i] & 1;
    return pages;
}

static unsigned list_slabs(uint64_t **slabs, unsigned max)
{
    unsigned count = 0;
    for (unsigned top = 0; top < 1u << PL_REGION_TOP_BITS; top++)
        for (unsigned low = 0; blocks.top[top] && low < 1u << PL_REGION_LOW_BITS; low++)
            if (blocks.top[top][low] && count < max)
                slabs[count++] = blocks.top[top][low];
    return count;
}

/* Pages of all slabs. */
static uint64_t table_pages(void)
{
    static uint64_t *slabs[4096];
    unsigned count = list_slabs(slabs, 4096);
    uint64_t pages = 0;
    for (unsigned i = 0; i < count; i++)
        pages += pages_at(slabs[i] - PL_BLOCK_FRONT, blocks.mapped_bytes / count);
    return pages;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *) a, y = *(const uintptr_t *) b;
    return (x > y) - (x < y);
}

/* Pages that contain a part of a block. */
static uint64_t heap_pages(unsigned count, uint64_t size)
{
    uint64_t pages = 0, next = 0;
    qsort(address, count, sizeof *address, by_address);
    for (unsigned i = 0; i < count; i++) {
        uint64_t first = address[i] / PAGE, last = (address[i] + size - 1) / PAGE;
        first = first < next ? next : first;
        pages += last + 1 - first;
        next = last + 1;
    }
    return pages;
}

static void remember(uintptr_t block, uint64_t size)
{
    if (!pl_block_make(&blocks, block))
        abort();
    uint64_t *slot = pl_block_slot(&blocks, pl_block_slab(&blocks, block), block, size);
    slot[0] = 1;
    if (size >= PL_BLOCK_SIZE_NEXT)
        slot[1] = size;
    pl_filter_mark_exact((void *) block);
}

static void measure(uint64_t size)
{
    const unsigned count = size * BLOCKS_MAX > HEAP_BYTES ? (unsigned) (HEAP_BYTES / size) : BLOCKS_MAX;
    uint64_t filter_before = pages_at(pl_filter, sizeof pl_filter);
    for (unsigned i = 0; i < count; i++) {
        address[i] = (uintptr_t) malloc(size);
        remember(address[i], size);
    }
    uint64_t heap = heap_pages(count, size), table = table_pages();
    uint64_t filter = pages_at(pl_filter, sizeof pl_filter) - filter_before;
    printf("| %7lu | %9u | %8.1f | %8.0f | %6.2f |\n", (unsigned long) size, count, (double) (table * PAGE) / count,
           (double) (table * PAGE) / (double) heap, (double) (filter * PAGE) / count);
    for (unsigned i = 0; i < count; i++)
        free((void *) address[i]);
}

int main(int argc, char **argv)
{
    const uint64_t sizes[] = {8, 16, 24, 48, 100, 300, 1000, 10000, 200000};
    puts("| block   |    blocks | per block | per page | filter |\n|---|---|---|---|---|");
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(&blocks, 0, sizeof blocks);
        memset(pl_filter, 0, sizeof pl_filter);
        madvise(pl_filter, sizeof pl_filter, MADV_DONTNEED);
        blocks.granule_shift = argc > 1 && strcmp(argv[1], "others") == 0 ? 3 : 5;
        measure(sizes[i]);
    }
    return 0;
}
