/* SPDX-License-Identifier: MIT */
/*
 * series.h - snapshots at an interval: when the next is due, and which are removed when there are too many.
 *
 * Snapshots have places in the series: 1 at its start, 2 an interval later, ... A snapshot that was missed leaves its
 * place empty. With `keep`, a full series is thinned when the next one is due: the spacing doubles, and the snapshots
 * that do not fit into it are removed. So there are at most `keep`, evenly spaced from the first to the last, and their
 * numbers do not change.
 *
 *      keep 4:    1 2 3 4   ->   1   3   5   7   ->   1       5       9       13   ->  ...
 */
#ifndef PL_SERIES_H
#define PL_SERIES_H

#include <stddef.h>
#include <stdint.h>

struct pl_series_taken {
    uint64_t place;
    char *path;
};

struct pl_series {
    uint64_t every_ns;
    uint64_t keep;     /* 0: all of them; otherwise at least 2 */
    uint64_t first_ns; /* when place 1 is due */

    uint64_t spacing; /* places; a power of two */
    uint64_t last;    /* place of the last that was due; 0: none yet */
    struct pl_series_taken *taken;
    size_t count;          /* not removed so far */
    uint64_t taken_in_all; /* including those that were removed */
};

struct pl_series pl_series_new(uint64_t every_ns, uint64_t keep, uint64_t first_ns);
void pl_series_free(struct pl_series *series);

/* The place that is due now; 0: none. Each place is returned once. Removes files to make room for it, if necessary. */
uint64_t pl_series_due(struct pl_series *series, uint64_t now_ns);

/* When the next place is due. */
uint64_t pl_series_next_ns(const struct pl_series *series);

/* Records the snapshot of a place. Copies the path. */
void pl_series_add(struct pl_series *series, uint64_t place, const char *path);

#endif
