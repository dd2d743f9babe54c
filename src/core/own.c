/* SPDX-License-Identifier: MIT */
/*
 * own.c - see own.h.
 *
 * What it costs: a page table entry is read for each page of our tables, some 10 ns, so 1 ms or so for the tables of a
 * heap of 1 GiB. It is done when RSS has grown by a 64th since the last time, and at the end.
 *
 * Not counted: the library's code and variables (about 0.5 MiB, and at most 2 MiB more in very large heaps), and tables
 * that a forked child still shares with its parent.
 */
#include "core/own.h"

#include "core/memory.h"
#include "core/process.h"

#define GROWN_SHARE 64
#define GROWN_LEAST (1 << 20)
#define RSS_LEAST (8 << 20)
#define PRESENT (1ull << 63)   /* in memory, not swapped out */
#define EXCLUSIVE (1ull << 56) /* no other process has it, and it is not the kernel's page of zeros */
#define WORDS 512

/* Those who take moments take turns, so there is one. Our stack may be small. */
static uint64_t word[WORDS];

struct count {
    int pagemap;
    uint64_t page_bytes;
    uint64_t flags; /* of the pages to count */
    uint64_t pages;
};

/* How many of these entries have all flags. */
static uint64_t count_words(uint64_t words, uint64_t flags)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < words; i++)
        found += (word[i] & flags) == flags;
    return found;
}

static void count_pages(void *context, uintptr_t at, size_t bytes)
{
    struct count *count = context;
    uint64_t from = at / count->page_bytes, to = (at + bytes) / count->page_bytes;
    while (from < to) {
        uint64_t words = to - from < WORDS ? to - from : WORDS;
        long got = pl_sys_pread(count->pagemap, word, words * sizeof *word, from * sizeof *word);
        if (got <= 0)
            return;
        count->pages += count_words((uint64_t) got / sizeof *word, count->flags);
        from += words;
    }
}

/* The bytes that are resident of our tables; 0: not all are known. */
static uint64_t measure_tables(const struct pl_process *process, int pagemap)
{
    struct count tables = {pagemap, pl_front.page_bytes(), PRESENT | EXCLUSIVE, 0};
    pl_memory_each(count_pages, &tables);
    return pl_block_each_slab(&process->blocks, count_pages, &tables) ? tables.pages * tables.page_bytes : 0;
}

static uint64_t measure_file(const struct pl_file *file, int pagemap)
{
    struct count pages = {pagemap, pl_front.page_bytes(), PRESENT, 0};
    count_pages(&pages, (uintptr_t) file->base, load_relaxed(&file->file_bytes));
    return pages.pages * pages.page_bytes;
}

static void measure(const struct pl_process *process, int pagemap, uint64_t rss_bytes, bool last)
{
    struct pl_header *header = pl_file_header(&process->file);
    uint64_t bytes = measure_tables(process, pagemap);
    if (last)
        store_relaxed(&header->own_end_bytes, bytes);
    if (!bytes || rss_bytes <= load_relaxed(&header->own_rss_bytes))
        return;
    store_relaxed(&header->own_bytes, bytes);
    store_relaxed(&header->own_file_bytes, measure_file(&process->file, pagemap));
    store_release(&header->own_rss_bytes, rss_bytes);
}

/* Processes that remain small are measured only when they end. */
static bool has_grown(const struct pl_process *process, uint64_t rss_bytes)
{
    uint64_t highest = load_relaxed(&pl_file_header(&process->file)->own_rss_bytes);
    uint64_t step = highest / GROWN_SHARE > GROWN_LEAST ? highest / GROWN_SHARE : GROWN_LEAST;
    return rss_bytes >= RSS_LEAST && rss_bytes > highest + step;
}

void pl_own_measure(const struct pl_process *process, uint64_t rss_bytes, bool last)
{
    if (process->sandboxed || rss_bytes == 0 || !(last || has_grown(process, rss_bytes)))
        return;
    long pagemap = pl_sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (pagemap < 0)
        return;
    measure(process, (int) pagemap, rss_bytes, last);
    pl_sys_close((int) pagemap);
}
