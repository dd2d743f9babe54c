/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - the heap over time: live bytes with the peak marked, memory of the process (RSS), and how fast it
 * allocates; then which sites grew.
 *
 * Moments are taken by whoever allocates, so between two of them nothing was allocated: a level holds until the next
 * moment. What was allocated since the last one is spread evenly over the time between.
 */
#include "timeline.h"

#include <math.h>
#include <stdlib.h>

#include "growth.h"
#include "plot.h"

#define LIVE_ROWS 10
#define OTHER_ROWS 3
#define LEAST_MOMENTS 2

static double end_of(const struct pl_profile *profile)
{
    double last = profile->moment[profile->moments - 1].seconds;
    return pl_view_timed(profile) ? fmax(last, profile->duration_s) : last;
}

static double live_bytes(const struct pl_moment_view *moment)
{
    return moment->live_bytes;
}

static double rss_bytes(const struct pl_moment_view *moment)
{
    return moment->rss_bytes;
}

/* The highest level in each column; of none there, the last one before it. */
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

/* Bytes allocated until then. */
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

/* The peak may lie between two moments: the column in which it fell is as high as it was. */
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

/* Where exact figures end and estimates begin, if there are both. */
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
    pl_view_paragraph(view, "Live bytes are exact until %s, and estimated where samples were taken after that.", when);
}

static void put_curves(const struct pl_view *view)
{
    const struct pl_profile *profile = view->whole;
    struct pl_plot plot = pl_plot_new(view->term, end_of(profile));
    double value[PL_PLOT_COLUMNS];
    pl_view_heading(view, "Timeline");
    pl_term_end(view->term);
    put_peak(profile, &plot);
    double top = raise_peak(profile, &plot, value, fill_levels(profile, &plot, value, live_bytes));
    pl_plot_curve(&plot, value, top, LIVE_ROWS, "live", pl_figure_bytes);
    pl_plot_axis(&plot);
    top = fill_levels(profile, &plot, value, rss_bytes);
    if (top > 0)
        pl_plot_curve(&plot, value, top, OTHER_ROWS, "RSS", pl_figure_bytes);
    if (top > 0)
        pl_term_end(view->term);
    top = fill_rates(profile, &plot, value);
    pl_plot_curve(&plot, value, top, OTHER_ROWS, "allocated", figure_rate);
}

static void put_too_short(const struct pl_view *view)
{
    uint32_t moments = view->profile->moments;
    if (view->whole->merged)
        pl_view_paragraph(view, "There is no timeline: %u profiles are here as one, and each had a time of its own.",
                          view->whole->merged);
    else
        pl_view_paragraph(
            view,
            "Too short for a timeline: a plot takes %d moments, and %s recorded. For who held the heap when "
            "it was largest: %s report --peak %s",
            LEAST_MOMENTS, moments == 1 ? "one was" : "none was", pl_say_self(), view->subject);
}

void pl_timeline_print(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    if (!(profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0)) {
        pl_view_paragraph(view, "Nothing was allocated, so there is no timeline.");
        return;
    }
    if (profile->moments < LEAST_MOMENTS || !(end_of(profile) > 0)) {
        put_too_short(view);
        return;
    }
    put_curves(view);
    if (view->selection)
        pl_view_paragraph(view, "The curves are of the whole process; what grew is of what was selected.");
    put_change(view);
    pl_growth_print(view);
}
