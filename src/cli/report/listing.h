/* SPDX-License-Identifier: MIT */
/*
 * listing.h - sites as a table: a bar, figures in columns, the site and its callers.
 *
 * A view chooses the order and the columns; layout, bars, shares and stacks are the same for all views.
 */
#ifndef PL_LISTING_H
#define PL_LISTING_H

#include "analysis/figure.h"
#include "cli/report/views.h"
#include "cli/table.h"

#define PL_LISTING_COLUMNS 5

struct pl_listing;

struct pl_column {
    const char *title; /* NULL: there are no more */
    void (*fill)(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);
};

struct pl_listing {
    const struct pl_view *view;
    const struct pl_paths *paths;
    const char *title;
    const double *weight; /* of each path: the sort key and the length of the bar; 0: not listed */
    double whole;         /* the total that shares refer to; 0: no shares, and bars are relative to the first */
    struct pl_column column[PL_LISTING_COLUMNS]; /* on narrow terminals the last columns are left out */
    size_t keep;           /* the first `keep` columns are left out only if there is hardly any room */
    const void *context;   /* for fill() */
    enum pl_metric metric; /* shown by fill_metric(); also decides which of a site's tags is named */
};

void pl_listing_put(const struct pl_listing *listing);

/* By a metric, in shares of its total: `title`, `weight` and `whole` are computed from `metric`, whatever was given. */
void pl_listing_put_metric(const struct pl_listing *given);

/* Fill functions for columns: the metric, and the same metric in the other unit. */
void pl_listing_fill_metric(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);
void pl_listing_fill_companion(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);

/* The mean and the largest size of its blocks. */
void pl_listing_fill_mean(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);
void pl_listing_fill_largest(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell);

/* The usual table: by a metric, with these two columns. */
void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric);

#endif
