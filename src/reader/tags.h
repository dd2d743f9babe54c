/* SPDX-License-Identifier: MIT */
/*
 * tags.h - the tree of tags: from records to profile->tag.
 */
#ifndef PL_TAGS_H
#define PL_TAGS_H

#include "snapshot.h"
#include "text.h"

struct pl_tags {
    struct pl_snapshot *snapshot;
    const uint32_t *of; /* tag record -> index into profile->tag, or PL_NO_TAG */
};
#define PL_NO_TAG UINT32_MAX
#define PL_ROOT_TAG 0u

/* Fills profile->tag. Strings go where the texts go. */
struct pl_tags pl_tags_fold(struct pl_profile *profile, struct pl_texts *texts, struct pl_arena *scratch);

/* The tag that a record names; the root, and a count in snapshot->damage, if there is none. */
uint32_t pl_tags_find(const struct pl_tags *tags, uint32_t record);

#endif
