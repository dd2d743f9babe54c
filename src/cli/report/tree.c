/* SPDX-License-Identifier: MIT */
/*
 * tree.c - the call tree.
 *
 * Paths are sorted, so a node of the tree is a range of paths that agree up to some depth, and its children are the
 * sub-ranges that also agree in the next location. No tree is built: the ranges are walked while they are printed, and
 * nodes below the threshold are never entered.
 *
 * An only child is not indented: a step to the right means a choice between several callees, not depth. Children are
 * sorted by the metric. Those below the threshold share one line, or get none if they do not reach it even together.
 * Recursion adds no depth: repeated calls were folded when the paths were made.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/figure.h"
#include "analysis/metric.h"
#include "analysis/traits.h"
#include "cli/report/print.h"
#include "cli/table.h"
#include "reader/base/utf8.h"

#define PREFIX_MAX 512 /* bytes of branches before a name; deeper levels use their parent's */

struct node {
    uint32_t first, last; /* paths [first, last) */
    struct pl_figures figures, base;
    struct pl_estimate metric[PL_METRIC_COUNT];
};

struct tree {
    const struct pl_view *view;
    const struct pl_paths *paths;
    enum pl_metric metric;
    size_t value_width, error_width, companion_width;
    char prefix[PREFIX_MAX];
    uint64_t left_out; /* branches that have no line, not even a shared one */
};

/* --- ranges --- */

static void settle(const struct tree *tree, struct node *node)
{
    pl_paths_estimate(&node->figures, tree->view->profile->difference ? &node->base : NULL, node->metric);
}

static void estimate(const struct tree *tree, struct node *node)
{
    for (uint32_t i = node->first; i < node->last; i++) {
        pl_figures_add(&node->figures, &tree->paths->path[i].figures);
        if (tree->paths->path[i].base)
            pl_figures_add(&node->base, tree->paths->path[i].base);
    }
    settle(tree, node);
}

/* The end of the range that begins at `first` and has the same location at this depth. */
static uint32_t range_end(const struct tree *tree, uint32_t first, uint32_t last, uint32_t depth)
{
    uint32_t location = tree->paths->path[first].location[depth], end = first;
    while (end < last && tree->paths->path[end].location[depth] == location)
        end++;
    return end;
}

static enum pl_metric sorted_by;

static int heaviest_first(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    double x = a->metric[sorted_by].value, y = b->metric[sorted_by].value;
    return x != y ? (x < y ? 1 : -1) : (a->first > b->first) - (a->first < b->first);
}

/* Paths that end at this node come first in their range, since they are the shortest. They are not children. */
static struct node *children_of(const struct tree *tree, const struct node *node, uint32_t depth, uint32_t *count)
{
    struct node *children = NULL;
    uint32_t first = node->first, room = 0;
    *count = 0;
    while (first < node->last && tree->paths->path[first].count <= depth)
        first++;
    for (uint32_t end; first < node->last; first = end) {
        end = range_end(tree, first, node->last, depth);
        if (*count == room) {
            room = room ? 2 * room : 8;
            children = pl_say_memory(realloc(children, room * sizeof *children));
        }
        children[*count] = (struct node){.first = first, .last = end};
        estimate(tree, &children[(*count)++]);
    }
    sorted_by = tree->metric;
    if (*count)
        qsort(children, *count, sizeof *children, heaviest_first);
    return children;
}

static bool worth_a_line(const struct tree *tree, const struct node *node)
{
    double value = node->metric[tree->metric].value;
    return value > 0 && pl_metric_share(tree->view->profile, tree->metric, value) >= tree->view->threshold;
}

/* --- lines --- */

