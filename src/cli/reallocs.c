/* SPDX-License-Identifier: MIT */
/*
 * reallocs.c - who makes blocks larger, and what that moves.
 *
 * A realloc that finds no room copies the block; a table that doubles itself ten times has copied itself once over. The
 * size it grew to is the one to reserve.
 */
#include "reallocs.h"

#include <stdlib.h>
#include <string.h>

#include "listing.h"

static void put_total(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_spread *spread = &profile->spread;
    char calls[PL_FIGURE_BYTES], moved[PL_FIGURE_BYTES], in_place[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_count(calls, spread->realloc_calls);
    pl_figure_bytes(moved, spread->realloc_moved);
    pl_figure_count(in_place, spread->realloc_in_place);
    pl_figure_percent(share, pl_view_share(profile, PL_METRIC_ALLOC_SPACE, spread->realloc_moved));
    const char *estimated = pl_view_estimated(profile) ? " Figures are estimated." : "";
    if (spread->realloc_moved > 0)
        pl_view_paragraph(view,
                          "%s reallocs copied %s, as much as %s of all bytes allocated; %s of them stayed in place.%s",
                          calls, moved, share, in_place, estimated);
    else
        pl_view_paragraph(view, "%s realloc%s copied nothing; %s stayed in place.%s", calls,
                          strcmp(calls, "1") == 0 ? "" : "s", in_place, estimated);
}

static void fill_moved(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, pl_paths_spread(listing->view->profile, listing->paths, path).realloc_moved);
}

static void fill_calls(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_count(cell->value, pl_paths_spread(listing->view->profile, listing->paths, path).realloc_calls);
}

static void fill_in_place(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_count(cell->value, pl_paths_spread(listing->view->profile, listing->paths, path).realloc_in_place);
}

static void fill_largest(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, (double) pl_paths_spread(listing->view->profile, listing->paths, path).largest);
}

/* Where nothing was moved at all, calls are what there is to sort by, and to show. */
static double weight_of(const struct pl_profile *profile, uint32_t site)
{
    const struct pl_spread *spread = &profile->site[site].spread;
    return profile->spread.realloc_moved > 0 ? spread->realloc_moved : spread->realloc_calls;
}

void pl_reallocs_print(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    bool moved = profile->spread.realloc_moved > 0;
    if (!(profile->spread.realloc_calls > 0)) {
        pl_view_nothing(view, "No block was seen to be reallocated.");
        return;
    }
    struct pl_paths paths = pl_paths_new(profile, view->spots, PL_SHAPE_SITE, view->depth);
    double *weight = pl_say_memory(calloc(paths.count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < profile->sites; i++)
        weight[paths.of_site[i]] += weight_of(profile, i);
    struct pl_listing listing = {
        .view = view,
        .paths = &paths,
        .title = "Reallocs",
        .metric = PL_METRIC_ALLOC_SPACE,
        .weight = weight,
        .keep = 2,
        .whole = moved ? profile->spread.realloc_moved : profile->spread.realloc_calls,
        .column = {{"copied", fill_moved}, {"calls", fill_calls}, {"in place", fill_in_place}, {"up to", fill_largest}},
    };
    if (!moved)
        memmove(listing.column, listing.column + 1, sizeof listing.column - sizeof *listing.column);
    put_total(view);
    pl_listing_put(&listing);
    free(weight);
}
