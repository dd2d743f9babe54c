/* SPDX-License-Identifier: MIT */
/*
 * nearest.c - guesses which word the user meant: the one with the smallest edit distance, if that is small enough.
 *
 * A swap of neighbours counts as one edit (optimal string alignment), because it is a common typing error.
 */
#include "cli/nearest.h"

#include <string.h>

/* Words longer than this are similar to nothing. */
#define LONGEST 63

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned pl_nearest_distance(const char *from, const char *to)
{
    unsigned rows[3][LONGEST + 1];
    size_t from_bytes = strlen(from), to_bytes = strlen(to);
    if (from_bytes > LONGEST || to_bytes > LONGEST)
        return LONGEST;
    for (unsigned j = 0; j <= to_bytes; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= from_bytes; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i - 1) % 3], *two_before = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= to_bytes; j++) {
            unsigned change = before[j - 1] + (from[i - 1] != to[j - 1]);
            now[j] = least(change, least(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
                now[j] = least(now[j], two_before[j - 2] + 1);
        }
    }
    return rows[from_bytes % 3][to_bytes];
}

/* A prefix of at least two letters has distance 1. */
static unsigned score(const char *word, const char *candidate)
{
    size_t bytes = strlen(word);
    if (bytes >= 2 && !strncmp(word, candidate, bytes))
        return 1;
    return pl_nearest_distance(word, candidate);
}

/* Up to a third of the word may be wrong. */
void pl_nearest_offer(struct pl_nearest *nearest, const char *candidate)
{
    unsigned distance = score(nearest->word, candidate);
    if (distance > (strlen(nearest->word) + 2) / 3 || (nearest->best && distance >= nearest->distance))
        return;
    nearest->best = candidate;
    nearest->distance = distance;
}
