/* SPDX-License-Identifier: MIT */
/*
 * lost.h - prints what a process has lost, from a profile with a look:
 *
 *   Lost               bytes  blocks  takes along  example         site
 *     ███████▏       1.9 MiB   1,180      340 KiB  0x55d0c8a012b0  index_add_term  src/index.c:212  [indexer]
 *                    ← index_file  src/index.c:97 ← main  src/main.c:31
 */
#ifndef PL_LOST_H
#define PL_LOST_H

#include "cli/report/views.h"

/* `inner`: also list blocks that are held only by pointers to their middle. */
void pl_lost_put(const struct pl_view *view, bool inner);

/* "1.9 MiB in 1,180 blocks", or "1.9 MiB ± 0.2 MiB in 1,180 ± 130 blocks". The caller frees it. */
char *pl_lost_amount(const struct pl_estimate *space, const struct pl_estimate *objects);

/* "when it exited", "before SIGTERM ended it", "while it ran": when somebody looked. */
const char *pl_lost_when(const struct pl_profile *profile);

#endif
