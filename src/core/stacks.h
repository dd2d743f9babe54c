/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - from a walk to the number of its stack.
 *
 * Stacks are a trie, outermost frame first, in which a stack is named by its innermost node. A stack that was seen
 * before costs one probe per frame; a new one appends only the frames that are new.
 */
#ifndef PL_STACKS_H
#define PL_STACKS_H

#include <stdint.h>

#include "unwind.h"

struct pl_process;
struct pl_thread;

/*
 * The last stack that was numbered, outermost frame first: the next one mostly begins as it does. A frame that says 0
 * and all further in are not known.
 */
struct pl_stack_memory {
    uint32_t generation;
    uint32_t node[PL_WALK_FRAMES + 1];
    uint64_t frame[PL_WALK_FRAMES + 1];
};

/* Walks the stack into thread->walk, and counts what became of that. */
void pl_stack_walk(struct pl_process *process, struct pl_thread *thread, const struct pl_start *start);

/* The stack of thread->walk; 0 when there is no room. */
uint32_t pl_stack_number(struct pl_process *process, struct pl_thread *thread);

#endif
