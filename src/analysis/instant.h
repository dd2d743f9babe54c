/* SPDX-License-Identifier: MIT */
/*
 * instant.h - a profile as of one moment of its run, and the difference between two moments.
 *
 * The file has the heap composition at up to PL_COMPOSITIONS moments (profile->composition): what the larger sites had
 * allocated and held. A profile as of such a moment has all sites, with their figures at that time. Sites that were too
 * small to be recorded share the rest, in proportion to their figures at the end.
 */
#ifndef PL_INSTANT_H
#define PL_INSTANT_H

#include "reader/base/arena.h"
#include "reader/profile.h"

#define PL_INSTANT_START (-1)
#define PL_INSTANT_END (-2)

/* The recorded moment nearest to `seconds`: an index into profile->composition, or one of the above. */
int pl_instant_near(const struct pl_profile *profile, double seconds);
double pl_instant_seconds(const struct pl_profile *profile, int instant);

/* The difference between two moments (profile->base_sites). It lives in the arena, needs the whole to stay open, and is
 * never closed. */
const struct pl_profile *pl_instant_between(const struct pl_profile *whole, int since, int until,
                                            struct pl_arena *arena);

#endif
