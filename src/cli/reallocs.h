/* SPDX-License-Identifier: MIT */
/*
 * reallocs.h - `report --reallocs`: who makes blocks larger, and what that moves.
 */
#ifndef PL_REALLOCS_H
#define PL_REALLOCS_H

#include "view.h"

void pl_reallocs_print(const struct pl_view *view);

#endif
