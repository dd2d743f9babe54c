/* SPDX-License-Identifier: MIT */
/*
 * temporary.h - `report --temporary`: who allocates what is freed again at once.
 */
#ifndef PL_TEMPORARY_H
#define PL_TEMPORARY_H

#include "view.h"

void pl_temporary_print(const struct pl_view *view);

#endif
