/* SPDX-License-Identifier: MIT */
/*
 * times.h - when, in seconds since the start of the process, and how long a unit of the processor's clock is.
 */
#ifndef PL_TIMES_H
#define PL_TIMES_H

#include "profile.h"

/* Nanoseconds from the start of the process to a moment of the file; 0 if it was before. */
uint64_t pl_times_since_start(const struct pl_header *header, uint64_t monotonic_ns);

/* Threads, moments and `running` are there. */
void pl_times_fold(struct pl_profile *profile);

#endif
