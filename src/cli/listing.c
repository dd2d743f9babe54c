/* SPDX-License-Identifier: MIT */
/*
 * listing.c - the top sites by one metric, as a table:
 *
 *   Never freed   bytes ± 95%      share   blocks ± 95%   site
 *     ███████▏   1.9 MiB ± 0.2 MiB   91.0%    1,180 ± 120    index_add_term  src/index.c:212  [indexer]
 *               ← index_file  src/index.c:97 ← main  src/main.c:31
 *
 * Columns are as wide as what is in them. On a narrow terminal the companion metric goes first.
 */
#include "listing.h"

#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "utf8.h"

#define BAR_WIDTH 8
#define INDENT 2
#define GAP 2
#define ERROR_TITLE "± 95%"
#define SITE_WIDTH_LEAST 44 /* below this the site gets the columns of the companion */

struct line {
    const struct pl_path *path;
    char value[PL_FIGURE_BYTES], error[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    char companion[PL_FIGURE_BYTES], companion_error[PL_FIGURE_BYTES];
    double fraction;
};

struct table {
    const struct pl_view *view;
    enum pl_metric metric;
    struct line *line;
    uint32_t count;
    size_t value_width, error_width, companion_width, companion_error_width;
    size_t site_column;
    bool companion;
    bool estimated; /* some figure has an error */
};

/* --- which --- */

static enum pl_metric sorted_by;

static int heaviest_first(const void *left, const void *right)
{
    const struct pl_path *a = *(const struct pl_path *const *) left, *b = *(const struct pl_path *const *) right;
    double x = a->metric[sorted_by].value, y = b->metric[sorted_by].value;
    return x != y ? (x < y ? 1 : -1) : (a > b) - (a < b);
}

static const struct pl_path **sort(const struct pl_paths *paths, enum pl_metric metric)
{
    const struct pl_path **order = pl_say_memory(calloc(paths->count + 1ull, sizeof *order));
    for (uint32_t i = 0; i < paths->count; i++)
        order[i] = &paths->path[i];
    sorted_by = metric;
    qsort(order, paths->count, sizeof *order, heaviest_first);
    return order;
}

const struct pl_path *pl_listing_first(const struct pl_paths *paths, enum pl_metric metric)
{
    const struct pl_path *first = NULL;
    for (uint32_t i = 0; i < paths->count; i++)
        if (paths->path[i].metric[metric].value > (first ? first->metric[metric].value : 0))
            first = &paths->path[i];
    return first;
}

static void fill_line(const struct table *table, const struct pl_path *path, struct line *line)
{
    enum pl_metric metric = table->metric, companion = pl_view_companion(metric);
    line->path = path;
    line->fraction = pl_view_share(table->view->profile, metric, path->metric[metric].value);
    pl_figure_metric(line->value, metric, path->metric[metric].value);
    pl_figure_error(line->error, metric, &path->metric[metric]);
    pl_figure_percent(line->share, line->fraction);
    pl_figure_metric(line->companion, companion, path->metric[companion].value);
    pl_figure_error(line->companion_error, companion, &path->metric[companion]);
}

static bool worth_a_line(const struct table *table, const struct pl_path *path)
{
    double value = path->metric[table->metric].value;
    return value > 0 && table->count < table->view->top &&
           pl_view_share(table->view->profile, table->metric, value) >= table->view->threshold;
}

/* --- layout --- */

static void widen(size_t *width, const char *text)
{
    size_t needed = pl_utf8_width(text);
    if (needed > *width)
        *width = needed;
}

static void lay_out(struct table *table)
{
    size_t share = INDENT + BAR_WIDTH + GAP;
    widen(&table->value_width, pl_metric_info[table->metric].unit);
    widen(&table->companion_width, pl_metric_info[pl_view_companion(table->metric)].unit);
    for (uint32_t i = 0; i < table->count; i++) {
        table->estimated |= *table->line[i].error || *table->line[i].companion_error;
        widen(&table->value_width, table->line[i].value);
        widen(&table->error_width, table->line[i].error);
        widen(&table->companion_width, table->line[i].companion);
        widen(&table->companion_error_width, table->line[i].companion_error);
    }
    if (table->estimated) {
        widen(&table->error_width, ERROR_TITLE);
        widen(&table->companion_error_width, ERROR_TITLE);
    }
    share += table->value_width + 1 + table->error_width + GAP + strlen("100.0%");
    size_t companion = GAP + table->companion_width + 1 + table->companion_error_width;
    table->companion = share + companion + GAP + SITE_WIDTH_LEAST <= table->view->term->width;
    table->site_column = share + (table->companion ? companion : 0) + GAP;
}

/* A figure to the right of its column, its error to the left of the next. */
static void put_pair(struct pl_term *term, enum pl_style style, const char *value, size_t value_width,
                     const char *error, size_t error_width)
{
    size_t start = term->column;
    pl_term_right(term, style, value, value_width);
    pl_term_put(term, style, " ");
    pl_term_put(term, style == PL_STYLE_DIM ? style : PL_STYLE_PLAIN, error);
    pl_term_pad(term, start + value_width + 1 + error_width);
}

static void put_columns(const struct table *table, enum pl_style style, const struct line *line)
{
    struct pl_term *term = table->view->term;
    pl_term_pad(term, INDENT + BAR_WIDTH + GAP);
    put_pair(term, style, line->value, table->value_width, line->error, table->error_width);
    pl_term_pad(term, term->column + GAP);
    pl_term_right(term, style, line->share, strlen("100.0%"));
    if (table->companion) {
        pl_term_pad(term, term->column + GAP);
        put_pair(term, style, line->companion, table->companion_width, line->companion_error,
                 table->companion_error_width);
    }
    pl_term_pad(term, table->site_column);
}

static void put_title(const struct table *table)
{
    struct pl_term *term = table->view->term;
    struct line heading = {.share = "share"};
    strcpy(heading.value, pl_metric_info[table->metric].unit);
    strcpy(heading.companion, pl_metric_info[pl_view_companion(table->metric)].unit);
    if (table->estimated) {
        strcpy(heading.error, ERROR_TITLE);
        strcpy(heading.companion_error, ERROR_TITLE);
    }
    pl_term_end(term);
    pl_term_put(term, PL_STYLE_HEAD, pl_view_title(table->view->profile, table->metric));
    if (term->column > INDENT + BAR_WIDTH + GAP + table->value_width - strlen(heading.value))
        pl_term_end(term);
    put_columns(table, PL_STYLE_DIM, &heading);
    pl_term_put(term, PL_STYLE_DIM, "site");
    pl_term_end(term);
}

/* --- rows --- */

/* Callers have lines of their own, from the figures on: they are long, and there are several. */
static void put_callers(const struct table *table, const struct pl_path *path)
{
    struct pl_term *term = table->view->term;
    const struct pl_spot *spots = table->view->spots->spot;
    size_t indent = INDENT + BAR_WIDTH + GAP;
    if (path->count < 2)
        return;
    pl_term_end(term);
    pl_term_pad(term, indent);
    for (uint32_t i = 1; i < path->count; i++) {
        const struct pl_spot *spot = &spots[path->spot[i]];
        bool elsewhere = strcmp(spot->module, spots[path->spot[i - 1]].module) != 0;
        pl_view_spot(term, "← ", spot, indent, elsewhere);
    }
    if (path->more)
        pl_term_put(term, PL_STYLE_DIM, " ← …");
}

static void put_line(const struct table *table, const struct line *line)
{
    struct pl_term *term = table->view->term;
    const struct pl_spot *spots = table->view->spots->spot;
    const struct pl_path *path = line->path;
    pl_term_pad(term, INDENT);
    pl_term_bar(term, line->fraction, BAR_WIDTH);
    put_columns(table, PL_STYLE_BOLD, line);
    pl_view_spot(term, "", &spots[path->spot[0]], table->site_column, true);
    if (path->via != PL_PATH_NO_SPOT) {
        struct pl_spot called = {.name = spots[path->via].name, .file = "", .module = "", .role = PL_ROLE_LIBRARY};
        pl_view_spot(term, "→ ", &called, table->site_column, false);
    }
    put_callers(table, path);
    pl_term_end(term);
}

static void put_rest(const struct table *table, const struct pl_path *const *order, uint32_t count)
{
    struct pl_term *term = table->view->term;
    double value = 0;
    uint32_t more = 0;
    char share[PL_FIGURE_BYTES], number[PL_FIGURE_BYTES];
    for (uint32_t i = table->count; i < count; i++) {
        value += order[i]->metric[table->metric].value;
        more += order[i]->metric[table->metric].value > 0;
    }
    if (!more)
        return;
    pl_figure_percent(share, pl_view_share(table->view->profile, table->metric, value));
    pl_term_pad(term, INDENT + BAR_WIDTH + GAP + table->value_width + 1 + table->error_width + GAP);
    pl_term_right(term, PL_STYLE_DIM, share, strlen("100.0%"));
    pl_term_pad(term, table->site_column);
    pl_figure_exact(number, more);
    pl_term_print(term, PL_STYLE_DIM, "(%s more)", number);
    pl_term_end(term);
}

void pl_listing_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric)
{
    struct table table = {.view = view, .metric = metric};
    const struct pl_path **order = sort(paths, metric);
    uint32_t most = paths->count < view->top ? paths->count : view->top;
    table.line = pl_say_memory(calloc(most + 1ull, sizeof *table.line));
    for (uint32_t i = 0; i < paths->count && worth_a_line(&table, order[i]); i++)
        fill_line(&table, order[i], &table.line[table.count++]);
    lay_out(&table);
    put_title(&table);
    for (uint32_t i = 0; i < table.count; i++)
        put_line(&table, &table.line[i]);
    put_rest(&table, order, paths->count);
    free(table.line);
    free(order);
}
