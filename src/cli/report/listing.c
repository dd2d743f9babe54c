/* SPDX-License-Identifier: MIT */
/*
 * listing.c - sites as a table:
 *
 *   Never freed    bytes ± 95%       share   blocks ± 95%  site
 *     ███████▏  1.9 MiB ± 0.2 MiB   91.0%    1,180 ± 120   index_add_term  src/index.c:212  [indexer]
 *               ← index_file  src/index.c:97 ← main  src/main.c:31
 *
 * Columns are as wide as their contents. On a narrow terminal the last columns are left out first, to keep room for
 * names.
 */
#include "cli/report/listing.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/metric.h"
#include "cli/report/print.h"
#include "cli/report/tagview.h"
#include "reader/base/rank.h"
#include "reader/base/utf8.h"

#define BAR_WIDTH 8
#define INDENT 2
#define FIGURES (INDENT + BAR_WIDTH + PL_TABLE_GAP) /* the column where figures begin */
#define SHARE_WIDTH 6                               /* 100.0% */
#define ABOVE "(callers above)"
#define SITE_WIDTH_LEAST 44 /* room that ordinary columns must leave for the site */
#define SITE_WIDTH_KEPT 24  /* room that the first `keep` columns must leave for it */

struct line {
    uint32_t path;
    double fraction;
    char share[PL_FIGURE_BYTES];
    struct pl_cell cell[PL_LISTING_COLUMNS];
};

struct table {
    const struct pl_listing *listing;
    struct pl_term *term;
    struct line *line;
    uint32_t count;
    size_t columns; /* shown */
    struct pl_table_column column[PL_LISTING_COLUMNS];
    size_t site_column;
};

/* --- choice of lines --- */

/* The paths, heaviest first. The caller frees it. */
static struct pl_ranked *rank(const struct pl_listing *listing)
{
    uint32_t count = listing->paths->count;
    struct pl_ranked *ranked = pl_say_memory(calloc(count + 1ull, sizeof *ranked));
    for (uint32_t i = 0; i < count; i++)
        ranked[i] = (struct pl_ranked){i, listing->weight[i]};
    pl_rank(ranked, count);
    return ranked;
}

static double share_of(const struct pl_listing *listing, double weight)
{
    return listing->whole > 0 ? weight / listing->whole : 0;
}

static bool worth_a_line(const struct table *table, double weight)
{
    const struct pl_listing *listing = table->listing;
    return weight > 0 && table->count < listing->view->top &&
           (!(listing->whole > 0) || share_of(listing, weight) >= listing->view->threshold);
}

static void fill_line(const struct pl_listing *listing, const struct pl_ranked *path, double heaviest,
                      struct line *line)
{
    double share = share_of(listing, path->weight);
    line->path = path->item;
    line->fraction = listing->whole > 0 ? share : path->weight / heaviest;
    pl_figure_percent(line->share, share);
    for (size_t c = 0; c < PL_LISTING_COLUMNS && listing->column[c].title; c++)
        listing->column[c].fill(listing, path->item, &line->cell[c]);
}

static void fill(struct table *table, const struct pl_ranked *ranked)
{
    for (uint32_t i = 0; i < table->listing->paths->count && worth_a_line(table, ranked[i].weight); i++)
        fill_line(table->listing, &ranked[i], ranked[0].weight, &table->line[table->count++]);
}

/* --- layout --- */

static void measure(struct table *table, size_t c)
{
    struct pl_table_column *column = &table->column[c];
    column->title = table->listing->column[c].title;
    pl_table_widen_title(column);
    for (uint32_t i = 0; i < table->count; i++)
        pl_table_widen_cell(column, &table->line[i].cell[c]);
    pl_table_widen_error(column);
}

static void lay_out(struct table *table)
{
    const struct pl_listing *listing = table->listing;
    size_t end = FIGURES;
    for (size_t c = 0; c < PL_LISTING_COLUMNS && listing->column[c].title; c++) {
        measure(table, c);
        size_t width = pl_table_width(&table->column[c]) + PL_TABLE_GAP +
                       (c || !(listing->whole > 0) ? 0 : SHARE_WIDTH + PL_TABLE_GAP);
        size_t least = c < listing->keep ? SITE_WIDTH_KEPT : SITE_WIDTH_LEAST;
        if (c && end + width + least > table->term->width)
            break;
        table->columns = c + 1;
        table->column[c].start = end;
        end += width;
    }
    table->site_column = end;
}

static void put_columns(const struct table *table, enum pl_style style, const struct line *line)
{
    for (size_t c = 0; c < table->columns; c++) {
        const struct pl_table_column *column = &table->column[c];
        pl_table_put(table->term, column, &line->cell[c], style, style == PL_STYLE_DIM ? style : PL_STYLE_PLAIN);
        pl_term_pad(table->term, column->start + pl_table_width(column) + PL_TABLE_GAP);
        if (c || !(table->listing->whole > 0))
            continue;
        pl_term_right(table->term, style, line->share, SHARE_WIDTH);
        pl_term_pad(table->term, table->term->column + PL_TABLE_GAP);
    }
}

