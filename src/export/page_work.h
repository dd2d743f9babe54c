/* SPDX-License-Identifier: MIT */
/*
 * page_work.h - what the parts of page data are made from: for page*.c alone.
 *
 * Everything that names a stack goes through the tree, and the tree is written last, when all have named theirs.
 */
#ifndef PL_PAGE_WORK_H
#define PL_PAGE_WORK_H

#include "columns.h"
#include "export.h"
#include "page_tree.h"
#include "path.h"

/* A bucket of a site's histogram that is not empty. */
struct pl_page_bar {
    double count;
    uint32_t site;
    uint8_t bucket;
};

struct pl_page_bars {
    struct pl_page_bar *bar;
    uint32_t count, room;
};

#define PL_PAGE_HISTOGRAMS 3 /* sizes, lives, ages */

struct pl_page_work {
    const struct pl_profile *profile;
    const struct pl_export_options *options;
    struct pl_spots *spots;
    struct pl_paths paths; /* of shape PL_SHAPE_SITE, as deep as reports have them */
    struct pl_page_tree *tree;
    struct pl_columns *columns;
    struct pl_page_bars bars[PL_PAGE_HISTOGRAMS];
    struct pl_arena *arena; /* of what else columns refer to */
};

/* The nodes of a site. */
static inline struct pl_page_stack pl_page_site_stack(const struct pl_page_work *work, uint32_t site)
{
    const struct pl_site_view *view = &work->profile->site[site];
    return pl_page_tree_stack(work->tree, view->stack, view->other_sizes);
}

/* Values of members of the JSON text. */
void pl_page_write_leaks(struct pl_json *json, const struct pl_page_work *work);
void pl_page_write_sources(struct pl_json *json, const struct pl_page_work *work);
void pl_page_write_changes(struct pl_json *json, const struct pl_page_work *work);

/* Columns of sites, their histograms, shares of snapshots, and scopes. */
void pl_page_add_sites(struct pl_page_work *work);
void pl_page_add_shares(struct pl_page_work *work);
void pl_page_add_scopes(struct pl_page_work *work);

#endif
