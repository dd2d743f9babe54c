/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - the heap over time: live bytes with the peak marked, RSS, and the rate of allocation; then which sites
 * grew.
 *
 * Threads record moments while they allocate, so next to nothing was allocated in a long gap between two moments: a
 * level is drawn as constant until the next one. Bytes allocated between two moments are spread evenly over the gap.
 *
 * A site's growth is the difference between its live bytes in the last composition and in the first. Compositions from
 * the first tenth of the run are skipped, since a program sets itself up then. Those after its exit are skipped too,
 * since it cleans up then. A composition names only sites that held more than a small share of the heap; all other
 * sites count as 0.
 *
 * In sampled profiles both figures are estimates, and only a difference larger than their error counts as growth. A
 * sample stands for at most the sampling interval I, so an estimate of B bytes has a variance of at most about I B.
 */
#include "cli/report/views.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/leaks/rise.h"
#include "analysis/traits.h"
#include "cli/report/histogram.h"
#include "cli/report/listing.h"
#include "cli/report/plot.h"
#include "reader/figures.h"
#include "cli/report/print.h"

#define LIVE_ROWS 10
#define RATE_ROWS 3
#define LEAST_MOMENTS 2
#define START 0.1 /* of the run: growth is measured from then on */

/* --- curves --- */

static double end_of(const struct pl_profile *profile)
{
    double last = profile->moment[profile->moments - 1].seconds;
    return pl_traits_timed(profile) ? fmax(last, profile->duration_s) : last;
}

static double live_bytes(const struct pl_moment_view *moment)
{
    return moment->live_bytes;
}

static double rss_bytes(const struct pl_moment_view *moment)
{
    return moment->rss_bytes;
}

/* The highest level in each column; if no moment falls into it, the last level before. */
static double fill_levels(const struct pl_profile *profile, const struct pl_plot *plot, double *value,
                          double (*level)(const struct pl_moment_view *))
{
    double held = 0, top = 0;
    uint32_t next = 0;
    for (size_t c = 0; c < plot->columns; c++) {
        double most = 0;
        bool any = false;
        for (; next < profile->moments && pl_plot_column(plot, profile->moment[next].seconds) <= c; next++) {
            held = level(&profile->moment[next]);
            most = fmax(most, held);
            any = true;
        }
        value[c] = any ? most : held;
        top = fmax(top, value[c]);
    }
    return top;
}

/* Bytes allocated until this time. */
static double allocated_by(const struct pl_profile *profile, double seconds)
{
    struct pl_moment_view before = {0};
    for (uint32_t i = 0; i < profile->moments; i++) {
        const struct pl_moment_view *moment = &profile->moment[i];
        if (moment->seconds > seconds) {
            double part = (seconds - before.seconds) / (moment->seconds - before.seconds);
            return before.allocated_bytes + part * (moment->allocated_bytes - before.allocated_bytes);
        }
        before = *moment;
    }
    return before.allocated_bytes;
}

static double fill_rates(const struct pl_profile *profile, const struct pl_plot *plot, double *value)
{
    double top = 0, before = 0;
    for (size_t c = 0; c < plot->columns; c++) {
        double now = allocated_by(profile, pl_plot_time(plot, c + 1));
        value[c] = fmax(now - before, 0) / (pl_plot_time(plot, c + 1) - pl_plot_time(plot, c));
        top = fmax(top, value[c]);
        before = now;
    }
    return top;
}

static void figure_rate(char out[PL_FIGURE_BYTES], double rate)
{
    char bytes[PL_FIGURE_BYTES];
    pl_figure_bytes(bytes, rate);
    snprintf(out, PL_FIGURE_BYTES, "%.*s/s", PL_FIGURE_BYTES - 3, bytes);
}

/* The peak may lie between two moments: raises the column of the peak to its height. */
static double raise_peak(const struct pl_profile *profile, const struct pl_plot *plot, double *value, double top)
{
    double *peak = &value[pl_plot_column(plot, profile->peak_s)];
    *peak = fmax(*peak, profile->total[PL_METRIC_PEAK_SPACE].value);
    return fmax(top, *peak);
}

