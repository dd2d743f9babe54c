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
    enum pl_metric metric; /* what fill_metric() shows; of a site's tags the one that has most of it is named */
};

void pl_listing_put(const struct pl_listing *listing);

/* By a metric, in shares of its total: `title`, `weight` and `whole` follow from `metric`, and are not looked at. */
void pl_listing_put_metric(const struct pl_listing *given);

/* Columns of it: the metric, and the same in the other unit. */
void pl_listing_fill_metric(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);
void pl_listing_fill_companion(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);

/* The usual one: by a metric, with just these two. */
void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric);

#endif
