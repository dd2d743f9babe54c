/* SPDX-License-Identifier: MIT */
/*
 * written.h - writes a profile in every format that fits, and checks the result.
 */
#ifndef PL_FUZZ_WRITTEN_H
#define PL_FUZZ_WRITTEN_H

#include <stdint.h>

#include "reader/profile.h"

/* Writes all formats that have all of `traits` (enum pl_export_trait). Metric, threshold and grouping come from
 * `state`. A wrong result ends the program. */
void fuzz_write_all(const struct pl_profile *profile, unsigned traits, uint64_t *state);

#endif