static void put_figures(const struct tree *tree, enum pl_style style, const struct pl_estimate *metric)
{
    struct pl_term *term = tree->view->term;
    enum pl_metric companion = pl_metric_companion(tree->metric);
    char value[PL_FIGURE_BYTES], error[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES], other[PL_FIGURE_BYTES];
    pl_figure_cell(value, error, tree->metric, &metric[tree->metric]);
    pl_figure_percent(share, pl_metric_share(tree->view->profile, tree->metric, metric[tree->metric].value));
    pl_figure_metric(other, companion, metric[companion].value);
    pl_term_right(term, style, value, tree->value_width);
    pl_term_put(term, style, " ");
    pl_term_put(term, PL_STYLE_PLAIN, error);
    pl_term_pad(term, tree->value_width + 1 + tree->error_width + 1);
    pl_term_right(term, PL_STYLE_PLAIN, other, tree->companion_width);
    pl_term_pad(term, term->column + 1);
    pl_term_right(term, style, share, strlen("100.0%"));
    pl_term_pad(term, term->column + 2);
}

/* A branch is one line: a file_line or module that does not fit is left out, and a long name is truncated. */
static void put_location(struct pl_term *term, const struct pl_location *location, bool module)
{
    char file_line[PL_PRINT_FILE_LINE_BYTES];
    size_t room = term->whole ? SIZE_MAX : term->width > term->column ? term->width - term->column : 1;
    pl_print_file_line(location, file_line, sizeof file_line);
    size_t name = pl_utf8_width(location->name), place = *file_line ? 2 + pl_utf8_width(file_line) : 0;
    size_t library = module && *location->module ? 4 + pl_utf8_width(location->module) : 0;
    pl_term_cut(term, pl_print_style(location), location->name, room);
    if (place && name + place <= room)
        pl_term_print(term, PL_STYLE_PLAIN, "  %s", file_line);
    if (library && name + place + library <= room)
        pl_term_print(term, PL_STYLE_DIM, "  [%s]", location->module);
}

static void put_node(const struct tree *tree, const struct node *node, uint32_t depth, const char *branch)
{
    struct pl_term *term = tree->view->term;
    const struct pl_location *locations = tree->view->locations->location;
    const struct pl_path *path = &tree->paths->path[node->first];
    const struct pl_location *location = &locations[path->location[depth]];
    bool elsewhere = !depth || strcmp(location->module, locations[path->location[depth - 1]].module);
    put_figures(tree, PL_STYLE_BOLD, node->metric);
    pl_term_print(term, PL_STYLE_DIM, "%s%s", tree->prefix, branch);
    put_location(term, location, elsewhere);
    pl_term_end(term);
}

static void put_rest(const struct tree *tree, const struct node *rest, uint32_t count)
{
    struct pl_term *term = tree->view->term;
    char number[PL_FIGURE_BYTES], share[PL_FIGURE_BYTES];
    pl_figure_exact(number, count);
    pl_figure_percent(share, pl_metric_share(tree->view->profile, tree->metric, rest->metric[tree->metric].value));
    put_figures(tree, PL_STYLE_DIM, rest->metric);
    char *text = pl_say_print("%s└─ (%s more below %g%%: %s of %s)", tree->prefix, number, tree->view->threshold * 100,
                              share, pl_metric_column(tree->metric));
    pl_term_cut(term, PL_STYLE_DIM, text, term->width > term->column ? term->width - term->column : 1);
    pl_term_end(term);
    free(text);
}

static void walk(struct tree *tree, const struct node *node, uint32_t depth);

static void walk_branch(struct tree *tree, const struct node *child, uint32_t depth, bool last, bool only)
{
    size_t bytes = strlen(tree->prefix);
    put_node(tree, child, depth, only ? "" : last ? "└─ " : "├─ ");
    if (!only && bytes + 8 < sizeof tree->prefix)
        strcpy(tree->prefix + bytes, last ? "   " : "│  ");
    walk(tree, child, depth + 1);
    tree->prefix[bytes] = 0;
}

