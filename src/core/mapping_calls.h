/* SPDX-License-Identifier: MIT */
/*
 * mapping_calls.h - what both front ends do around each call that maps or unmaps memory.
 *
 * No call behaves in another way than the real one, and errno is left to that. What is about to be unmapped leaves the
 * table before the real call (mappings.h). `start` is where the program has made the call.
 */
#ifndef PL_MAPPING_CALLS_H
#define PL_MAPPING_CALLS_H

#include <sys/mman.h>
#include <sys/shm.h>

#include "core/mappings.h"
#include "core/sys.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* The real functions, and whose heap a mapping is in that `caller` has made. */
struct pl_mapping_calls {
    void *(*mmap)(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
    int (*munmap)(void *at, size_t bytes);
    void *(*mremap)(void *at, size_t bytes, size_t new_bytes, int flags, ...);
    int (*brk)(void *end);
    void *(*sbrk)(intptr_t bytes);
    void *(*shmat)(int id, const void *at, int flags);
    int (*shmdt)(const void *at);
    enum pl_heap_kind (*heap)(uintptr_t caller);
};

INLINE void pl_mapping_note(const struct pl_mapping_calls *real, struct pl_mapping *mapping,
                            const struct pl_start *start)
{
    mapping->heap = real->heap(start->pc - 1);
    pl_mapping_made(mapping, start);
}

/* MAP_FIXED replaces what is there. */
INLINE void *pl_mapping_map(const struct pl_mapping_calls *real, void *at, size_t bytes, int protection, int flags,
                            int fd, off_t offset, const struct pl_start *start)
{
    bool replaces = flags & MAP_FIXED && !(flags & MAP_FIXED_NOREPLACE);
    pl_leaving leaving = replaces ? pl_mapping_leaves((uintptr_t) at, bytes) : 0;
    void *mapped = real->mmap(at, bytes, protection, flags, fd, offset);
    if (replaces)
        pl_mapping_left(leaving, mapped != MAP_FAILED);
    if (mapped != MAP_FAILED)
        pl_mapping_note(real, &(struct pl_mapping){.at = (uintptr_t) mapped, .bytes = bytes}, start);
    return mapped;
}

INLINE int pl_mapping_unmap(const struct pl_mapping_calls *real, void *at, size_t bytes)
{
    pl_leaving leaving = pl_mapping_leaves((uintptr_t) at, bytes);
    int result = real->munmap(at, bytes);
    pl_mapping_left(leaving, result == 0);
    return result;
}

/* With an old size of 0 it makes a second mapping of the same pages. With MREMAP_DONTUNMAP the old addresses stay
 * mapped, empty. Otherwise it moves, grows or shrinks the mapping, as realloc does with a block. */
INLINE void *pl_mapping_remap(const struct pl_mapping_calls *real, void *at, size_t bytes, size_t new_bytes, int flags,
                              void *new_at, const struct pl_start *start)
{
    bool keeps = bytes == 0 || flags & MREMAP_DONTUNMAP;
    pl_leaving leaving = keeps ? 0 : pl_mapping_leaves((uintptr_t) at, bytes);
    pl_leaving replaced = flags & MREMAP_FIXED ? pl_mapping_leaves((uintptr_t) new_at, new_bytes) : 0;
    void *mapped = real->mremap(at, bytes, new_bytes, flags, new_at);
    pl_mapping_left(leaving, mapped != MAP_FAILED);
    pl_mapping_left(replaced, mapped != MAP_FAILED);
    if (mapped != MAP_FAILED)
        pl_mapping_note(
            real,
            &(struct pl_mapping){
                .at = (uintptr_t) mapped, .bytes = new_bytes, .before = keeps ? 0 : bytes, .moved = mapped != at},
            start);
    return mapped;
}

/* ---- the break ---- */

/* The kernel says where it is. */
INLINE uintptr_t pl_mapping_break_now(void)
{
    return (uintptr_t) pl_sys3(__NR_brk, 0, 0, 0);
}

INLINE void pl_mapping_break_moved(const struct pl_mapping_calls *real, uintptr_t from, uintptr_t to,
                                   pl_leaving leaving, const struct pl_start *start)
{
    pl_mapping_left(leaving, to < from);
    if (to > from)
        pl_mapping_note(real, &(struct pl_mapping){.at = from, .bytes = to - from}, start);
}

INLINE int pl_mapping_set_break(const struct pl_mapping_calls *real, void *end, const struct pl_start *start)
{
    uintptr_t from = pl_mapping_break_now(), to = (uintptr_t) end;
    pl_leaving leaving = to < from ? pl_mapping_leaves(to, from - to) : 0;
    int result = real->brk(end);
    pl_mapping_break_moved(real, from, result == 0 ? to : from, leaving, start);
    return result;
}

INLINE void *pl_mapping_move_break(const struct pl_mapping_calls *real, intptr_t bytes, const struct pl_start *start)
{
    uintptr_t from = pl_mapping_break_now(), to = from + (uintptr_t) bytes;
    pl_leaving leaving = bytes < 0 ? pl_mapping_leaves(to, from - to) : 0;
    void *before = real->sbrk(bytes);
    if (bytes)
        pl_mapping_break_moved(real, from, before == MAP_FAILED ? from : to, leaving, start);
    return before;
}

/* ---- System V shared memory ---- */

INLINE void *pl_mapping_attach(const struct pl_mapping_calls *real, int id, const void *at, int flags,
                               const struct pl_start *start)
{
    struct shmid_ds about = {.shm_segsz = 0};
    pl_sys3(__NR_shmctl, id, IPC_STAT, (long) &about);
    pl_leaving leaving = flags & SHM_REMAP ? pl_mapping_leaves((uintptr_t) at, about.shm_segsz) : 0;
    void *mapped = real->shmat(id, at, flags);
    pl_mapping_left(leaving, mapped != MAP_FAILED);
    if (mapped != MAP_FAILED)
        pl_mapping_note(real, &(struct pl_mapping){.at = (uintptr_t) mapped, .bytes = about.shm_segsz}, start);
    return mapped;
}

INLINE int pl_mapping_detach(const struct pl_mapping_calls *real, const void *at)
{
    pl_leaving leaving = pl_mapping_leaves((uintptr_t) at, pl_mapping_bytes((uintptr_t) at));
    int result = real->shmdt(at);
    pl_mapping_left(leaving, result == 0);
    return result;
}

#endif
