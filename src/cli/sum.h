/* SPDX-License-Identifier: MIT */
/*
 * sum.h - adds up many profiles into one, without having all of them open at once.
 *
 * A sum grows with the number of different sites, not with the number of profiles. `merge`, a directory that is read as
 * one profile, and the collector of a run share it.
 */
#ifndef PL_SUM_H
#define PL_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/say.h"
#include "reader/profile.h"

#define PL_SUM_PROFILES 32u
#define PL_SUM_BYTES (64ull << 20) /* of files that are open at the same time */

struct pl_sum {
    struct pl_profile *part[PL_SUM_PROFILES + 1]; /* the first may be the sum of those before */
    uint32_t parts;
    uint64_t bytes;
};

/* The profile belongs to the sum from now on. */
void pl_sum_add(struct pl_sum *sum, struct pl_profile *profile);

/* Adds up what has not been added up yet: afterwards there is one part, marked as merged. Returns it; it still belongs
 * to the sum. NULL: nothing was added. */
struct pl_profile *pl_sum_total(struct pl_sum *sum);
void pl_sum_close(struct pl_sum *sum);

/* Two files of which only one must be added: of the same process, or the same merged profile. A merged profile does not
 * list its parts, but two with identical headers (times, peaks, losses) have the same ones. */
bool pl_sum_twice(const struct pl_header *a, const struct pl_header *b);

/*
 * Reads all profiles of a directory as one. Of a snapshot and its process's profile, or of several snapshots of one
 * process, only the last is read. Names that the files contain are kept, others are not looked up. Says what is left
 * out. On failure it has printed the reason.
 */
enum pl_exit pl_sum_directory(const char *path, struct pl_profile **out);

#endif
