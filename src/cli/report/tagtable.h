/* SPDX-License-Identifier: MIT */
/*
 * tagtable.h - tags as a table: figures in columns, and the name, with tree branches before it.
 *
 * All lines are made before the first is printed, so that columns are as wide as their contents. On a narrow terminal
 * the last columns are left out first.
 */
#ifndef PL_TAGTABLE_H
#define PL_TAGTABLE_H

#include "analysis/tags/tagtree.h"
#include "cli/report/listing.h"
#include "cli/report/views.h"
#include "reader/base/arena.h"

#define PL_TAG_COLUMNS (7 + PL_FN_COUNT)
#define PL_NO_TAG "(no tag)"

struct pl_tag_line {
    char *guides;       /* the tree lines before the name; NULL: none */
    const char *branch; /* the last of them */
    char *name;
    bool path;                         /* the name is a path: if it is too long, its end is kept */
    bool head, hot, dim;               /* head: stands for a whole tree; hot: marked; dim: there for completeness */
    const struct pl_tag_figures *self; /* NULL: `self` is not shown */
    const struct pl_tag_figures *total;
    struct pl_cell cell[PL_TAG_COLUMNS];
};

struct pl_tag_table;
struct pl_tag_column;
typedef void pl_tag_fill(const struct pl_tag_table *table, const struct pl_tag_line *line,
                         const struct pl_tag_column *column, struct pl_cell *cell);

struct pl_tag_column {
    struct pl_table_column place;
    pl_tag_fill *fill;
    int which; /* metric or function, for fill() */
};

struct pl_tag_table {
    const struct pl_view *view;
    enum pl_metric metric; /* shares refer to this metric */
    const char *title;
    struct pl_tag_line *line;
    size_t lines, room;
    struct pl_tag_column column[PL_TAG_COLUMNS];
    size_t columns, name_column;
    bool hot;               /* some line is hot */
    bool folded;            /* some line stands for several tags that are too small for their own */
    bool deep;              /* some tags are too deep for a line */
    bool few;               /* all tags are below the threshold, and the largest are shown anyway */
    struct pl_arena *arena; /* for figures that lines point to */
};

struct pl_tag_table pl_tagtable_new(const struct pl_view *view, const char *title, enum pl_metric metric);
void pl_tagtable_free(struct pl_tag_table *table);

void pl_tagtable_column(struct pl_tag_table *table, const char *title, pl_tag_fill *fill, int which);
extern pl_tag_fill pl_tagtable_total, pl_tagtable_self, pl_tagtable_share, pl_tagtable_function;

/* Adds the columns calls, bytes, live and entered, except for the table's own metric. With `freed`, also freed blocks
 * and bytes. */
void pl_tagtable_figures(struct pl_tag_table *table, bool freed);

/* Adds the columns of freed blocks and bytes. */
void pl_tagtable_freed(struct pl_tag_table *table);

/* Adds a line. It owns guides and name. The pointer is valid until the next line is added. */
struct pl_tag_line *pl_tagtable_line(struct pl_tag_table *table);

double pl_tagtable_share_of(const struct pl_tag_table *table, const struct pl_tag_figures *figures);

void pl_tagtable_put(struct pl_tag_table *table);

/* Computes the metrics of a sum of several tags' figures. */
void pl_tagtable_estimate(const struct pl_profile *profile, struct pl_tag_figures *sum);

#endif
