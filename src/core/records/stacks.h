/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - gives each stack a number.
 *
 * Stacks form a trie, outermost frame first; the number of a stack is that of its innermost node. A stack that was seen
 * before costs one lookup per frame; a new stack appends only the frames that are new.
 */
#ifndef PL_STACKS_H
#define PL_STACKS_H

#include <stdint.h>

#include "core/unwind/unwind.h"

struct pl_process;
struct pl_thread;

/*
 * The last stack that got a number, outermost frame first: the next stack mostly begins with the same frames. The first
 * entry whose `frame` is 0, and all after it, are not valid.
 */
struct pl_stack_memory {
    uint32_t generation;
    uint32_t node[PL_WALK_FRAMES + 1];
    uint64_t frame[PL_WALK_FRAMES + 1];
};

/* Walks the stack into thread->walk, and counts frames and the reason to stop in the header. */
void pl_stack_walk(struct pl_process *process, struct pl_thread *thread, const struct pl_start *start);

/* The number of the stack in thread->walk; 0 if there is no room. */
uint32_t pl_stack_number(struct pl_process *process, struct pl_thread *thread);

#endif