static void put_peak(const struct pl_profile *profile, const struct pl_plot *plot)
{
    char bytes[2 * PL_FIGURE_BYTES], when[PL_FIGURE_BYTES];
    pl_figure_estimate(bytes, PL_METRIC_PEAK_SPACE, &profile->total[PL_METRIC_PEAK_SPACE]);
    pl_figure_span(when, profile->peak_s);
    char *text = pl_say_print("peak %s at %s", bytes, when);
    pl_plot_mark(plot, pl_plot_column(plot, profile->peak_s), "▼", text);
    free(text);
}

/* Says when exact figures end and estimates begin, if the profile has both. */
static void put_change(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    uint32_t first = 0;
    while (first < profile->moments && !profile->moment[first].interval_bytes)
        first++;
    if (profile->exact || !first || first == profile->moments)
        return;
    char when[PL_FIGURE_BYTES];
    pl_figure_span(when, profile->moment[first].seconds);
    pl_print_paragraph(view, "Live bytes are exact until %s; after that they may be estimated from samples.", when);
}

/* Live bytes and RSS share an axis, so that the gap between them is visible. */
static void put_levels(const struct pl_view *view, const struct pl_plot *plot)
{
    const struct pl_profile *profile = view->whole;
    double live[PL_PLOT_COLUMNS], rss[PL_PLOT_COLUMNS];
    double most = raise_peak(profile, plot, live, fill_levels(profile, plot, live, live_bytes));
    double resident = fill_levels(profile, plot, rss, rss_bytes);
    pl_print_heading(view, "Timeline");
    if (resident > 0)
        pl_term_put(view->term, PL_STYLE_DIM, "  █ live  " PL_PLOT_SHADE " RSS");
    pl_term_end(view->term);
    put_peak(profile, plot);
    pl_plot_curve(plot, &(struct pl_curve){.name = "live",
                                           .value = live,
                                           .shade = resident > 0 ? rss : NULL,
                                           .top = fmax(most, resident),
                                           .rows = LIVE_ROWS,
                                           .figure = pl_figure_bytes});
    pl_plot_axis(plot);
}

static void put_curves(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    struct pl_plot plot = pl_plot_new(view->term, end_of(profile));
    double rate[PL_PLOT_COLUMNS], top;
    put_levels(view, &plot);
    top = fill_rates(profile, &plot, rate);
    pl_plot_curve(&plot, &(struct pl_curve){
                             .name = "allocated", .value = rate, .top = top, .rows = RATE_ROWS, .figure = figure_rate});
}

/* --- growth --- */

/* held[path * PL_COMPOSITIONS + i]: live bytes of a path in the i-th of these compositions */
struct history {
    const struct pl_composition_view *composition;
    uint32_t compositions;
    double *held;
    double *error; /* of each path's growth; 0: exact */
};

static struct history choose_compositions(const struct pl_profile *profile)
{
    uint32_t first = 0, count = profile->compositions;
    while (count > 0 && profile->composition[count - 1].seconds > pl_rise_until(profile))
        count--;
    while (first + 2 < count && profile->composition[first].seconds < START * profile->duration_s)
        first++;
    if (count > first + PL_COMPOSITIONS)
        count = first + PL_COMPOSITIONS;
    return (struct history){.composition = profile->composition + first, .compositions = count - first};
}

static void gather(struct history *history, const struct pl_paths *paths)
{
    history->held = pl_say_memory(calloc((paths->count + 1ull) * PL_COMPOSITIONS, sizeof *history->held));
    for (uint32_t s = 0; s < history->compositions; s++)
        for (uint32_t i = 0; i < history->composition[s].shares; i++) {
            const struct pl_composition_share *share = &history->composition[s].share[i];
            history->held[(size_t) paths->of_site[share->site] * PL_COMPOSITIONS + s] += share->bytes;
        }
}

