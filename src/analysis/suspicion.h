/* SPDX-License-Identifier: MIT */
/*
 * suspicion.h - what is to be thought of blocks that were never freed, in words: the judgement of leftovers.h, with
 * what speaks for it.
 */
#ifndef PL_SUSPICION_H
#define PL_SUSPICION_H

#include "leftovers.h"

/* "growing 160 KiB/s over 9.1 s", of what is suspected. The caller frees it. */
char *pl_suspicion_growth(const struct pl_leftover *item);

/* "suspected leak: growing 160 KiB/s over 9.1 s; ...": the verdict and what speaks for it. The caller frees it. */
char *pl_suspicion_evidence(const struct pl_profile *profile, const struct pl_leftovers *leftovers,
                            const struct pl_leftover *item);

#endif
