/* SPDX-License-Identifier: MIT */
/*
 * roots.h - where pointers are that nobody has to point to: registers, stacks, and all writable memory that is neither
 * the allocator's nor the profiler's.
 *
 *   scanned                                           not scanned
 *   registers of all threads, vector registers too    the profiler's own tables
 *   stacks, from the stack pointer less the red zone  below that; stacks of threads that have ended
 *   thread-local storage, thread descriptors          glibc's free memory, its bins, and its arenas' heads
 *   data of the program and of its libraries          code, constants, devices
 *   every other mapping that a program can write to
 *
 * Memory of the allocator without a known block is free memory or a block that the profiler does not know: one from
 * before `attach`, or from the parent of a fork. If there may be such blocks, that memory is scanned, too. What was
 * freed there may then hold a block that is lost, but no block is called lost that is not.
 */
#ifndef PL_ROOTS_H
#define PL_ROOTS_H

#include "attach/tracee.h"
#include "reach/census.h"
#include "reach/memory/space.h"

/* A thread when it was stopped. */
struct pl_roots_thread {
    pid_t tid;
    uint64_t sp, descriptor;
    uint64_t *word; /* all registers */
    size_t words;
};

/* A piece of memory to scan. */
struct pl_roots_piece {
    uint64_t from, to;
    bool shared;    /* with other processes: what was never touched may have contents, too */
    bool allocator; /* it is the allocator's: what points from there to the end of a chunk is bookkeeping */
};

struct pl_roots {
    struct pl_roots_thread *thread;
    size_t threads;
    uint64_t *ended; /* descriptors of threads that have ended: glibc keeps their stacks for new threads */
    size_t ended_count;
    struct pl_roots_piece *piece; /* by address */
    size_t pieces, room;
    struct pl_roots_piece *heap; /* the allocator's memory, where it is known, by address */
    size_t heaps, heap_room;
};

/* Registers, while all threads are stopped. False: no memory. */
bool pl_roots_note_threads(struct pl_roots *roots, const struct pl_tracee *tracee);

/* Decides what is scanned. `complete`: every live block is known. `inode` is that of the profile. */
bool pl_roots_find(struct pl_roots *roots, struct pl_space *space, const struct pl_census *census, bool complete,
                   uint64_t inode);
void pl_roots_free(struct pl_roots *roots);

/* The allocator's memory that has this address; NULL: none. */
const struct pl_roots_piece *pl_roots_heap(const struct pl_roots *roots, uint64_t address);

#endif
