/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the differential unwinder: identifies a stack quickly, because it is nearly always similar to a recent one.
 *
 * A thread caches its recent stacks, outermost frame first, each with every stack word that determined it. A new trace
 * steps through the few changed inner frames by rule (rules.h) until it reaches a state (pc, sp, and fp if it matters)
 * that a cached stack also had. From there outwards it only compares the cached words with the stack. If all are equal,
 * the rest of the stack is the same, by induction.
 *
 * Most stacks have been traced before. They are recognised without stepping through any frame, even if the cache has
 * another stack in their place by now (trace.c says how).
 *
 * The result is a hash: a sum of one term per frame and position, so that a change of one frame changes one term. Equal
 * stacks have equal hashes as long as `generation` (of loaded modules) is the same. 0 means that the trace failed: a
 * rule is not known yet, or there is a signal frame, a foreign stack, a stack deeper than the bound, or a frame that
 * needs more registers than pc, sp and fp. The caller then makes a plain walk (unwind.h), which learns rules. A plain
 * walk also finds the frames of a stack whose hash is new.
 *
 * Who may touch what: one thread owns a struct pl_trace. A visit that is left by longjmp leaves a cached stack that is
 * marked invalid. A nested visit never comes here.
 */
#ifndef PL_TRACE_H
#define PL_TRACE_H

#include <stdint.h>

#include "core/compiler.h"
#include "core/unwind/unwind.h"

/* pl_trace_bytes of memory, provided by the caller and aligned to 8 bytes. Zeroed memory is a valid empty state. Only
 * threads that allocate from many places, or from deep stacks, touch much of it. */
struct pl_trace;
extern HIDDEN const uint32_t pl_trace_bytes;

/* A thread that has traced several stacks soon writes to each page of this part, the first bytes. */
extern HIDDEN const uint32_t pl_trace_soon_bytes;

/* The hash of the stack that begins at `start`, or 0. Reads only the part of the thread's own stack that is proven to
 * be readable (walk->own); a walk by pl_unwind() proves more. */
uint64_t pl_trace_stack(struct pl_trace *trace, struct pl_walk *walk, const struct pl_start *start,
                        uint32_t generation);

/* The same, if that stack was traced before and a stack with the same layout still is in the cache: most are. Otherwise
 * 0, and pl_trace_stack() may find more. */
uint64_t pl_trace_recall(struct pl_trace *trace, const struct pl_start *start, uint32_t generation);

/* The thread's block has a new owner, with another stack: discards all cached stacks. */
void pl_trace_forget(struct pl_trace *trace);

#endif
