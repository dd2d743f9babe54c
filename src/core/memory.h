/* SPDX-License-Identifier: MIT */
/*
 * memory.h - private memory for the core's tables.
 *
 * Every table is zero when new and is wiped by fork, so that a child starts with empty tables without being told: fork,
 * _Fork and raw clone alike. None of it is dumped, and none of it may become a huge page: 32 touched pages of a sparse
 * table would cost 64 MiB.
 */
#ifndef PL_MEMORY_H
#define PL_MEMORY_H

#include "sys.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

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

/* As many bytes in whole pages. */
INLINE size_t pl_memory_pages(size_t bytes)
{
    return (bytes + 4095) & ~(size_t) 4095;
}

/* Set in a sandbox, which fork inherits: there is no new memory in there. */
extern HIDDEN uint32_t pl_memory_frozen;

/* Zeroed pages, or NULL. These are the exception: fork keeps them. */
INLINE void *pl_memory_kept(size_t bytes)
{
    if (load_relaxed(&pl_memory_frozen))
        return NULL;
    void *at = pl_sys_mmap(NULL, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (at)
        pl_memory_keep_small(at, bytes);
    return at;
}

/* Zeroed pages, or NULL. */
INLINE void *pl_memory_new(size_t bytes)
{
    void *at = pl_memory_kept(bytes);
    if (at)
        pl_sys_madvise(at, bytes, MADV_WIPEONFORK);
    return at;
}

/* Installs new memory in *slot unless somebody else was faster; returns what is there now, or NULL. */
INLINE void *pl_memory_install(void **slot, size_t bytes)
{
    void *mine = pl_memory_new(bytes);
    if (mine && !swap_if(slot, NULL, mine))
        pl_sys_munmap(mine, bytes);
    return load_acquire(slot);
}

#endif
