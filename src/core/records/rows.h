/* SPDX-License-Identifier: MIT */
/*
 * rows.h - sampled mode: finds the row of a thread and a site, and adds samples to it.
 */
#ifndef PL_ROWS_H
#define PL_ROWS_H

#include <stdint.h>

#include "core/blocks/live.h"
#include "core/unwind/unwind.h"

struct pl_process;
struct pl_thread;

/* A cache of each thread: most samples come from stacks that it has seen recently. Written by that thread alone. */
#define PL_ROW_CACHE 512
struct pl_row_entry {
    uint64_t hash; /* of all frames and the generation of the modules */
    uint64_t row;
};

/* The row for the stack that begins at `start`; the thread's overflow row if there is no room; 0 if not even that
 * exists. */
uint32_t pl_row_number(struct pl_process *process, struct pl_thread *thread, const struct pl_start *start);

/* The site of a stack under a tag; PL_SITE_OVERFLOW if there is no room. PL_STACK_OTHER stands for all stacks, and is
 * for allocations outside of the recorded sizes. */
#define PL_STACK_OTHER UINT32_MAX
uint32_t pl_row_site(struct pl_process *process, uint32_t stack, uint32_t tag);

/* The key, in the process's map, of a thread's row or tally for a stack under its current tag. */
uint64_t pl_row_key(const struct pl_thread *thread, uint32_t stack, uint64_t kind);

/* A hash of the frames of a walk and the generation of the modules; never 0. */
uint64_t pl_row_hash(const struct pl_walk *walk, uint64_t generation);

/* The thread's row for allocations outside of the recorded sizes, under its current tag. */
uint32_t pl_row_other(struct pl_process *process, struct pl_thread *thread);

/* The thread's row for the overflow site. */
uint32_t pl_row_overflow(struct pl_process *process, struct pl_thread *thread);

/* The owner adds a sample. */
void pl_row_allocated(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record);

/* `thread` frees a sampled block. The owner of the row adds with plain stores, another thread (or NULL: none that may
 * write to its own figures) atomically. `moved`: the block was not freed by free() and is not a temporary. */
void pl_row_freed(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record, bool moved);

/* The sample was a realloc of a block of `old_bytes`. */
void pl_row_realloc(struct pl_process *process, const struct pl_record *record, uint64_t old_bytes, bool moved);

#endif
