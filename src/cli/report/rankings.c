/* SPDX-License-Identifier: MIT */
/*
 * rankings.c - views that rank all sites by one question: which held the heap at its peak, which make temporary
 * allocations, which grow blocks by realloc. Each is a sentence about the total, and a table.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "analysis/traits.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "reader/site.h"

/* By the metric of the listing, which needs no view and no paths. */
static void put_sites(const struct pl_view *view, struct pl_listing listing)
{
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    listing.view = view;
    listing.paths = &paths;
    pl_listing_put_metric(&listing);
}

/*
 * --- at the peak ---
 *
 * The table also shows what each site holds at the end: the difference was needed only around the peak.
 */

/* "29.0 MiB in 3,401 blocks". The caller frees it. */
static char *print_held(const struct pl_profile *profile)
{
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_PEAK_OBJECTS, &profile->total[PL_METRIC_PEAK_OBJECTS]);
    return pl_say_print("%s in %s block%s", bytes, blocks, pl_figure_plural(blocks));
}

/* The peak is that of the whole heap, also if only a part is selected. */
static void put_one(const struct pl_view *view, const char *all, const char *part)
{
    const struct pl_profile *whole = view->whole;
    char when[PL_FIGURE_BYTES], slack[2 * PL_FIGURE_BYTES];
    pl_figure_span(when, whole->peak_s);
    pl_figure_slack(slack, whole->total[PL_METRIC_PEAK_SPACE].value, whole->peak_slack_bytes,
                    whole->total[PL_METRIC_ALLOC_SPACE].value);
    pl_print_paragraph(view, "The heap was largest %s after the start: %s%s%s%s%s.", when, all, slack,
                       *slack ? ", as several threads allocate" : "", view->selection ? "; of that, selected: " : "",
                       view->selection ? part : "");
}

static void put_peak(const struct pl_view *view)
{
    const struct pl_profile *whole = view->whole;
    char *all = print_held(whole), *part = print_held(view->profile);
    if (whole->merged)
        pl_print_paragraph(view, "The peaks of %u profiles, each at its own time, add up to %s%s%s.", whole->merged,
                           all, view->selection ? "; of that, selected: " : "", view->selection ? part : "");
    else
        put_one(view, all, part);
    free(part);
    free(all);
}

static void fill_later(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, listing->paths->path[path].metric[PL_METRIC_INUSE_SPACE].value);
}

/* The selected part may have had its own peak at another time, and held nothing at the peak of the whole heap. */
static void put_nothing_then(const struct pl_view *view)
{
    const char *held = pl_traits_estimated(view->profile) ? "seen to be held" : "held";
    char when[PL_FIGURE_BYTES], *all = print_held(view->whole);
    pl_figure_span(when, view->whole->peak_s);
    char *what =
        view->whole->merged
            ? pl_say_print("None of the selected memory was %s when each of %u processes had its peak, %s in all.",
                           held, view->whole->merged, all)
            : pl_say_print("None of the selected memory was %s when the whole heap was largest, %s after the "
                           "start, with %s.",
                           held, when, all);
    pl_print_nothing(view, what);
    free(what);
    free(all);
}

void pl_rankings_peak(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_PEAK_SPACE].value > 0)) {
        if (view->whole->total[PL_METRIC_PEAK_SPACE].value > 0) {
            put_nothing_then(view);
            return;
        }
        pl_print_nothing(view, "No block was seen to be live, so there is no peak.");
        return;
    }
    put_peak(view);
    put_sites(view, (struct pl_listing){
                        .metric = PL_METRIC_PEAK_SPACE,
                        .column = {{pl_metric_column(PL_METRIC_PEAK_SPACE), pl_listing_fill_metric},
                                   {pl_metric_column(PL_METRIC_PEAK_OBJECTS), pl_listing_fill_companion},
                                   {profile->running ? "now" : "at the end", fill_later}},
                    });
}

/*
 * --- temporary allocations: the same thread frees the block before its next allocation ---
 *
 * Such a block could be a local variable, or one buffer that is reused. A site with only temporary allocations is
 * easier to change, so the table shows the share of a site's own calls that are temporary.
 */

