/* SPDX-License-Identifier: MIT */
/*
 * walk.h - what the parts of the unwinder share: a place on a stack, and the ground one may read there.
 *
 *   unwind.c      steps from frame to frame by cached rules, and keeps the frames
 *   rules.c       makes the rules and caches them
 *   ehframe.c     .eh_frame -> the row of registers that a rule is made from
 *   expression.c  DWARF expressions within a row
 *   registers.c   steps with every register, where a rule cannot say it
 *   bounds.c      which memory may be read
 */
#ifndef PL_WALK_H
#define PL_WALK_H

#include "arch.h"
#include "compiler.h"
#include "ehframe.h"
#include "expression.h"
#include "unwind.h"

/* A step answers with this, or with the reason to stop. */
#define PL_GO_ON PL_STOP_COUNT

/* A frame, as seen from the frame it called: its registers just after that call returns. */
struct pl_place {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t where; /* the address to look up: pc - 1, inside of the call; pc itself if the frame was interrupted */
    uintptr_t floor; /* nothing of the frame lies below: sp, or the red zone's end if it was interrupted */
    uint64_t flags;  /* PL_FRAME_* of this frame */
};

/* The scratch space of a walk. `here` and its registers outlive a step: see registers.c. */
struct pl_scratch {
    struct pl_place place;
    uint32_t turns;       /* steps that did not lead up the same stack */
    bool registers_known; /* `here` and `registers` are set */
    struct pl_place here;
    struct pl_registers registers;
    struct pl_registers next;
    uint64_t cfa;
    struct pl_cfi cfi;
    struct pl_machine machine;
};
_Static_assert(sizeof(struct pl_scratch) <= sizeof(((struct pl_walk *) 0)->scratch), "scratch space is too small");

INLINE struct pl_scratch *pl_walk_scratch(struct pl_walk *walk)
{
    return (struct pl_scratch *) (void *) walk->scratch;
}

/*
 * Ground: the memory around the place that is known to be readable. Entering finds it for the page of sp, or says no;
 * reaching extends it upwards to `end`. A word on it can be read with pl_ground_load.
 */
enum pl_stop pl_bounds_enter(struct pl_walk *walk, uintptr_t sp);
bool pl_bounds_reach(struct pl_walk *walk, uintptr_t end);

/* Any word in memory, the ground's or another, for tables that ask for it. */
bool pl_bounds_read(struct pl_walk *walk, uintptr_t address, uint64_t *out);

/* The stack belongs to the program under it: no sanitizer has a say in which of its words we look at. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PL_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PL_SANITIZED
#endif
#ifdef PL_SANITIZED
#define PL_GROUND_LOAD static __attribute__((noinline, no_sanitize("address"), unused))
#else
#define PL_GROUND_LOAD INLINE
#endif
PL_GROUND_LOAD uintptr_t pl_ground_load(uintptr_t address)
{
    typedef uintptr_t __attribute__((may_alias)) word;
    return *(const word *) address;
}

/* Steps by frame pointer out of code without unwind tables, if what it points to looks like a frame. */
enum pl_stop pl_unwind_guess(struct pl_walk *walk, struct pl_place *place);

/* Steps out of a signal handler's trampoline into what the signal interrupted. */
enum pl_stop pl_unwind_leave_signal(struct pl_walk *walk, struct pl_place *place);

/* Places `place` on a stack that need not be the one before, at a pc that was called, or interrupted. */
enum pl_stop pl_unwind_turn(struct pl_walk *walk, struct pl_place *place, bool interrupted);

/* Steps with every register: for frames whose rule does not fit into a word. */
enum pl_stop pl_registers_step(struct pl_walk *walk, struct pl_place *place);

#endif
