/* SPDX-License-Identifier: MIT */
/*
 * timeline.h - `report --timeline`: the heap over time, as a plot, and which sites grew.
 */
#ifndef PL_TIMELINE_H
#define PL_TIMELINE_H

#include "view.h"

void pl_timeline_print(const struct pl_view *view);

#endif
