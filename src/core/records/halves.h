/* SPDX-License-Identifier: MIT */
/*
 * halves.h - two estimates of the heap, each from half of the samples, for the height of the peak.
 *
 * Whoever takes the highest of many estimates takes one that chance has raised. So the samples are split into two
 * halves that know nothing of each other: each chooses the moment at which its own estimate is highest, and the other
 * estimates the heap at that moment. docs/maths.md has the derivation.
 *
 * A block is sampled with probability 1/w = 1 - q*q. It belongs to each half with probability 1 - q, independently,
 * and then weighs w(1 + q) there. A small block (q near 1) is nearly always in one half, and a large one (q near 0) in
 * both. Which half a sample belongs to follows from a hash of its record and the seed, so the record needs no room for
 * it.
 *
 *   worked: w = 4, a block of 1,000 bytes that stands for 4,000. q = 0.866. In one half only: 93%, and then it stands
 *   for 7,464 bytes there and for nothing in the other. In both: 7%.
 */
#ifndef PL_HALVES_H
#define PL_HALVES_H

#include "core/blocks/live.h"
#include "format/format.h"

/* Estimated bytes of a sample in each half. */
struct pl_shares {
    int64_t bytes[PL_HALVES];
};

struct pl_shares pl_halves_share(const struct pl_record *record, uint64_t seed);

/* A sample adds or removes `sign` times its bytes: `live` are live without it, as all samples estimate. */
void pl_halves_change(struct pl_half half[PL_HALVES], const struct pl_shares *share, int64_t bytes, int64_t live,
                      int sign);

/* The estimate of all samples is `live`: this may be the highest of a half. */
void pl_halves_note(struct pl_half half[PL_HALVES], int64_t live);

#endif
