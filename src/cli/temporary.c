/* SPDX-License-Identifier: MIT */
/*
 * temporary.c - who allocates what is freed again at once: by the same thread, before its next allocation.
 *
 * Such a block could have been a local variable, or one buffer that is used again. A site that makes nothing else is
 * the easier to change, so each comes with the share of its own calls that are temporary.
 */
#include "temporary.h"

#include "listing.h"

static void put_total(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *temporary = &profile->total[PL_METRIC_TEMP_OBJECTS];
    char count[2 * PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_TEMP_OBJECTS, temporary);
    pl_figure_count(calls, profile->total[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_percent(share, pl_view_share(profile, PL_METRIC_ALLOC_OBJECTS, temporary->value));
    pl_view_paragraph(view,
                      "%s of %s calls (%s) were temporary: freed by the thread that made them before it allocated "
                      "again. One buffer, used again and again, would do.",
                      count, calls, share);
}

static void fill_share(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pl_estimate *metric = listing->paths->path[path].metric;
    double calls = metric[PL_METRIC_ALLOC_OBJECTS].value;
    pl_figure_percent(cell->value, calls > 0 ? metric[PL_METRIC_TEMP_OBJECTS].value / calls : 0);
}

static void fill_size(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pl_estimate *metric = listing->paths->path[path].metric;
    double calls = metric[PL_METRIC_ALLOC_OBJECTS].value;
    pl_figure_bytes(cell->value, calls > 0 ? metric[PL_METRIC_ALLOC_SPACE].value / calls : 0);
}

void pl_temporary_print(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0)) {
        pl_view_paragraph(view, "Nothing was allocated, so nothing was temporary.");
        return;
    }
    if (!(profile->total[PL_METRIC_TEMP_OBJECTS].value > 0)) {
        pl_view_nothing(view, "No allocation was seen to be temporary: each outlived the next one of its thread.");
        return;
    }
    struct pl_paths paths = pl_view_paths(view, PL_SHAPE_SITE);
    put_total(view);
    pl_listing_put_metric(&(struct pl_listing){
        .view = view,
        .paths = &paths,
        .metric = PL_METRIC_TEMP_OBJECTS,
        .column = {{"calls", pl_listing_fill_metric}, {"of its own", fill_share}, {"mean size", fill_size}},
        .keep = 2,
    });
}