static void walk(struct tree *tree, const struct node *node, uint32_t depth)
{
    uint32_t count, shown = 0;
    struct node *children = children_of(tree, node, depth, &count), rest = {0};
    while (shown < count && worth_a_line(tree, &children[shown]))
        shown++;
    for (uint32_t i = shown; i < count; i++) {
        pl_figures_add(&rest.figures, &children[i].figures);
        pl_figures_add(&rest.base, &children[i].base);
    }
    settle(tree, &rest);
    bool together = shown && worth_a_line(tree, &rest);
    for (uint32_t i = 0; i < shown; i++)
        walk_branch(tree, &children[i], depth, i + 1 == shown && !together, shown == 1 && !together);
    if (together)
        put_rest(tree, &rest, count - shown);
    else if (rest.metric[tree->metric].value > 0)
        tree->left_out += count - shown;
    free(children);
}

static void put_left_out(const struct tree *tree)
{
    char number[PL_FIGURE_BYTES];
    pl_figure_exact(number, tree->left_out);
    if (!tree->left_out)
        return;
    char *text = pl_say_print(
        "Left out: %s branch%s, with less than %g%% even together with %s neighbours; --threshold "
        "0 shows all.",
        number, tree->left_out == 1 ? "" : "es", tree->view->threshold * 100, tree->left_out == 1 ? "its" : "their");
    pl_term_words(tree->view->term, PL_STYLE_DIM, text, 0);
    pl_term_end(tree->view->term);
    free(text);
}

static void put_heading(const struct tree *tree)
{
    struct pl_term *term = tree->view->term;
    pl_term_end(term);
    pl_term_right(term, PL_STYLE_DIM, pl_metric_column(tree->metric), tree->value_width);
    if (tree->error_width)
        pl_term_put(term, PL_STYLE_DIM, " ± 95%");
    pl_term_pad(term, tree->value_width + 1 + tree->error_width + 1);
    pl_term_right(term, PL_STYLE_DIM, pl_metric_column(pl_metric_companion(tree->metric)), tree->companion_width);
    pl_term_put(term, PL_STYLE_DIM, " of all  ");
    pl_term_put(term, PL_STYLE_HEAD, pl_metric_title(tree->view->profile, tree->metric));
    pl_term_end(term);
}

#define COLUMN_WIDTH 9 /* at least: 12.4 MiB, 412,918 */
#define ERROR_WIDTH 11 /* at least: ± 12.4 MiB */

/* No node has a wider figure than the root. */
static void lay_out(struct tree *tree, const struct node *root)
{
    enum pl_metric companion = pl_metric_companion(tree->metric);
    char value[PL_FIGURE_BYTES], error[PL_FIGURE_BYTES], other[PL_FIGURE_BYTES];
    pl_figure_metric(value, tree->metric, root->metric[tree->metric].value);
    pl_figure_error(error, tree->metric, &root->metric[tree->metric]);
    pl_figure_metric(other, companion, root->metric[companion].value);
    tree->value_width = tree->companion_width = COLUMN_WIDTH;
    tree->error_width = pl_traits_estimated(tree->view->profile) ? ERROR_WIDTH : 0;
    pl_table_widen(&tree->value_width, value);
    pl_table_widen(&tree->value_width, pl_metric_column(tree->metric));
    pl_table_widen(&tree->companion_width, other);
    pl_table_widen(&tree->companion_width, pl_metric_column(companion));
    if (tree->error_width)
        pl_table_widen(&tree->error_width, error);
}

static void put_nothing(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric)
{
    char *what = pl_say_print("This metric (%s) is 0 everywhere, so there is no tree.", pl_metric_info[metric].help);
    pl_print_nothing(view, paths->count ? what : "No stack was recorded, so there is no tree.");
    free(what);
}

void pl_tree_print(const struct pl_view *view, const struct pl_paths *paths, enum pl_metric metric)
{
    struct tree tree = {.view = view, .paths = paths, .metric = metric};
    struct node root = {.first = 0, .last = paths->count};
    estimate(&tree, &root);
    if (!(root.metric[metric].value > 0)) {
        put_nothing(view, paths, metric);
        return;
    }
    lay_out(&tree, &root);
    put_heading(&tree);
    walk(&tree, &root, 0);
    put_left_out(&tree);
}
