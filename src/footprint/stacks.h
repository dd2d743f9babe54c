/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - which mappings are stacks of threads.
 *
 * A thread that waits in the kernel has its stack pointer in /proc/PID/task/TID/syscall. Those of running threads, and
 * stacks that the C library keeps for later threads, are recognized by the guard below them and by their size.
 */
#ifndef PL_STACKS_H
#define PL_STACKS_H

#include "reach/memory/space.h"

struct pl_stacks {
    uint64_t *pointer; /* stack pointers, in rising order */
    uint32_t count;
    uint32_t threads;
    uint64_t usual; /* size of a stack, unless the program asks for another */
};

void pl_stacks_read(struct pl_stacks *stacks, pid_t pid);
void pl_stacks_free(struct pl_stacks *stacks);

/* The stack at the beginning of part number `part`, as bytes; 0: it is none. `running`: of a thread that exists, as far
 * as can be seen. */
uint64_t pl_stacks_at(const struct pl_stacks *stacks, const struct pl_space *space, size_t part, bool *running);

#endif
