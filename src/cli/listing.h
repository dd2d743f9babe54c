/* SPDX-License-Identifier: MIT */
/*
 * listing.h - the top sites by one metric, as a table.
 */
#ifndef PL_LISTING_H
#define PL_LISTING_H

#include "view.h"

void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric);

/* The heaviest path by a metric; NULL if there is none. */
const struct pl_path *pl_listing_first(const struct pl_paths *paths, enum pl_metric metric);

#endif
