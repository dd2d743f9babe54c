/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - what the hooks share: the two tests of the hot path, and the cold half of each hook.
 */
#ifndef PL_HOOKS_H
#define PL_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arch.h"
#include "core/blocks/filter.h"
#include "core/threads.h"
#include "format/settings.h"

/* ---- the hot path ---- */

/* Counts a call and subtracts its charge; true if the cold path must be taken. */
#define HOT_CHARGE(function, bytes)                                                                                    \
    PL_HOT_CHARGE(offsetof(struct pl_tls, calls) + (function) * sizeof(uint64_t), (uint64_t) (bytes) + PL_CALL_CHARGE)
_Static_assert(offsetof(struct pl_tls, charge_left) == 0, "PL_HOT_CHARGE takes from the first word");

/* True if the block may be sampled, or counted by exact mode. */
INLINE bool hot_maybe_sampled(const void *block)
{
    return *pl_filter_byte(block) != 0;
}

/* ---- the cold path: slow.c ---- */

/* slow.c is compiled once more for the hooks of entries.c, if they are beside those of hooks.c. */
#ifdef PL_BESIDE
#define pl_slow_malloc pl_beside_malloc
#define pl_slow_free pl_beside_free
#define pl_slow_free_sized pl_beside_free_sized
#define pl_slow_free_aligned_sized pl_beside_free_aligned_sized
#define pl_slow_calloc pl_beside_calloc
#define pl_slow_realloc pl_beside_realloc
#define pl_slow_posix_memalign pl_beside_posix_memalign
#define pl_slow_aligned_alloc pl_beside_aligned_alloc
#define pl_slow_memalign pl_beside_memalign
#define pl_slow_valloc pl_beside_valloc
#define pl_slow_pvalloc pl_beside_pvalloc
#endif

/* A hook reaches its cold half by a tail jump, with the arguments and the program's return address unchanged, so each
 * of these functions finds its caller in its own frame. */
void *pl_slow_malloc(size_t n);
void pl_slow_free(void *p);
void pl_slow_free_sized(void *p, size_t n);
void pl_slow_free_aligned_sized(void *p, size_t alignment, size_t n);
void *pl_slow_calloc(size_t n, size_t m);
void *pl_slow_realloc(void *p, size_t n, bool due);
int pl_slow_posix_memalign(void **out, size_t alignment, size_t n);
void *pl_slow_aligned_alloc(size_t alignment, size_t n);
void *pl_slow_memalign(size_t alignment, size_t n);
void *pl_slow_valloc(size_t n);
void *pl_slow_pvalloc(size_t n);

/* ---- the beginning: start.c ---- */

/*
 * Asks libc to call us at exit, after everything that is registered later. The sooner the better: exit() frees each
 * table of handlers after it has called those in it, so the tables that are older than ours are freed after our end,
 * and libraries whose constructors run before ours may register hundreds of handlers. So the first malloc() does this.
 * Not calloc(): libc calls it for such a table, while it holds the lock.
 */
void pl_start_await_exit(void);
extern HIDDEN bool pl_start_awaits_exit;

/* ---- the other hooks: loader.c, lifecycle.c ---- */

/* A module with an allocator that is linked in under names of its own, such as je_malloc. NULL: there is none. */
const char *pl_loader_linked(void);

/* Looks up the real functions. Called by the constructor, while no thread holds the loader's lock. */
void pl_lifecycle_start(void);

/* Looks up the real mmap and the like: mappings.c. By the constructor, too. */
void pl_mappings_start(void);

struct pl_desk_hook;
struct pl_desk;

/* Of a process that is attached to: adds them to the functions that are hooked; says whether all that matter are. */
uint32_t pl_mappings_list(struct pl_desk_hook *hook, uint32_t hooks);
bool pl_mappings_entered(const struct pl_desk *desk);

/* What main has returned, or the argument of exit(). */
extern HIDDEN int pl_lifecycle_status;

/* NAME=VALUE: what exec adds to a program's environment, so that the program is profiled as well, LD_PRELOAD among
 * them. NULL: nothing. */
extern HIDDEN char *const *pl_lifecycle_follow;

/* Adds the functions that must be hooked in a process that was attached to; returns how many there are then. */
uint32_t pl_lifecycle_list(struct pl_desk_hook *hook, uint32_t hooks);

#endif