static void put_temporary(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_estimate *temporary = &profile->total[PL_METRIC_TEMP_OBJECTS];
    char count[2 * PL_FIGURE_BYTES], calls[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_estimate(count, PL_METRIC_TEMP_OBJECTS, temporary);
    pl_figure_count(calls, profile->total[PL_METRIC_ALLOC_OBJECTS].value);
    pl_figure_percent(share, pl_metric_share(profile, PL_METRIC_ALLOC_OBJECTS, temporary->value));
    pl_print_paragraph(
        view,
        "%s of %s calls (%s) were temporary: the same thread freed the block before its next allocation. "
        "One reused buffer could replace such blocks.",
        count, calls, share);
}

static void fill_share(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pl_estimate *metric = listing->paths->path[path].metric;
    double calls = metric[PL_METRIC_ALLOC_OBJECTS].value;
    pl_figure_percent(cell->value, calls > 0 ? metric[PL_METRIC_TEMP_OBJECTS].value / calls : 0);
}

void pl_rankings_temporary(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0)) {
        pl_print_paragraph(view, "Nothing was allocated, so nothing was temporary.");
        return;
    }
    if (!(profile->total[PL_METRIC_TEMP_OBJECTS].value > 0)) {
        pl_print_nothing(view, "No allocation was seen to be temporary (freed before its thread's next allocation).");
        return;
    }
    put_temporary(view);
    put_sites(view, (struct pl_listing){
                        .metric = PL_METRIC_TEMP_OBJECTS,
                        .column = {{"calls", pl_listing_fill_metric},
                                   {"of its own", fill_share},
                                   {"mean size", pl_listing_fill_mean}},
                        .keep = 2,
                    });
}

/*
 * --- reallocs ---
 *
 * A realloc that cannot grow the block in place copies it. A table that doubles ten times has copied about its final
 * size. The column "up to" shows the size to reserve instead.
 */

static void put_reallocs(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    const struct pl_spread *spread = &profile->spread;
    char calls[PL_FIGURE_BYTES], moved[PL_FIGURE_BYTES], in_place[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_count(calls, spread->realloc_calls);
    pl_figure_bytes(moved, spread->realloc_moved);
    pl_figure_count(in_place, spread->realloc_in_place);
    pl_figure_percent(share, pl_metric_share(profile, PL_METRIC_ALLOC_SPACE, spread->realloc_moved));
    const char *estimated = pl_traits_estimated(profile) ? " Figures are estimated." : "";
    if (spread->realloc_moved > 0)
        pl_print_paragraph(view,
                           "%s reallocs copied %s, as much as %s of all bytes allocated; %s of them stayed in place.%s",
                           calls, moved, share, in_place, estimated);
    else
        pl_print_paragraph(view, "%s realloc%s copied nothing; %s stayed in place.%s", calls,
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

/* If no realloc of the profile copied anything, the table shows calls and is sorted by them. */
static double weight_of(const struct pl_profile *profile, uint32_t site)
{
    struct pl_spread spread = pl_site_spread(&profile->site[site]);
    return profile->spread.realloc_moved > 0 ? spread.realloc_moved : spread.realloc_calls;
}

void pl_rankings_reallocs(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    bool moved = profile->spread.realloc_moved > 0;
    if (!(profile->spread.realloc_calls > 0)) {
        pl_print_nothing(view, "No block was seen to be reallocated.");
        return;
    }
    struct pl_paths paths = pl_paths_new(profile, view->locations, PL_SHAPE_SITE, view->depth);
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
        .column = {{"copied", fill_moved},
                   {"calls", fill_calls},
                   {"in place", fill_in_place},
                   {"up to", pl_listing_fill_largest}},
    };
    if (!moved)
        memmove(listing.column, listing.column + 1, sizeof listing.column - sizeof *listing.column);
    put_reallocs(view);
    pl_listing_put(&listing);
    free(weight);
}