static const double *of_path(const struct history *history, uint32_t path)
{
    return history->held + (size_t) path * PL_COMPOSITIONS;
}

static double growth_of(const struct history *history, uint32_t path)
{
    const double *held = of_path(history, path);
    return fmax(0, held[history->compositions - 1] - held[0]);
}

static double interval_at(const struct pl_profile *profile, double seconds)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < profile->moments && profile->moment[i].seconds <= seconds; i++)
        bytes = profile->moment[i].interval_bytes;
    return (double) bytes;
}

/* The fraction of a site's allocated bytes that was sampled, not counted. */
static double sampled_part(const struct pl_path *path)
{
    const struct pl_amount *made = &path->figures.allocated;
    double all = pl_amount_space(made);
    return all > 0 ? made->sampled.space / all : 0;
}

/* Half the width of a 95% confidence interval. */
static double error_of(const struct pl_profile *profile, const struct history *history, const struct pl_paths *paths,
                       uint32_t path)
{
    const double *held = of_path(history, path);
    uint32_t last = history->compositions - 1;
    double variance = held[0] * interval_at(profile, history->composition[0].seconds) +
                      held[last] * interval_at(profile, history->composition[last].seconds);
    return 1.96 * sqrt(fmax(0, variance * sampled_part(&paths->path[path])));
}

/* The growth of each path. It is 0 if it may be noise; such paths are not listed. */
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
    pl_histogram_spark(cell->value, of_path(history, path), (struct pl_range){0, history->compositions - 1});
}

static void fill_first(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, of_path(listing->context, path)[0]);
}

static void fill_last(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct history *history = listing->context;
    pl_figure_bytes(cell->value, of_path(history, path)[history->compositions - 1]);
}

/* --- the table --- */

static void put_listing(const struct pl_view *view, const struct pl_paths *paths, const struct history *history,
                        const double *weight)
{
    char first[PL_FIGURE_BYTES], last[PL_FIGURE_BYTES];
    pl_figure_span(first, history->composition[0].seconds);
    pl_figure_span(last, history->composition[history->compositions - 1].seconds);
    char *title = pl_say_print("What grew from %s to %s, measured %u times", first, last, history->compositions);
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

static void print_growth(const struct pl_view *view)
{
    struct history history = choose_compositions(view->profile);
    if (history.compositions < 2) {
        pl_print_paragraph(view, "Growth by site is not known: the heap was measured fewer than two times.");
        return;
    }
    struct pl_paths paths = pl_paths_new(view->profile, view->locations, PL_SHAPE_SITE, view->depth);
    gather(&history, &paths);
    double *weight = weigh(view->profile, &history, &paths), grown = 0;
    for (uint32_t i = 0; i < paths.count; i++)
        grown += weight[i];
    if (grown > 0)
        put_listing(view, &paths, &history, weight);
    else
        pl_print_paragraph(view, "No site is seen to hold more at the last of %u measurements than at the first.",
                           history.compositions);
    free(weight);
    free(history.error);
    free(history.held);
}

/* --- the view --- */

static void put_too_short(const struct pl_view *view)
{
    uint32_t moments = view->profile->moments;
    if (view->whole->merged)
        pl_print_paragraph(view, "There is no timeline: %u profiles were merged, and each has its own clock.",
                           view->whole->merged);
    else
        pl_print_paragraph(
            view,
            "Too short for a timeline: a plot takes %d moments, and %s recorded. For the sites that held memory at "
            "the peak: %s report --peak %s",
            LEAST_MOMENTS, moments == 1 ? "one was" : "none was", pl_say_self(), view->subject);
}

void pl_timeline_print(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0)) {
        pl_print_paragraph(view, "Nothing was allocated, so there is no timeline.");
        return;
    }
    if (profile->moments < LEAST_MOMENTS || !(end_of(profile) > 0)) {
        put_too_short(view);
        return;
    }
    put_curves(view);
    if (view->selection)
        pl_print_paragraph(view, "The curves show the whole process; growth is shown for the selected part only.");
    put_change(view);
    print_growth(view);
}
