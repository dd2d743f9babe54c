/* SPDX-License-Identifier: MIT */
/*
 * join.h - joins several profiles into one, in memory.
 *
 * Modules are identified by path and build-id, frames by module and address, stacks by their frames, tags by their
 * paths; each is in the result once. Sites with the same stack, tag and thread are added up, except in a difference.
 * The places of frames still belong to the profiles they come from, which must stay open as long as the result is used.
 */
#ifndef PL_JOIN_H
#define PL_JOIN_H

#include "reader/base/arena.h"
#include "reader/profile.h"

enum pl_join_how {
    PL_JOIN_SUM,        /* threads of one name become one; peaks are added up, and PL_FLAG_MERGED is set */
    PL_JOIN_DIFFERENCE, /* exactly two: part[1] minus part[0]. The first `base_sites` sites are those of part[0]; they
                           are not added to those of part[1]. Everything about the process (header, command, times,
                           timeline) is part[1]'s. Totals are part[1]'s minus part[0]'s, signed, and their errors
                           combine both */
};

/* The result has an arena of its own, and pl_profile_close() closes it. */
struct pl_profile *pl_join(const struct pl_profile *const *part, uint32_t parts, enum pl_join_how how);

/* Maps each tag of a part to its tag in the joined profile. */
const uint32_t *pl_join_tags_of(const struct pl_profile *joined, const struct pl_profile *part, struct pl_arena *arena);

/* Copies what a sum still shares with its parts, so that these may be closed. */
void pl_join_keep(struct pl_profile *sum);

/* The difference of two estimates with independent errors. */
struct pl_estimate pl_join_subtract(const struct pl_estimate *from, const struct pl_estimate *what);

#endif
