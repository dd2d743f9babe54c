/* SPDX-License-Identifier: MIT */
/*
 * walk.h - what the parts of the unwinder share: a place on a stack, and the ground, which is the memory it may read.
 *
 *   unwind.c      steps from frame to frame by cached rules, and keeps the frames
 *   rules.c       makes the rules and caches them
 *   code.c        how code without unwind tables returns, from its instructions
 *   generated.c   tells apart code that was made at run time, one after the other at the same address
 *   ehframe.c     .eh_frame -> the row of registers that a rule is made from
 *   expression.c  DWARF expressions within a row
 *   registers.c   steps with all registers, where a rule is not enough
 *   bounds.c      which memory may be read
 */
#ifndef PL_WALK_H
#define PL_WALK_H

#include "core/arch.h"
#include "core/compiler.h"
#include "core/unwind/code.h"
#include "core/unwind/ehframe.h"
#include "core/unwind/expression.h"
#include "core/unwind/unwind.h"

/* A step returns this, or the reason to stop. */
#define PL_GO_ON PL_STOP_COUNT

/* A frame, as seen from the frame it called: its registers just after that call returns. */
struct pl_walk_place {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t where; /* the address to look up: pc - 1, inside the call; pc itself if a signal interrupted the frame */
    uintptr_t floor; /* the frame's lowest address: sp, or the end of the red zone if a signal interrupted the frame */
    uint64_t flags;  /* PL_FRAME_* of this frame */
};

/* The scratch space of a walk. `here` and its registers outlive a step: see registers.c. */
struct pl_scratch {
    struct pl_walk_place place;
    uint32_t turns;       /* steps that may have led to another stack */
    bool registers_known; /* `here` and `registers` are set */
    struct pl_walk_place here;
    struct pl_registers registers;
    struct pl_registers next;
    uint64_t cfa;
    struct pl_cfi cfi;
    struct pl_machine machine;
    struct pl_code code;
};
_Static_assert(sizeof(struct pl_scratch) <= sizeof(((struct pl_walk *) 0)->scratch), "scratch space is too small");

INLINE struct pl_scratch *pl_walk_scratch(struct pl_walk *walk)
{
    return (struct pl_scratch *) (void *) walk->scratch;
}

/*
 * The ground is the memory around the current place that is known to be readable. pl_bounds_enter() finds it for the
 * page of sp, or returns why the walk must stop. pl_bounds_reach() extends it upwards to `end`. pl_walk_load() reads
 * a word on it.
 */
enum pl_stop pl_bounds_enter(struct pl_walk *walk, uintptr_t sp);
bool pl_bounds_reach(struct pl_walk *walk, uintptr_t end);

/* Reads any aligned word, on the ground or not, where unwind tables ask for it. */
bool pl_bounds_read(struct pl_walk *walk, uintptr_t address, uint64_t *out);

/* May pages be probed? Not in a sandbox, nor if the kernel does not tell. */
bool pl_bounds_may_ask(const struct pl_walk *walk);

/* We read the stack of the program that we unwind: a sanitizer must not check these loads. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PL_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PL_SANITIZED
#endif
#ifdef PL_SANITIZED
#define PL_WALK_LOAD static __attribute__((noinline, no_sanitize("address"), unused))
#else
#define PL_WALK_LOAD INLINE
#endif
PL_WALK_LOAD uintptr_t pl_walk_load(uintptr_t address)
{
    typedef uintptr_t __attribute__((may_alias)) word;
    return *(const word *) address;
}

/* Steps by frame pointer out of code without unwind tables, if it points to what looks like a frame. */
enum pl_stop pl_unwind_guess(struct pl_walk *walk, struct pl_walk_place *place);

/*
 * Sets the version of the code before `pc`, which is in no module (PL_FRAME_VERSIONS, format.h); 0 if it may not be
 * read. False: there is nothing that could be read, so it is no code.
 */
bool pl_generated_version(struct pl_walk *walk, uintptr_t pc, uint64_t *version);

/* Does this rule, of this pc, lead out of a signal handler's trampoline? */
bool pl_unwind_is_signal(struct pl_walk *walk, uintptr_t pc, uint32_t rule);

/* Steps out of a signal handler's trampoline into what the signal interrupted. */
enum pl_stop pl_unwind_leave_signal(struct pl_walk *walk, struct pl_walk_place *place);

/* Continues at `place`, which may be on another stack. `interrupted`: by a signal, so pc is not a return address. */
enum pl_stop pl_unwind_turn(struct pl_walk *walk, struct pl_walk_place *place, bool interrupted);

/* Steps with all registers: for frames that a rule cannot describe. */
enum pl_stop pl_registers_step(struct pl_walk *walk, struct pl_walk_place *place);

#endif
