/* SPDX-License-Identifier: MIT */
/*
 * sizes.c - how large blocks are and how long they live, in total and by site.
 *
 * Both are histograms in powers of two, so the same code prints both (struct kind). A site's own histogram takes a few
 * characters of its line.
 */
#include <stdlib.h>

#include "analysis/traits.h"
#include "cli/report/histogram.h"
#include "cli/report/listing.h"
#include "cli/report/print.h"
#include "reader/site.h"

/* One kind of histogram. */
struct kind {
    const char *title, *sites_title, *column;
    struct pl_scale scale;
    const double *(*counts)(const struct pl_spread *spread);
    struct pl_column more[3]; /* beside the count and the histogram */
};

/* What the fill functions of a listing need. */
struct source {
    const struct kind *kind;
    struct pl_range range;
};

static const double *sizes_of(const struct pl_spread *spread)
{
    return spread->sizes;
}

static const double *lives_of(const struct pl_spread *spread)
{
    return spread->lives;
}

/* --- columns --- */

static void fill_count(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_count(cell->value, listing->weight[path]);
}

static void fill_spark(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct source *source = listing->context;
    struct pl_spread spread = pl_paths_spread(listing->view->profile, listing->paths, path);
    _Static_assert(sizeof cell->value >= PL_SPARK_BYTES, "a histogram fits a cell");
    pl_histogram_spark(cell->value, source->kind->counts(&spread), source->range);
}

static void fill_median(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct source *source = listing->context;
    struct pl_spread spread = pl_paths_spread(listing->view->profile, listing->paths, path);
    const struct pl_scale *scale = &source->kind->scale;
    scale->figure(cell->value, pl_histogram_quantile(scale, source->kind->counts(&spread), 0.5));
}

static void fill_smallest(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    struct pl_spread spread = pl_paths_spread(listing->view->profile, listing->paths, path);
    pl_figure_bytes(cell->value, (double) spread.smallest);
}

/* --- parts --- */

static void print_sites(const struct pl_view *view, const struct pl_paths *paths, const struct kind *kind)
{
    const double *all = kind->counts(&view->profile->spread);
    struct source source = {kind, pl_histogram_range(&kind->scale, all)};
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    char ends[2 * PL_FIGURE_BYTES];
    for (uint32_t i = 0; i < view->profile->sites; i++) {
        struct pl_spread spread = pl_site_spread(&view->profile->site[i]);
        weight[paths->of_site[i]] += pl_histogram_sum(&kind->scale, kind->counts(&spread));
    }
    pl_histogram_ends(ends, &kind->scale, source.range);
    struct pl_listing listing = {
        .view = view,
        .paths = paths,
        .title = kind->sites_title,
        .weight = weight,
        .keep = 2,
        .whole = pl_histogram_sum(&kind->scale, all),
        .column = {{kind->column, fill_count}, {ends, fill_spark}, kind->more[0], kind->more[1], kind->more[2]},
        .context = &source,
    };
    pl_listing_put(&listing);
    free(weight);
}

static void put_behind(const struct pl_view *view, char *text)
{
    pl_term_words(view->term, PL_STYLE_PLAIN, text, 2);
    free(text);
}

/* After the title: figures that the histogram does not show. */
static void put_extremes(const struct pl_view *view)
{
    const struct pl_profile *profile = view->profile;
    double calls = profile->total[PL_METRIC_ALLOC_OBJECTS].value;
    char least[PL_FIGURE_BYTES], mean[PL_FIGURE_BYTES], most[PL_FIGURE_BYTES];
    pl_figure_bytes(least, (double) profile->spread.smallest);
    pl_figure_bytes(mean, calls > 0 ? profile->total[PL_METRIC_ALLOC_SPACE].value / calls : 0);
    pl_figure_bytes(most, (double) profile->spread.largest);
    put_behind(view, pl_say_print("  smallest %s · mean %s · largest %s", least, mean, most));
}

static void put_note(const struct pl_view *view)
{
    if (pl_traits_estimated(view->profile))
        pl_term_words(view->term, PL_STYLE_DIM, "  estimated", 2);
    pl_term_end(view->term);
}

static void print_sizes(const struct pl_view *view, const struct pl_paths *paths)
{
    struct kind kind = {
        "Sizes",  "Sizes by site",
        "calls",  pl_histogram_sizes(),
        sizes_of, {{"mean", pl_listing_fill_mean}, {"largest", pl_listing_fill_largest}, {"smallest", fill_smallest}}};
    pl_print_heading(view, kind.title);
    put_extremes(view);
    put_note(view);
    pl_histogram_print(view, &kind.scale, view->profile->spread.sizes);
    print_sites(view, paths, &kind);
}

static void print_lives(const struct pl_view *view, const struct pl_paths *paths)
{
    double unit_s = view->profile->unit_s;
    struct kind kind = {
        "Lifetimes", "Lifetimes by site", "freed", pl_histogram_lives(unit_s), lives_of, {{"half within", fill_median}},
    };
    const double *lives = view->profile->spread.lives;
    char half[PL_FIGURE_BYTES];
    if (!(unit_s > 0) || !(pl_histogram_sum(&kind.scale, lives) > 0)) {
        pl_print_paragraph(view, "Lifetimes are not known: no block was seen to be freed.");
        return;
    }
    pl_figure_span(half, pl_histogram_quantile(&kind.scale, lives, 0.5));
    pl_print_heading(view, kind.title);
    put_behind(view, pl_say_print("  of freed blocks; half were freed within about %s", half));
    put_note(view);
    pl_histogram_print(view, &kind.scale, lives);
    print_sites(view, paths, &kind);
}

void pl_sizes_print(const struct pl_view *view)
{
    struct pl_scale scale = pl_histogram_sizes();
    if (!(pl_histogram_sum(&scale, view->profile->spread.sizes) > 0)) {
        pl_print_nothing(view, "No allocation was recorded, so sizes are unknown.");
        return;
    }
    struct pl_paths paths = pl_print_paths(view, PL_SHAPE_SITE);
    print_sizes(view, &paths);
    print_lives(view, &paths);
}
