/* SPDX-License-Identifier: MIT */
/*
 * narrow.h - a part of a profile, as a profile.
 */
#ifndef PL_NARROW_H
#define PL_NARROW_H

#include "reader/base/arena.h"
#include "reader/profile.h"

/* Which tags, threads and stacks belong to the part, by index; NULL: all. */
struct pl_part {
    const bool *tag;
    const bool *thread;
    const bool *stack; /* if this is not NULL, sites without a stack are excluded */
};

/*
 * Sites, scopes, threads, heap compositions, totals and spread are those of the part. Tags, stacks, frames and modules
 * are those of the whole, with the same indexes. Header, times and moments are those of the process. The part lives in
 * the arena, needs the whole to stay open, and is never closed.
 */
const struct pl_profile *pl_narrow(const struct pl_profile *whole, const struct pl_part *part, struct pl_arena *arena);

/* A heap beside malloc's, as a profile: its sites, and calls and bytes from those. The timeline is malloc's, so there
 * is none. Lives as a part does. */
struct pl_profile *pl_narrow_heap(const struct pl_profile *whole, uint32_t heap, struct pl_arena *arena);

/* The number of stacks that have a site in this profile, which may be a part. */
uint32_t pl_narrow_stacks(const struct pl_profile *profile);

/* Sums the sites' calls and bytes by thread and scope, for parts by stack (profile->by_stack). Copies the profile's
 * threads first. */
void pl_narrow_count_sites(struct pl_profile *out, struct pl_arena *arena);

/* If no sample was taken, there may still be memory: extends the intervals to how much may have been missed. */
void pl_narrow_allow(const struct pl_profile *profile, uint64_t samples, struct pl_estimate metric[PL_METRIC_COUNT]);

#endif
