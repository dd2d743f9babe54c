/* SPDX-License-Identifier: MIT */
/*
 * fold.h - from a snapshot to a profile: everything checked, duplicates joined, figures added up.
 */
#ifndef PL_FOLD_H
#define PL_FOLD_H

#include "snapshot.h"

/* Fills all of `profile` but arena, path and running, which must be there. `scratch` may be freed after. */
void pl_fold(struct pl_snapshot *snapshot, struct pl_arena *scratch, struct pl_profile *profile);

#endif
