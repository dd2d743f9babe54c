/* SPDX-License-Identifier: MIT */
/*
 * history.h - the timeline and the snapshots of who held the heap.
 */
#ifndef PL_HISTORY_H
#define PL_HISTORY_H

#include "sites.h"

/* Fills profile->moment and profile->snapshot; sites are folded. */
void pl_history_fold(const struct pl_sites *sites);

#endif
