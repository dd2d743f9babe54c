/* SPDX-License-Identifier: MIT */
/*
 * listing.h - sites as a table: a bar, figures in columns, and who it was.
 *
 * A view says what to sort by and which columns there are; layout, bars, shares and stacks are the same for all.
 */
#ifndef PL_LISTING_H
#define PL_LISTING_H

#include "figure.h"
#include "view.h"

#define PL_LISTING_COLUMNS 5

#define PL_CELL_BYTES 112 /* a figure, or a character for each of 32 buckets */

struct pl_cell {
    char value[PL_CELL_BYTES];
    char error[PL_FIGURE_BYTES]; /* "± 0.3 MiB"; "" for what is exact */
};

struct pl_listing;

struct pl_column {
    const char *title; /* NULL: there are no more */
    void (*fill)(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);
};

struct pl_listing {
    const struct pl_view *view;
    const struct pl_paths *paths;
    const char *title;
    const double *weight; /* of each path: what it is sorted by and the bar's length; 0: it is not listed */
    double whole;         /* of which a weight is a share; 0: shares mean nothing here, and bars compare */
    struct pl_column column[PL_LISTING_COLUMNS]; /* those that find no room are left out, the last one first */
    size_t keep;                                 /* but the first so many only where a line has hardly any room */
    const void *context;                         /* for fill() */
};

void pl_listing_put(const struct pl_listing *listing);

/* The usual one: by a metric, with the same in the other unit beside it. */
void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric);

/* Its first column: the metric that `context` points to. */
void pl_listing_fill_metric(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);

/* One metric of all paths: weights to sort by. The caller frees it. */
double *pl_listing_weights(const struct pl_paths *paths, enum pl_metric metric);

/* The paths by weight, heaviest first. The caller frees it. */
uint32_t *pl_listing_order(const struct pl_paths *paths, const double *weight);

#endif
