/* SPDX-License-Identifier: MIT */
/*
 * roster.h - the part of a report that says who allocated, by thread.
 */
#ifndef PL_ROSTER_H
#define PL_ROSTER_H

#include "view.h"

void pl_roster_print(const struct pl_view *view);

#endif
