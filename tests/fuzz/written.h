/* SPDX-License-Identifier: MIT */
/*
 * written.h - a profile in every format that can carry it, and whether that is what the formats promise.
 */
#ifndef PL_FUZZ_WRITTEN_H
#define PL_FUZZ_WRITTEN_H

#include <stdint.h>

#include "profile.h"

/* Formats that have all of `traits` (enum pl_export_trait). Metric, threshold and grouping are taken from `state`. What
 * is not as promised ends the program. */
void fuzz_write_all(const struct pl_profile *profile, unsigned traits, uint64_t *state);

#endif
