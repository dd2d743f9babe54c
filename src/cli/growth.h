/* SPDX-License-Identifier: MIT */
/*
 * growth.h - which sites grew, from snapshot to snapshot.
 */
#ifndef PL_GROWTH_H
#define PL_GROWTH_H

#include "view.h"

void pl_growth_print(const struct pl_view *view);

#endif
