/* SPDX-License-Identifier: MIT */
/*
 * trace.h - the differential unwinder: which stack is this, when nearly always it is one of the last few again?
 *
 * A thread remembers its last stacks, outermost frame first, each with every stack word that determined it. A new trace
 * steps the few changed inner frames by rule (rules.h) until it meets a state (pc, sp, and fp where it matters) that a
 * remembered stack also had; from there outwards it only compares the remembered words. All equal means that the rest
 * is the same, by induction.
 *
 * The answer is a hash: a sum of one term per frame and position, so that a change of one frame changes one term. Equal
 * stacks have equal hashes as long as `generation` (of loaded modules) is the same; 0 means "not this way": a rule that
 * is not known yet, a signal frame, a foreign stack, a stack deeper than the bound, a frame that needs more than pc, sp
 * and fp. The caller then takes the plain way (unwind.h), which learns rules, and which is also how the frames of a
 * hash never seen before are found.
 *
 * Who may touch what: one thread owns a struct pl_trace. A visit that is thrown out by longjmp leaves a remembered
 * stack that claims nothing. A nested visit never comes here.
 */
#ifndef PL_TRACE_H
#define PL_TRACE_H

#include <stdint.h>

#include "compiler.h"
#include "unwind.h"

/* pl_trace_bytes of memory, given by the caller, aligned to 8 bytes; zeroed memory is a valid empty state. Only threads
 * that allocate from many places, or deeply, touch much of it. */
struct pl_trace;
extern HIDDEN const uint32_t pl_trace_bytes;

/* The hash of the stack that begins at `start`, or 0. walk->own gives the thread's own stack and what of it is proven
 * to be readable; a walk by pl_unwind() proves more. */
uint64_t pl_trace_stack(struct pl_trace *trace, struct pl_walk *walk, const struct pl_start *start,
                        uint32_t generation);

/* The block has a new owner, on another stack: nothing is remembered. */
void pl_trace_forget(struct pl_trace *trace);

#endif
