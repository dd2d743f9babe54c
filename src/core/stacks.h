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

struct pl_process;
struct pl_thread;

/* The stack of thread->walk; 0 when there is no room. */
uint32_t pl_stack_number(struct pl_process *process, struct pl_thread *thread);

#endif
