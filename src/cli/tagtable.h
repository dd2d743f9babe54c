/* SPDX-License-Identifier: MIT */
/*
 * tagtable.h - tags as a table: figures in columns, and a name, with guides in front of it where it is a tree.
 *
 * All lines are made before the first is printed, so that columns are as wide as what is in them. Where there is little
 * room the last columns go first.
 */
#ifndef PL_TAGTABLE_H
#define PL_TAGTABLE_H

#include "arena.h"
#include "listing.h"
#include "tagtree.h"
#include "view.h"

#define PL_TAG_COLUMNS (7 + PL_FN_COUNT)
#define PL_NO_TAG "(no tag)"

struct pl_tag_line {
    char *guides;       /* NULL: none */
    const char *branch; /* the last of them */
    char *name;
    bool path;                         /* the name is one: if it is too long, its end is what matters */
    bool head, hot, dim;               /* stands for a whole tree; marked; there for completeness */
    const struct pl_tag_figures *self; /* NULL: nothing is shown of it */
    const struct pl_tag_figures *total;
    struct pl_cell cell[PL_TAG_COLUMNS];
};

struct pl_tag_table;
struct pl_tag_column;
typedef void pl_tag_fill(const struct pl_tag_table *table, const struct pl_tag_line *line,
                         const struct pl_tag_column *column, struct pl_cell *cell);

struct pl_tag_column {
    const char *title;
    pl_tag_fill *fill;
    int which; /* metric or function, for fill() */
    size_t start, value_width, error_width;
};

struct pl_tag_table {
    const struct pl_view *view;
    enum pl_metric metric; /* that shares are of */
    const char *title;
    struct pl_tag_line *line;
    size_t lines, room;
    struct pl_tag_column column[PL_TAG_COLUMNS];
    size_t columns, name_column;
    bool hot;               /* some line is */
    bool folded;            /* some line stands for several tags that are too small for their own */
    bool deep;              /* some are too far down for a line */
    bool few;               /* the largest are shown, though too small */
    struct pl_arena *arena; /* for figures that lines point to */
};

struct pl_tag_table pl_tagtable_new(const struct pl_view *view, const char *title, enum pl_metric metric);
void pl_tagtable_free(struct pl_tag_table *table);

void pl_tagtable_column(struct pl_tag_table *table, const char *title, pl_tag_fill *fill, int which);
extern pl_tag_fill pl_tagtable_total, pl_tagtable_self, pl_tagtable_share, pl_tagtable_function;

/* Calls, bytes, live and entered, but for the table's own metric. With `freed`, what was freed is among them. */
void pl_tagtable_figures(struct pl_tag_table *table, bool freed);

/* Blocks and bytes that were freed. */
void pl_tagtable_freed(struct pl_tag_table *table);

/* Owns guides and name. Valid until the next is added. */
struct pl_tag_line *pl_tagtable_line(struct pl_tag_table *table);

double pl_tagtable_share_of(const struct pl_tag_table *table, const struct pl_tag_figures *figures);

void pl_tagtable_put(struct pl_tag_table *table);

/* Figures of several tags together: those that were added up are estimated once. */
void pl_tagtable_estimate(const struct pl_profile *profile, struct pl_tag_figures *sum);

#endif
