/* SPDX-License-Identifier: MIT */
/*
 * verdict.h - follows the pointers of a process, and says of each block whether anything holds it.
 *
 * Two passes. The first follows pointers to the beginnings of blocks, from the roots on: what it meets is held. The
 * second goes on from pointers to the middle of blocks, and with all pointers: what only it meets is probably held,
 * because a program may well point to a part of an object, but such a word may also be something else. Everything else
 * is lost.
 *
 * Of the lost blocks, those that no other lost block points to are lost by themselves, and what can be reached from
 * them is lost with them: it would be freed with its owner. In a ring, the block with the lowest address is the owner.
 */
#ifndef PL_VERDICT_H
#define PL_VERDICT_H

#include "reach/roots.h"

enum pl_verdict_held {
    PL_LOST = 0,   /* nothing points to it, */
    PL_LOST_WITH,  /* or only other lost blocks do: block->owner is the one to blame */
    PL_HELD_INNER, /* held, but only by pointers to the middle of a block */
    PL_HELD,
    PL_HELD_COUNT,
};

/* Fills `held` and `owner` of all blocks. False: no memory. */
bool pl_verdicts_reach(struct pl_census *census, const struct pl_roots *roots, struct pl_space *space);

#endif
