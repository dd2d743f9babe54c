/* SPDX-License-Identifier: MIT */
/*
 * sizes.h - `report --sizes`: how large blocks are and how long they live, altogether and by site.
 */
#ifndef PL_SIZES_H
#define PL_SIZES_H

#include "view.h"

void pl_sizes_print(const struct pl_view *view);

#endif
