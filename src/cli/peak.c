/* SPDX-License-Identifier: MIT */
/*
 * peak.c - who held the heap when it was largest.
 *
 * Beside what a site held then is what it holds at the end: what is gone by then was needed for the peak alone.
 */
#include "peak.h"

#include <stdlib.h>

#include "listing.h"

/* "29.0 MiB in 3,401 blocks". The caller frees it. */
static char *print_held(const struct pl_profile *profile)
{
    char bytes[2 * PL_FIGURE_BYTES], blocks[2 * PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_figure_estimate(blocks, PL_METRIC_PEAK_OBJECTS, &profile->total[PL_METRIC_PEAK_OBJECTS]);
    return pl_say_print("%s in %s block%s", bytes, blocks, pl_figure_plural(blocks));
}

/* The peak is the whole heap's, whatever part of it is shown. */
static void put_one(const struct pl_view *view, const char *all, const char *part)
{
    const struct pl_profile *whole = view->whole;
    char when[PL_FIGURE_BYTES], slack[PL_FIGURE_BYTES];
    bool rough = whole->peak_slack_bytes > 0;
    pl_figure_span(when, whole->peak_s);
    pl_figure_bytes(slack, whole->peak_slack_bytes);
    pl_view_paragraph(view, "The heap was largest %s after the start: %s%s%s%s%s%s.", when, all,
                      rough ? ", to within " : "", rough ? slack : "", rough ? ", as several threads allocate" : "",
                      view->selection ? "; of that, selected: " : "", view->selection ? part : "");
}

static void put_total(const struct pl_view *view)
{
    const struct pl_profile *whole = view->whole;
    char *all = print_held(whole), *part = print_held(view->profile);
    if (whole->merged)
        pl_view_paragraph(view, "The peaks of %u profiles, each at its own time, add up to %s%s%s.", whole->merged, all,
                          view->selection ? "; of that, selected: " : "", view->selection ? part : "");
    else
        put_one(view, all, part);
    free(part);
    free(all);
}

static void fill_later(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, listing->paths->path[path].metric[PL_METRIC_INUSE_SPACE].value);
}

/* The part that was selected may have had its own high time, and nothing at the whole heap's. */
static void put_nothing_then(const struct pl_view *view)
{
    const char *held = pl_view_estimated(view->profile) ? "seen to be held" : "held";
    char when[PL_FIGURE_BYTES], *all = print_held(view->whole);
    pl_figure_span(when, view->whole->peak_s);
    char *what =
        view->whole->merged
            ? pl_say_print("Of what was selected nothing was %s when each of %u processes held most, %s in all.", held,
                           view->whole->merged, all)
            : pl_say_print("Of what was selected nothing was %s when the whole heap was largest, %s after the "
                           "start, with %s.",
                           held, when, all);
    pl_view_nothing(view, what);
    free(what);
    free(all);
}

void pl_peak_print(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_PEAK_SPACE].value > 0)) {
        if (view->whole->total[PL_METRIC_PEAK_SPACE].value > 0) {
            put_nothing_then(view);
            return;
        }
        pl_view_nothing(view, "No block was seen to be live, so there is no peak.");
        return;
    }
    struct pl_paths paths = pl_view_paths(view, PL_SHAPE_SITE);
    put_total(view);
    pl_listing_put_metric(&(struct pl_listing){
        .view = view,
        .paths = &paths,
        .metric = PL_METRIC_PEAK_SPACE,
        .column = {{pl_view_column(PL_METRIC_PEAK_SPACE), pl_listing_fill_metric},
                   {pl_view_column(PL_METRIC_PEAK_OBJECTS), pl_listing_fill_companion},
                   {profile->running ? "now" : "at the end", fill_later}},
    });
}
