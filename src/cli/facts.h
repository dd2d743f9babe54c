/* SPDX-License-Identifier: MIT */
/*
 * facts.h - the totals of a profile: how much, how large, for how long.
 */
#ifndef PL_FACTS_H
#define PL_FACTS_H

#include "view.h"

void pl_facts_print(const struct pl_view *view);

#endif
