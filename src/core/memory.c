/* SPDX-License-Identifier: MIT */
/* memory.c - the ledger of memory.h: which tables are mapped, so that all of them can be given back. */
#include "core/memory.h"

#define ENTRIES 255

bool pl_memory_in_ledger;

static struct page {
    struct page *next;
    struct {
        void *at; /* NULL: free */
        size_t bytes;
    } entry[ENTRIES];
} * pages;
_Static_assert(sizeof(struct page) <= 4096, "a page of the ledger is a page");

static bool write_down(struct page *page, void *at, size_t bytes)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        if (!load_relaxed(&page->entry[i].at) && swap_if(&page->entry[i].at, NULL, at)) {
            page->entry[i].bytes = bytes;
            return true;
        }
    return false;
}

/* If there is no memory for a page, the table stays mapped for good. */
void pl_memory_enter(void *at, size_t bytes)
{
    if (likely(!pl_memory_in_ledger) || !at)
        return;
    for (;;) {
        struct page *first = load_acquire(&pages);
        for (struct page *page = first; page; page = page->next)
            if (write_down(page, at, bytes))
                return;
        struct page *new = pl_sys_mmap(NULL, sizeof *new, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (!new)
            return;
        new->next = first;
        if (!swap_if(&pages, first, new))
            pl_sys_munmap(new, sizeof *new);
    }
}

void pl_memory_strike(const void *at)
{
    if (likely(!pl_memory_in_ledger) || !at)
        return;
    for (struct page *page = load_acquire(&pages); page; page = page->next)
        for (unsigned i = 0; i < ENTRIES; i++)
            if (load_relaxed(&page->entry[i].at) == at) {
                store_release(&page->entry[i].at, NULL);
                return;
            }
}

void pl_memory_free_all(void)
{
    for (struct page *page = load_acquire(&pages); page; page = page->next)
        for (unsigned i = 0; i < ENTRIES; i++) {
            void *at = exchange(&page->entry[i].at, NULL);
            if (at)
                pl_sys_munmap(at, page->entry[i].bytes);
        }
}

/* Pages of a static array become zero, and are not resident any more. */
void pl_memory_wipe(void *at, size_t bytes)
{
    if (pl_sys_madvise(at, bytes, MADV_DONTNEED) == 0)
        return;
    for (size_t i = 0; i < bytes; i++) /* locked in memory */
        ((uint8_t *) at)[i] = 0;
}
