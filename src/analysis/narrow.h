/* SPDX-License-Identifier: MIT */
/*
 * narrow.h - a part of a profile, as a profile.
 */
#ifndef PL_NARROW_H
#define PL_NARROW_H

#include "arena.h"
#include "profile.h"

/* What belongs to the part: by index; NULL: all of them. */
struct pl_part {
    const bool *tag;
    const bool *thread;
    const bool *stack; /* sites without a stack belong to the part unless this is there */
};

/*
 * Sites, scopes, threads, snapshots, totals and spread are those of the part. Tags, stacks, frames and modules are the
 * whole's, with their numbers; the header, times and moments are about the process, which has only one of each. It
 * lives in the arena and as long as the whole does, and is never closed.
 */
const struct pl_profile *pl_narrow(const struct pl_profile *whole, const struct pl_part *part, struct pl_arena *arena);

/* How many of a profile's stacks sites of it have: of a part, those that are in it. */
uint32_t pl_narrow_stacks(const struct pl_profile *profile);

/* Threads and scopes have what sites have asked for, where that is all there is to know (profile->by_stack). The
 * profile's threads are copied. */
void pl_narrow_count_sites(struct pl_profile *out, struct pl_arena *arena);

/* Where not one sample was taken there may be memory all the same: lets intervals reach that far. */
void pl_narrow_allow(const struct pl_profile *profile, uint64_t samples, struct pl_estimate metric[PL_METRIC_COUNT]);

#endif