static void put_title(const struct table *table)
{
    struct pl_term *term = table->term;
    struct line heading = {.share = "share"};
    for (size_t c = 0; c < table->columns; c++)
        heading.cell[c] = pl_table_heading(&table->column[c]);
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, table->listing->title);
    if (term->column + PL_TABLE_GAP > FIGURES + table->column[0].value_width - pl_utf8_width(heading.cell[0].value))
        pl_term_end(term);
    put_columns(table, PL_STYLE_DIM, &heading);
    pl_term_put(term, PL_STYLE_DIM, "site");
    pl_term_end(term);
}

/* --- rows --- */

/* Callers are long, so they have their own lines, which start below the figures. If a table above has already printed
 * the callers of this site, "(callers above)" stands in for them. */
static void put_callers(const struct table *table, uint32_t number)
{
    const struct pl_view *view = table->listing->view;
    const struct pl_path *path = &table->listing->paths->path[number];
    bool again = view->shown && view->shown[number];
    if (view->shown)
        view->shown[number] = true;
    if (path->count >= 2 && again && table->term->column + 2 + strlen(ABOVE) <= table->term->width)
        pl_term_put(table->term, PL_STYLE_DIM, "  " ABOVE);
    pl_term_end(table->term);
    if (path->count >= 2 && !again) {
        pl_term_pad(table->term, FIGURES);
        pl_print_callers(view, path, FIGURES);
        pl_term_end(table->term);
    }
    if (!again)
        pl_print_below(view, table->listing->paths, number, FIGURES);
}

static void put_line(const struct table *table, const struct line *line)
{
    struct pl_term *term = table->term;
    const struct pl_view *view = table->listing->view;
    const struct pl_path *path = &table->listing->paths->path[line->path];
    pl_term_pad(term, INDENT);
    pl_term_bar(term, line->fraction, BAR_WIDTH);
    put_columns(table, PL_STYLE_BOLD, line);
    pl_print_site(view, path, table->site_column);
    pl_tagview_put(term, pl_tagview_of_path(view->profile, table->listing->paths, line->path, table->listing->metric),
                   table->site_column);
    put_callers(table, line->path);
}

static void put_rest(const struct table *table, const struct pl_ranked *ranked)
{
    const struct pl_listing *listing = table->listing;
    struct pl_term *term = table->term;
    double weight = 0;
    uint32_t more = 0;
    struct line rest = {0};
    char number[PL_FIGURE_BYTES];
    for (uint32_t i = table->count; i < listing->paths->count; i++) {
        weight += ranked[i].weight > 0 ? ranked[i].weight : 0;
        more += ranked[i].weight > 0;
    }
    if (!more)
        return;
    pl_figure_percent(rest.share, share_of(listing, weight));
    put_columns(table, PL_STYLE_DIM, &rest);
    pl_figure_exact(number, more);
    pl_term_print(term, PL_STYLE_DIM, "(%s more)", number);
    pl_term_end(term);
}

void pl_listing_put(const struct pl_listing *listing)
{
    struct table table = {.listing = listing, .term = listing->view->term};
    struct pl_ranked *ranked = rank(listing);
    uint32_t most = listing->paths->count < listing->view->top ? listing->paths->count : listing->view->top;
    table.line = pl_say_memory(calloc(most + 1ull, sizeof *table.line));
    fill(&table, ranked);
    lay_out(&table);
    put_title(&table);
    for (uint32_t i = 0; i < table.count; i++)
        put_line(&table, &table.line[i]);
    put_rest(&table, ranked);
    free(table.line);
    free(ranked);
}

/* --- listings by a metric --- */

static void fill_metric(const struct pl_listing *listing, uint32_t path, enum pl_metric metric, struct pl_cell *cell)
{
    const struct pl_estimate *estimate = &listing->paths->path[path].metric[metric];
    pl_figure_cell(cell->value, cell->error, metric, estimate);
}

void pl_listing_fill_metric(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill_metric(listing, path, listing->metric, cell);
}

void pl_listing_fill_companion(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill_metric(listing, path, pl_metric_companion(listing->metric), cell);
}

void pl_listing_fill_mean(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    const struct pl_estimate *metric = listing->paths->path[path].metric;
    double calls = metric[PL_METRIC_ALLOC_OBJECTS].value;
    pl_figure_bytes(cell->value, calls > 0 ? metric[PL_METRIC_ALLOC_SPACE].value / calls : 0);
}

void pl_listing_fill_largest(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    pl_figure_bytes(cell->value, (double) pl_paths_spread(listing->view->profile, listing->paths, path).largest);
}

void pl_listing_put_metric(const struct pl_listing *given)
{
    const struct pl_paths *paths = given->paths;
    const struct pl_profile *profile = given->view->profile;
    struct pl_listing listing = *given;
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = paths->path[i].metric[listing.metric].value;
    listing.title = pl_metric_title(profile, listing.metric);
    listing.weight = weight;
    bool change = profile->difference && listing.metric != PL_METRIC_ALLOC_SPACE &&
                  listing.metric != PL_METRIC_ALLOC_OBJECTS; /* no total to share: some sites grew, some shrank */
    listing.whole = change ? 0 : profile->total[listing.metric].value;
    pl_listing_put(&listing);
    free(weight);
}

void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric)
{
    pl_listing_put_metric(&(struct pl_listing){
        .view = view,
        .paths = paths,
        .metric = metric,
        .column = {{pl_metric_column(metric), pl_listing_fill_metric},
                   {pl_metric_column(pl_metric_companion(metric)), pl_listing_fill_companion}},
    });
}
