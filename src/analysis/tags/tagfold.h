/* SPDX-License-Identifier: MIT */
/*
 * tagfold.h - treats tags that are nested in themselves again and again as one.
 *
 * A missing plimsoll_pop() makes each scope a child of the last one: work/work/work/... to any depth, and so does real
 * recursion. Neither can be read as a tree. If a nest is deeper than PL_NEST_MAX levels, the outermost tag stands for
 * all tags of its name on such a path; tags below them move below it, and are joined where names are equal.
 */
#ifndef PL_TAGFOLD_H
#define PL_TAGFOLD_H

#include "reader/base/arena.h"
#include "reader/profile.h"

#define PL_NEST_MAX 16

/* Both by tag. A tag stands for itself and for later ones: of[tag] <= tag, and of[of[tag]] == of[tag]. */
struct pl_tag_fold {
    uint32_t *of;
    uint32_t *nested; /* how deep the tag is nested in itself, if it stands for those inside; otherwise 0 */
};

struct pl_tag_fold pl_tagfold_make(const struct pl_profile *profile, struct pl_arena *arena);

#endif
