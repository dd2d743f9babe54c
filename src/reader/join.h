/* SPDX-License-Identifier: MIT */
/*
 * join.h - several profiles as one, in memory.
 *
 * Modules are told apart by path and build-id, frames by module and address, stacks by their frames, tags by their
 * paths: what is the same in several profiles is there once. Sites are added up where stack, tag and thread are the
 * same, unless they are to be kept apart. Places of frames stay those of the profiles they come from, which must stay
 * open as long as the result is used.
 */
#ifndef PL_JOIN_H
#define PL_JOIN_H

#include "arena.h"
#include "profile.h"

enum pl_join_how {
    PL_JOIN_SUM,        /* threads of one name are one; peaks are added up, and header.flags says so (PL_FLAG_MERGED) */
    PL_JOIN_DIFFERENCE, /* exactly two: what part[1] has more than part[0]. Sites of part[0] come first and are
                           `base_sites`; theirs and the others' are never added up. Everything that is about a process
                           (header, command, times, timeline) is part[1]'s; totals are part[1]'s minus part[0]'s,
                           signed, with an error that has both in it */
};

/* The result lives in an arena of its own, and is closed like any other. */
struct pl_profile *pl_join(const struct pl_profile *const *part, uint32_t parts, enum pl_join_how how);

/* By tag of a part: which one of the joined profile it has become. */
const uint32_t *pl_join_tags_of(const struct pl_profile *joined, const struct pl_profile *part, struct pl_arena *arena);

/* Copies what a sum still has of its parts, which may be closed then. */
void pl_join_keep(struct pl_profile *sum);

/* The difference of two estimates with independent errors. */
struct pl_estimate pl_join_subtract(const struct pl_estimate *from, const struct pl_estimate *what);

#endif
