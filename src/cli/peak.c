/* SPDX-License-Identifier: MIT */
/*
 * peak.c - who held the heap when it was largest.
 *
 * Beside what a site held then is what it holds at the end: what is gone by then was needed for the peak alone.
 */
#include "peak.h"

#include <stdlib.h>

#include "listing.h"

static void put_total(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES], when[PL_FIGURE_BYTES], slack[PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_PEAK_OBJECTS, &profile->total[PL_METRIC_PEAK_OBJECTS]);
    pl_figure_span(when, profile->peak_s);
    pl_figure_bytes(slack, profile->peak_slack_bytes);
    pl_view_paragraph(view, "The heap was largest %s after the start: %s in %s blocks%s%s%s.", when, bytes, blocks,
                      profile->peak_slack_bytes > 0 ? ", to within " : "", profile->peak_slack_bytes > 0 ? slack : "",
                      profile->peak_slack_bytes > 0 ? ", as several threads allocate" : "");
}

static void fill_blocks(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pl_estimate *blocks = &listing->paths->path[path].metric[PL_METRIC_PEAK_OBJECTS];
    pl_figure_metric(cell->value, PL_METRIC_PEAK_OBJECTS, blocks->value);
    pl_figure_error(cell->error, PL_METRIC_PEAK_OBJECTS, blocks);
}

static void fill_later(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, listing->paths->path[path].metric[PL_METRIC_INUSE_SPACE].value);
}

void pl_peak_print(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_PEAK_SPACE].value > 0)) {
        pl_view_nothing(view, "No block was seen to be live, so there is no peak.");
        return;
    }
    enum pl_metric metric = PL_METRIC_PEAK_SPACE;
    struct pl_paths paths = pl_paths_new(profile, view->spots, PL_SHAPE_SITE, view->depth);
    double *weight = pl_listing_weights(&paths, metric);
    struct pl_listing listing = {
        .view = view,
        .paths = &paths,
        .title = pl_view_title(profile, metric),
        .weight = weight,
        .whole = profile->total[metric].value,
        .column = {{pl_view_column(metric), pl_listing_fill_metric},
                   {pl_view_column(PL_METRIC_PEAK_OBJECTS), fill_blocks},
                   {profile->running ? "now" : "at the end", fill_later}},
        .context = &metric,
    };
    put_total(view);
    pl_listing_put(&listing);
    free(weight);
}
