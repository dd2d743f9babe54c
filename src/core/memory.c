/* SPDX-License-Identifier: MIT */
/* memory.c - the nursery of memory.h, where the first tables are; and its ledger: which tables are mapped. */
#include "core/memory.h"

#define ENTRIES 255

/* Bytes are 0 while an entry is being written: whoever reads it then skips it. */
static struct page {
    struct page *next;
    struct {
        void *at; /* NULL: free */
        size_t bytes;
    } entry[ENTRIES];
} first_page, *pages = &first_page;
_Static_assert(sizeof(struct page) <= 4096, "a page of the ledger is a page");

static bool write_down(struct page *page, void *at, size_t bytes)
{
    for (unsigned i = 0; i < ENTRIES; i++)
        if (!load_relaxed(&page->entry[i].at) && swap_if(&page->entry[i].at, NULL, at)) {
            store_release(&page->entry[i].bytes, bytes);
            return true;
        }
    return false;
}

/* If there is no memory for a page, nobody knows of the table, and it stays mapped for good. */
void pl_memory_enter(void *at, size_t bytes)
{
    if (!at)
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
    if (!at)
        return;
    for (struct page *page = load_acquire(&pages); page; page = page->next)
        for (unsigned i = 0; i < ENTRIES; i++)
            if (load_relaxed(&page->entry[i].at) == at) {
                store_release(&page->entry[i].bytes, 0);
                store_release(&page->entry[i].at, NULL);
                return;
            }
}

void pl_memory_each(pl_memory_visitor *visit, void *context)
{
    for (struct page *page = load_acquire(&pages); page; page = page->next)
        for (unsigned i = 0; i < ENTRIES; i++) {
            uintptr_t at = (uintptr_t) load_acquire(&page->entry[i].at);
            size_t bytes = load_acquire(&page->entry[i].bytes);
            if (at && bytes)
                visit(context, at, bytes);
        }
}

/* As much as the tables take that every process has: after mlockall() all of it is resident. */
#define NURSERY_BYTES (132u << 10)
static struct {
    uint8_t *at;   /* NULL: not mapped */
    uint64_t used; /* bytes; also those of tables that did not fit */
} nursery;

void pl_memory_free_all(void)
{
    nursery.at = NULL;
    nursery.used = 0;
    for (struct page *page = load_acquire(&pages); page; page = page->next)
        for (unsigned i = 0; i < ENTRIES; i++) {
            size_t bytes = exchange(&page->entry[i].bytes, 0);
            void *at = exchange(&page->entry[i].at, NULL);
            if (at && bytes)
                pl_sys_munmap(at, bytes);
        }
}

static uint8_t *map_nursery(void)
{
    uint8_t *mine = pl_memory_kept(NURSERY_BYTES);
    if (!mine)
        return NULL;
    if (pl_sys_madvise(mine, NURSERY_BYTES, MADV_WIPEONFORK) || !swap_if(&nursery.at, NULL, mine))
        pl_memory_free(mine, NURSERY_BYTES);
    return load_acquire(&nursery.at);
}

void *pl_memory_table(size_t bytes)
{
    uint8_t *at = load_acquire(&nursery.at);
    if (!at)
        at = map_nursery();
    if (at && bytes <= NURSERY_BYTES && load_relaxed(&nursery.used) <= NURSERY_BYTES - bytes) {
        uint64_t used = fetch_add(&nursery.used, bytes);
        if (used <= NURSERY_BYTES - bytes)
            return at + used;
    }
    return pl_memory_new(bytes);
}

void pl_memory_give_back(void *at, size_t bytes)
{
    uintptr_t offset = (uintptr_t) at - (uintptr_t) load_relaxed(&nursery.at);
    if (!nursery.at || offset >= NURSERY_BYTES) /* in the nursery, it stays unused until the next fork */
        pl_memory_free(at, bytes);
}

void pl_memory_forked(bool keep)
{
    nursery.used = 0;
    if (keep)
        nursery.at = NULL;
}

/* Pages of a static array become zero, and are not resident any more. */
void pl_memory_wipe(void *at, size_t bytes)
{
    if (pl_sys_madvise(at, bytes, MADV_DONTNEED) == 0)
        return;
    for (size_t i = 0; i < bytes; i++) /* locked in memory */
        ((uint8_t *) at)[i] = 0;
}
