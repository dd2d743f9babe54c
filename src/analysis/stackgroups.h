/* SPDX-License-Identifier: MIT */
/*
 * stackgroups.h - which path a stack belongs to: the groups that leftovers.h judges by.
 */
#ifndef PL_STACKGROUPS_H
#define PL_STACKGROUPS_H

#include "path.h"

/* An element for each stack and, behind them, one for what has none. The caller frees it. */
uint32_t *pl_stackgroups_new(const struct pl_profile *profile, const struct pl_paths *paths);

#endif
