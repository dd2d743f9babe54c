/* SPDX-License-Identifier: MIT */
/*
 * instant.h - a profile as it was at a moment of its run, and what happened between two.
 *
 * The file remembers who had allocated and who held what at up to PL_SNAPSHOTS moments (profile->snapshot). A profile
 * as of one of them has the sites of the whole, with their figures of then. Sites that were too small to be named share
 * what is left, each in proportion to what it has in the end.
 */
#ifndef PL_INSTANT_H
#define PL_INSTANT_H

#include "arena.h"
#include "profile.h"

#define PL_INSTANT_START (-1)
#define PL_INSTANT_END (-2)

/* The remembered moment nearest to `seconds`: an index into profile->snapshot, or one of the above. */
int pl_instant_near(const struct pl_profile *profile, double seconds);
double pl_instant_seconds(const struct pl_profile *profile, int instant);

/* What happened from one moment to another: a difference (profile->base_sites). It lives in the arena, as long as the
 * whole does, and is never closed. */
const struct pl_profile *pl_instant_between(const struct pl_profile *whole, int since, int until,
                                            struct pl_arena *arena);

#endif
