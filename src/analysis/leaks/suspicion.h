/* SPDX-License-Identifier: MIT */
/*
 * suspicion.h - the verdict on blocks that were never freed (leftovers.h) and the evidence for it, in words.
 */
#ifndef PL_SUSPICION_H
#define PL_SUSPICION_H

#include "analysis/leaks/leftovers.h"

/* "growing 160 KiB/s over 9.1 s", for a suspected leak. The caller frees it. */
char *pl_suspicion_growth(const struct pl_leftover *item);

/* "suspected leak: growing 160 KiB/s over 9.1 s; ...": the verdict and the evidence for it. The caller frees it. */
char *pl_suspicion_evidence(const struct pl_profile *profile, const struct pl_leftovers *leftovers,
                            const struct pl_leftover *item);

#endif
