/* SPDX-License-Identifier: MIT */
/*
 * growth.c - which sites grew, from snapshot to snapshot.
 *
 * A site's growth is what it held in the last snapshot beyond what it held in the first. The first tenth of the run
 * does not count, as what a program sets up then is no growth, and neither does what follows its exit, when it cleans
 * up. A snapshot names only sites that held more than a small share of the heap; one that is not named held next to
 * nothing.
 *
 * Where samples were taken both figures are estimates, and only growth beyond their error is growth. A sample stands
 * for at most the interval I that was in force, so what is estimated at B bytes has a variance of at most about I B.
 */
#include "growth.h"

#include <math.h>
#include <stdlib.h>

#include "figures.h"
#include "histogram.h"
#include "listing.h"

#define START 0.1 /* of the run */

/* held[path * PL_SNAPSHOTS + i]: in the i-th of these snapshots */
struct history {
    const struct pl_snapshot_view *snapshot;
    uint32_t snapshots;
    double *held;
    double *error; /* of each path's growth; 0: exact */
};

static struct history choose_snapshots(const struct pl_profile *profile)
{
    uint32_t first = 0, count = profile->snapshots;
    while (count > 0 && profile->exit_s > 0 && profile->snapshot[count - 1].seconds > profile->exit_s)
        count--;
    while (first + 2 < count && profile->snapshot[first].seconds < START * profile->duration_s)
        first++;
    if (count > first + PL_SNAPSHOTS)
        count = first + PL_SNAPSHOTS;
    return (struct history){.snapshot = profile->snapshot + first, .snapshots = count - first};
}

static void gather(struct history *history, const struct pl_paths *paths)
{
    history->held = pl_say_memory(calloc((paths->count + 1ull) * PL_SNAPSHOTS, sizeof *history->held));
    for (uint32_t s = 0; s < history->snapshots; s++)
        for (uint32_t i = 0; i < history->snapshot[s].shares; i++) {
            const struct pl_snapshot_share *share = &history->snapshot[s].share[i];
            history->held[(size_t) paths->of_site[share->site] * PL_SNAPSHOTS + s] += share->bytes;
        }
}

static const double *of_path(const struct history *history, uint32_t path)
{
    return history->held + (size_t) path * PL_SNAPSHOTS;
}

static double growth_of(const struct history *history, uint32_t path)
{
    const double *held = of_path(history, path);
    return fmax(0, held[history->snapshots - 1] - held[0]);
}

static double interval_at(const struct pl_profile *profile, double seconds)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < profile->moments && profile->moment[i].seconds <= seconds; i++)
        bytes = profile->moment[i].interval_bytes;
    return (double) bytes;
}

/* How much of what a site allocated was sampled, not counted. */
static double sampled_part(const struct pl_path *path)
{
    const struct pl_amount *made = &path->figures.allocated;
    double all = pl_amount_space(made);
    return all > 0 ? made->sampled.space / all : 0;
}

/* Half of a 95% interval. */
static double error_of(const struct pl_profile *profile, const struct history *history, const struct pl_paths *paths,
                       uint32_t path)
{
    const double *held = of_path(history, path);
    uint32_t last = history->snapshots - 1;
    double variance = held[0] * interval_at(profile, history->snapshot[0].seconds) +
                      held[last] * interval_at(profile, history->snapshot[last].seconds);
    return 1.96 * sqrt(fmax(0, variance * sampled_part(&paths->path[path])));
}

/* What grew for certain; the others get 0, and are not listed. */
static double *weigh(const struct pl_profile *profile, struct history *history, const struct pl_paths *paths)
{
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    history->error = pl_say_memory(calloc(paths->count + 1ull, sizeof *history->error));
    for (uint32_t i = 0; i < paths->count; i++) {
        double grown = growth_of(history, i);
        history->error[i] = error_of(profile, history, paths, i);
        weight[i] = grown > history->error[i] ? grown : 0;
    }
    return weight;
}

/* --- columns --- */

static void fill_growth(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    char bytes[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, listing->weight[path]);
    snprintf(cell->value, sizeof cell->value, "+%s", bytes);
    double error = ((const struct history *) listing->context)->error[path];
    struct pl_estimate grown = {.value = listing->weight[path], .error = error};
    grown.low = grown.value - error;
    grown.high = grown.value + error;
    pl_figure_error(cell->error, PL_METRIC_INUSE_SPACE, &grown);
}

static void fill_shape(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct history *history = listing->context;
    pl_histogram_spark(cell->value, of_path(history, path), (struct pl_range){0, history->snapshots - 1});
}

static void fill_first(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, of_path(listing->context, path)[0]);
}

static void fill_last(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct history *history = listing->context;
    pl_figure_bytes(cell->value, of_path(history, path)[history->snapshots - 1]);
}

/* --- and the whole --- */

static void put_listing(const struct pl_view *view, const struct pl_paths *paths, const struct history *history,
                        const double *weight)
{
    char first[PL_FIGURE_BYTES], last[PL_FIGURE_BYTES];
    pl_figure_span(first, history->snapshot[0].seconds);
    pl_figure_span(last, history->snapshot[history->snapshots - 1].seconds);
    char *title = pl_say_print("What grew from %s to %s, in %u snapshots", first, last, history->snapshots);
    pl_listing_put(&(struct pl_listing){
        .view = view,
        .paths = paths,
        .title = title,
        .metric = PL_METRIC_INUSE_SPACE,
        .weight = weight,
        .keep = 2,
        .column = {{"grew", fill_growth}, {"over time", fill_shape}, {"first", fill_first}, {"last", fill_last}},
        .context = history,
    });
    free(title);
}

void pl_growth_print(const struct pl_view *view)
{
    struct history history = choose_snapshots(view->profile);
    if (history.snapshots < 2) {
        pl_view_paragraph(view, "What grew is not known: there are fewer than two snapshots to compare.");
        return;
    }
    struct pl_paths paths = pl_paths_new(view->profile, view->spots, PL_SHAPE_SITE, view->depth);
    gather(&history, &paths);
    double *weight = weigh(view->profile, &history, &paths), grown = 0;
    for (uint32_t i = 0; i < paths.count; i++)
        grown += weight[i];
    if (grown > 0)
        put_listing(view, &paths, &history, weight);
    else
        pl_view_paragraph(view, "No site is seen to hold more in the last of %u snapshots than in the first.",
                          history.snapshots);
    free(weight);
    free(history.error);
    free(history.held);
}
