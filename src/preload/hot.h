/* SPDX-License-Identifier: MIT */
/*
 * hot.h - the two questions that every hook asks.
 */
#ifndef PL_HOT_H
#define PL_HOT_H

#include <stddef.h>

#include "arch.h"
#include "filter.h"
#include "settings.h"
#include "threads.h"

/* Counts a call and takes its charge; true when the cold path is wanted. */
#define HOT_CHARGE(function, bytes)                                                                                    \
    PL_HOT_CHARGE(offsetof(struct pl_tls, calls) + (function) * sizeof(uint64_t), (uint64_t) (bytes) + PL_CALL_CHARGE)
_Static_assert(offsetof(struct pl_tls, charge_left) == 0, "PL_HOT_CHARGE takes from the first word");

/* True when the block may be sampled. */
INLINE bool hot_maybe_sampled(const void *block)
{
    return *pl_filter_byte(block) != 0;
}

#endif
