/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - guesses which word the user meant.
 */
#ifndef PL_NEAREST_H
#define PL_NEAREST_H

#include <stddef.h>

/* The number of insertions, deletions, substitutions and swaps of neighbours that turn one word into the other. */
unsigned pl_nearest_distance(const char *from, const char *to);

struct pl_nearest {
    const char *word; /* as typed */
    const char *best; /* NULL: nothing is similar enough */
    unsigned distance;
};

/* Usage: start with {.word = "rprot"}, offer each candidate, then read .best. */
void pl_nearest_offer(struct pl_nearest *nearest, const char *candidate);

#endif
