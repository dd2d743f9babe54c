/* SPDX-License-Identifier: MIT */
/*
 * peak.h - `report --peak`: who held the heap when it was largest.
 */
#ifndef PL_PEAK_H
#define PL_PEAK_H

#include "view.h"

void pl_peak_print(const struct pl_view *view);

#endif
