/* SPDX-License-Identifier: MIT */
/*
 * charges.h - what each thread asked for under each tag.
 */
#ifndef PL_CHARGES_H
#define PL_CHARGES_H

#include "snapshot.h"
#include "tags.h"

/* Fills profile->scope. Threads and tags are folded; a thread's own figures are raised where its scopes know of more.
 */
void pl_charges_fold(struct pl_profile *profile, struct pl_snapshot *snapshot, struct pl_arena *scratch,
                     const struct pl_tags *tags, const uint32_t *thread_of);

#endif
