/* SPDX-License-Identifier: MIT */
/*
 * highlights.h - what stands out: at most one function for each thing that is worth a sentence.
 */
#ifndef PL_HIGHLIGHTS_H
#define PL_HIGHLIGHTS_H

#include "view.h"

void pl_highlights_print(const struct pl_view *view);

#endif
