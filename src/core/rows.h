/* SPDX-License-Identifier: MIT */
/*
 * rows.h - the figures of a thread at a site: finding the row, adding to it.
 */
#ifndef PL_ROWS_H
#define PL_ROWS_H

#include <stdint.h>

#include "live.h"
#include "unwind.h"

struct pl_process;
struct pl_thread;

/* A thread's own cache: most samples come from stacks that it has just seen. Written by that thread alone. */
#define PL_ROW_CACHE 512
struct pl_row_entry {
    uint64_t hash; /* of all frames and the generation of the modules */
    uint64_t row;
};

/* The row for the stack in thread->walk; the thread's overflow row when there is no room; 0 when not
 * even that exists. */
uint32_t pl_row_number(struct pl_process *process, struct pl_thread *thread);

/* The site of a stack under a tag; PL_SITE_OVERFLOW when there is no room. PL_STACK_OTHER: all stacks, of allocations
 * of other sizes than are wanted. */
#define PL_STACK_OTHER UINT32_MAX
uint32_t pl_site_number(struct pl_process *process, uint32_t stack, uint32_t tag);

/* What names a thread's figures for a stack under its current tag, in the process's map. */
uint64_t pl_figures_key(const struct pl_thread *thread, uint32_t stack, uint64_t kind);

/* A hash of the frames of a walk and the generation of the modules; never 0. */
uint64_t pl_walk_hash(const struct pl_walk *walk, uint64_t generation);

/* The thread's row for allocations of other sizes, under its current tag. */
uint32_t pl_row_other(struct pl_process *process, struct pl_thread *thread);

/* The thread's row for the overflow site. */
uint32_t pl_row_overflow(struct pl_process *process, struct pl_thread *thread);

/* The owner adds a sample. */
void pl_row_allocated(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record);

/* A sampled block is freed by `thread`: the owner adds plainly, anybody else (or NULL: nobody in particular)
 * atomically. `moved`: not by free, but by realloc, so that it is no temporary. */
void pl_row_freed(struct pl_process *process, struct pl_thread *thread, const struct pl_record *record, bool moved);

/* The sample was a realloc of a block of `old_bytes`. */
void pl_row_realloc(struct pl_process *process, const struct pl_record *record, uint64_t old_bytes, bool moved);

#endif
