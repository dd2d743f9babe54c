/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - the word that was probably meant.
 */
#ifndef PL_NEAREST_H
#define PL_NEAREST_H

#include <stddef.h>

/* Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other. */
unsigned pl_nearest_distance(const char *from, const char *to);

struct pl_nearest {
    const char *word; /* as typed */
    const char *best; /* NULL: nothing comes near */
    unsigned distance;
};

/* Ask with {.word = "rprot"}, offer each candidate, read .best. */
void pl_nearest_offer(struct pl_nearest *nearest, const char *candidate);

#endif
