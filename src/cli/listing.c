/* SPDX-License-Identifier: MIT */
/*
 * listing.c - sites as a table:
 *
 *   Never freed    bytes ± 95%       share   blocks ± 95%  site
 *     ███████▏  1.9 MiB ± 0.2 MiB   91.0%    1,180 ± 120   index_add_term  src/index.c:212  [indexer]
 *               ← index_file  src/index.c:97 ← main  src/main.c:31
 *
 * Columns are as wide as what is in them. On a narrow terminal the last ones go first, so that names keep their room.
 */
#include "listing.h"

#include <stdlib.h>
#include <string.h>

#include "rank.h"
#include "tags.h"
#include "utf8.h"

#define BAR_WIDTH 8
#define INDENT 2
#define GAP 2
#define FIGURES (INDENT + BAR_WIDTH + GAP) /* where they begin */
#define SHARE_WIDTH 6                      /* 100.0% */
#define ERROR_TITLE "± 95%"
#define ABOVE "(callers above)"
#define SITE_WIDTH_LEAST 44 /* what columns leave to the site; */
#define SITE_WIDTH_KEPT 24  /* what those leave that a view cannot do without */

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
    size_t start[PL_LISTING_COLUMNS], value_width[PL_LISTING_COLUMNS], error_width[PL_LISTING_COLUMNS];
    size_t site_column;
};

/* --- which --- */

/* The paths. The caller frees it. */
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

static void widen(size_t *width, const char *text)
{
    size_t needed = pl_utf8_width(text);
    if (needed > *width)
        *width = needed;
}

static size_t column_width(const struct table *table, size_t c)
{
    return table->value_width[c] + (table->error_width[c] ? 1 + table->error_width[c] : 0);
}

static void measure(struct table *table, size_t c)
{
    widen(&table->value_width[c], table->listing->column[c].title);
    for (uint32_t i = 0; i < table->count; i++) {
        widen(&table->value_width[c], table->line[i].cell[c].value);
        widen(&table->error_width[c], table->line[i].cell[c].error);
    }
    if (table->error_width[c])
        widen(&table->error_width[c], ERROR_TITLE);
}

static void lay_out(struct table *table)
{
    const struct pl_listing *listing = table->listing;
    size_t end = FIGURES;
    for (size_t c = 0; c < PL_LISTING_COLUMNS && listing->column[c].title; c++) {
        measure(table, c);
        size_t width = column_width(table, c) + GAP + (c || !(listing->whole > 0) ? 0 : SHARE_WIDTH + GAP);
        size_t least = c < listing->keep ? SITE_WIDTH_KEPT : SITE_WIDTH_LEAST;
        if (c && end + width + least > table->term->width)
            break;
        table->columns = c + 1;
        table->start[c] = end;
        end += width;
    }
    table->site_column = end;
}

/* A figure to the right of its column, its error to the left of the next. */
static void put_cell(const struct table *table, enum pl_style style, const struct pl_cell *cell, size_t c)
{
    struct pl_term *term = table->term;
    size_t start = table->start[c], end = start + table->value_width[c];
    pl_term_right(term, style, cell->value, end > term->column ? end - term->column : 0);
    if (table->error_width[c]) {
        pl_term_put(term, style, " ");
        pl_term_put(term, style == PL_STYLE_DIM ? style : PL_STYLE_PLAIN, cell->error);
    }
    pl_term_pad(term, start + column_width(table, c) + GAP);
}

static void put_columns(const struct table *table, enum pl_style style, const struct line *line)
{
    for (size_t c = 0; c < table->columns; c++) {
        put_cell(table, style, &line->cell[c], c);
        if (c || !(table->listing->whole > 0))
            continue;
        pl_term_right(table->term, style, line->share, SHARE_WIDTH);
        pl_term_pad(table->term, table->term->column + GAP);
    }
}

static void put_title(const struct table *table)
{
    struct pl_term *term = table->term;
    struct line heading = {.share = "share"};
    for (size_t c = 0; c < table->columns; c++) {
        snprintf(heading.cell[c].value, sizeof heading.cell[c].value, "%s", table->listing->column[c].title);
        if (table->error_width[c])
            strcpy(heading.cell[c].error, ERROR_TITLE);
    }
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, table->listing->title);
    if (term->column + GAP > FIGURES + table->value_width[0] - pl_utf8_width(heading.cell[0].value))
        pl_term_end(term);
    put_columns(table, PL_STYLE_DIM, &heading);
    pl_term_put(term, PL_STYLE_DIM, "site");
    pl_term_end(term);
}

/* --- rows --- */

/* Callers have lines of their own, from the figures on: they are long, and there are several. Who has read them in a
 * table above need not read them again. */
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
        pl_view_callers(view, path, FIGURES);
        pl_term_end(table->term);
    }
    if (!again)
        pl_view_below(view, table->listing->paths, number, FIGURES);
}

static void put_line(const struct table *table, const struct line *line)
{
    struct pl_term *term = table->term;
    const struct pl_view *view = table->listing->view;
    const struct pl_path *path = &table->listing->paths->path[line->path];
    pl_term_pad(term, INDENT);
    pl_term_bar(term, line->fraction, BAR_WIDTH);
    put_columns(table, PL_STYLE_BOLD, line);
    pl_view_site(view, path, table->site_column);
    pl_tags_put(term, pl_tags_of_path(view->profile, table->listing->paths, line->path, table->listing->metric),
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

/* --- by a metric --- */

static void fill_metric(const struct pl_listing *listing, uint32_t path, enum pl_metric metric, struct pl_cell *cell)
{
    const struct pl_estimate *estimate = &listing->paths->path[path].metric[metric];
    pl_figure_metric(cell->value, metric, estimate->value);
    pl_figure_error(cell->error, metric, estimate);
}

void pl_listing_fill_metric(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill_metric(listing, path, listing->metric, cell);
}

void pl_listing_fill_companion(const struct pl_listing *listing, uint32_t path, struct pl_cell *cell)
{
    fill_metric(listing, path, pl_view_companion(listing->metric), cell);
}

void pl_listing_put_metric(const struct pl_listing *given)
{
    const struct pl_paths *paths = given->paths;
    const struct pl_profile *profile = given->view->profile;
    struct pl_listing listing = *given;
    double *weight = pl_say_memory(calloc(paths->count + 1ull, sizeof *weight));
    for (uint32_t i = 0; i < paths->count; i++)
        weight[i] = paths->path[i].metric[listing.metric].value;
    listing.title = pl_view_title(profile, listing.metric);
    listing.weight = weight;
    bool change = profile->difference && listing.metric != PL_METRIC_ALLOC_SPACE &&
                  listing.metric != PL_METRIC_ALLOC_OBJECTS; /* of which there is no whole: some grew, some shrank */
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
        .column = {{pl_view_column(metric), pl_listing_fill_metric},
                   {pl_view_column(pl_view_companion(metric)), pl_listing_fill_companion}},
    });
}
