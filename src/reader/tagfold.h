/* SPDX-License-Identifier: MIT */
/*
 * tagfold.h - tags that are entered inside of themselves again and again, taken for one.
 *
 * A plimsoll_pop() that is missing makes each scope a child of the last one: work/work/work/... to any depth, and so
 * does honest recursion. Neither can be read as a tree. From PL_NEST_MAX levels on, all tags of one name on such a path
 * stand for one, the outermost; what is below them is below that one, and joined where names are equal.
 */
#ifndef PL_TAGFOLD_H
#define PL_TAGFOLD_H

#include "arena.h"
#include "profile.h"

#define PL_NEST_MAX 16

/* Both by tag. A tag stands for itself or for later ones: of[tag] <= tag, and of[of[tag]] == of[tag]. */
struct pl_tag_fold {
    uint32_t *of;
    uint32_t *nested; /* how deep the tag is inside of itself, where it stands for those inside; otherwise 0 */
};

struct pl_tag_fold pl_tagfold_make(const struct pl_profile *profile, struct pl_arena *arena);

#endif
