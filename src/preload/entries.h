/* SPDX-License-Identifier: MIT */
/*
 * entries.h - hooks for functions that are entered by a jump in their first bytes, not by the name that a caller looks
 * up: in a process that was attached to, and for an allocator that is linked into the program.
 *
 * An allocator's own functions call each other, and all of these calls come here. Only the outermost is the program's,
 * so a thread's word `inside` says where it is:
 *
 *   OUTSIDE ──► VISIT ──► REAL        VISIT: in the slow half of a hook. REAL: in the allocator, on behalf of a hook:
 *       └───────────────────┘         calls of other hooks are the allocator's own, and only forwarded
 *
 * A thread that is OUTSIDE and whose pc is not in our code does not need us any more once no entry leads here.
 */
#ifndef PL_ENTRIES_H
#define PL_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arch.h"
#include "core/compiler.h"
#include "format/desk.h"

enum pl_entry_inside {
    PL_ENTRY_OUTSIDE = 0,
    PL_ENTRY_VISIT = 1,
    PL_ENTRY_REAL = 2,
};

struct pl_entry_tls {
    uint16_t inside; /* enum pl_entry_inside */
    uint16_t family;
    uint32_t sp; /* the lower half of the stack pointer of the frame that set it */
};
extern HIDDEN __thread struct pl_entry_tls pl_entry_tls INITIAL_EXEC;

/* Until the end of the block, the thread is inside. */
static inline struct pl_entry_tls pl_entry_enter(enum pl_entry_inside inside, uint32_t family)
{
    struct pl_entry_tls before = pl_entry_tls;
    pl_entry_tls = (struct pl_entry_tls){(uint16_t) inside, (uint16_t) family, (uint32_t) pl_arch_stack_pointer()};
    signal_fence();
    return before;
}

static inline void pl_entry_leave(const struct pl_entry_tls *before)
{
    signal_fence();
    pl_entry_tls = *before;
}

#define PL_ENTRY_INSIDE(inside, family)                                                                                \
    __attribute__((cleanup(pl_entry_leave), unused)) struct pl_entry_tls before_ = pl_entry_enter(inside, family)

/* Adds the allocation functions of libc to the list, or those of another allocator, which may have more; returns how
 * many there are then. */
uint32_t pl_entries_list(struct pl_desk_hook *hook, uint32_t hooks);
uint32_t pl_entries_list_linked(struct pl_desk_hook *hook, uint32_t hooks);

/* Makes pl_next lead to the functions' own code. */
void pl_entries_start(void);

/* ---- functions that only some allocators have: others.c has their slow halves ---- */

typedef void *pl_other_function(uintptr_t a, uintptr_t b, uintptr_t c);

/* Calls one of them. */
void *pl_entries_call(pl_other_function *function, uintptr_t a, uintptr_t b, uintptr_t c);

size_t pl_entries_usable_bytes(void *block);

void *pl_slow_allocate(pl_other_function *real, unsigned counted_as, size_t bytes, uintptr_t a, uintptr_t b,
                       uintptr_t c);
void *pl_slow_release(pl_other_function *real, uintptr_t block, uintptr_t b, uintptr_t c);
void *pl_slow_move(pl_other_function *real, size_t bytes, uintptr_t block, uintptr_t b, uintptr_t c);

/* A jump out of frames up to this stack pointer. */
void pl_entries_thrown(uintptr_t sp);

#endif
