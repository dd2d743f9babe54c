/* SPDX-License-Identifier: MIT */
/*
 * memory.h - private memory for the core's tables.
 *
 * Every table is zero when new, and fork wipes it, so that a child starts with empty tables without a fork handler:
 * after fork, _Fork and a raw clone alike. Tables are not in core dumps and must not become huge pages: 32 touched
 * pages of a sparse table would cost 64 MiB.
 */
#ifndef PL_MEMORY_H
#define PL_MEMORY_H

#include "core/sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* The core may not call libc's memcpy(). */
INLINE void pl_memory_copy(void *to, const void *from, size_t bytes)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    for (size_t i = 0; i < bytes; i++)
        t[i] = f[i];
}

INLINE void pl_memory_keep_small(void *at, size_t bytes)
{
    pl_sys_madvise(at, bytes, MADV_NOHUGEPAGE);
    pl_sys_madvise(at, bytes, MADV_DONTDUMP);
}

INLINE void pl_memory_wipe_on_fork(void *at, size_t bytes)
{
    pl_memory_keep_small(at, bytes);
    pl_sys_madvise(at, bytes, MADV_WIPEONFORK);
}

#define PL_MEMORY_PAGE_LEAST 4096u

/* Rounds up to whole pages, of the largest kind. */
#define PL_MEMORY_PAGES(bytes) (((bytes) + PL_ARCH_PAGE_MOST - 1) & ~((size_t) PL_ARCH_PAGE_MOST - 1))
INLINE size_t pl_memory_pages(size_t bytes)
{
    return PL_MEMORY_PAGES(bytes);
}

/* Set in a sandbox: no memory may be mapped. Children inherit the sandbox, so fork does not wipe this. */
extern HIDDEN uint32_t pl_memory_frozen;

/*
 * The ledger of all tables: it says how much memory the profiler itself takes up (own.c), and a front end that can
 * leave a process again (pl_process_leave) gives all of them back at once.
 */
void pl_memory_enter(void *at, size_t bytes);
void pl_memory_strike(const void *at);
void pl_memory_free_all(void);

/* Calls `visit` with each table. Tables may come and go meanwhile. */
typedef void pl_memory_visitor(void *context, uintptr_t at, size_t bytes);
void pl_memory_each(pl_memory_visitor *visit, void *context);

/* Whole pages of a static array become zero again. */
void pl_memory_wipe(void *at, size_t bytes);

/* Zeroed pages, or NULL. The exception: fork keeps their contents. */
INLINE void *pl_memory_kept(size_t bytes)
{
    if (load_relaxed(&pl_memory_frozen))
        return NULL;
    void *at = pl_sys_mmap(NULL, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (at)
        pl_memory_keep_small(at, bytes);
    pl_memory_enter(at, bytes);
    return at;
}

INLINE void pl_memory_free(void *at, size_t bytes)
{
    pl_memory_strike(at); /* first: another thread may get the address at once */
    pl_sys_munmap(at, bytes);
}

/* Zeroed pages, or NULL. */
INLINE void *pl_memory_new(size_t bytes)
{
    void *at = pl_memory_kept(bytes);
    if (at)
        pl_sys_madvise(at, bytes, MADV_WIPEONFORK);
    return at;
}

/*
 * Memory for tables that stay, in whole pages. The first of them share a mapping, the nursery: to map each of them and
 * to advise the kernel takes four calls. Fork wipes it, so a child has its tables there as well, and needs none of
 * these calls.
 */
COLD void *pl_memory_table(size_t bytes);

/* In a child that has just been forked. `keep`: something still uses the parent's tables; then the child maps its own.
 */
COLD void pl_memory_forked(bool keep);

/* For tables that were not needed after all. */
COLD void pl_memory_give_back(void *at, size_t bytes);

/* Installs a new table in *slot unless another thread was faster; returns what is there now, or NULL. */
INLINE void *pl_memory_install(void **slot, size_t bytes)
{
    void *mine = pl_memory_table(bytes);
    if (mine && !swap_if(slot, NULL, mine))
        pl_memory_give_back(mine, bytes);
    return load_acquire(slot);
}

/* All of this will soon be written to. To touch a page of a table costs two page faults: it is read, then written to.
 * Beside it may be memory of the program, so this rounds to the smallest page, not to the largest: where pages are
 * larger and the table does not begin with one, the kernel refuses, which does no harm. */
INLINE void pl_memory_expect(void *at, size_t bytes)
{
    uintptr_t in_page = (uintptr_t) at % PL_MEMORY_PAGE_LEAST;
    if (!load_relaxed(&pl_memory_frozen))
        pl_sys_populate((uint8_t *) at - in_page, bytes + in_page);
}

#endif
