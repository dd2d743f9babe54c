/* SPDX-License-Identifier: MIT */
/*
 * page_work.h - what the writers of page data share: for page_*.c alone.
 *
 * All of them refer to stacks by nodes of the tree, which adds nodes on demand. So the tree is written last.
 */
#ifndef PL_PAGE_WORK_H
#define PL_PAGE_WORK_H

#include "analysis/path.h"
#include "page/data/columns.h"
#include "page/data/page_data.h"
#include "page/data/page_tree.h"

/* A non-empty bucket of a site's histogram. */
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
    const struct pl_page_about *about;
    struct pl_locations *locations;
    struct pl_paths paths; /* of shape PL_SHAPE_SITE, as deep as in reports */
    struct pl_page_tree *tree;
    struct pl_columns *columns;
    struct pl_page_bars bars[PL_PAGE_HISTOGRAMS];
    struct pl_arena *arena; /* of other arrays that columns point into */
};

/* The nodes of a site. */
static inline struct pl_page_stack pl_page_work_stack(const struct pl_page_work *work, uint32_t site)
{
    const struct pl_site_view *view = &work->profile->site[site];
    return pl_page_tree_stack(work->tree, view->stack, view->other_sizes);
}

/* Each writes the value of one member of the JSON text. */
void pl_page_leaks_write(struct pl_json *json, const struct pl_page_work *work);
void pl_page_sources_write(struct pl_json *json, const struct pl_page_work *work);
void pl_page_changes_write(struct pl_json *json, const struct pl_page_work *work);
void pl_page_residents_write(struct pl_json *json, const struct pl_page_work *work);

/* Add the columns of sites and their histograms, of the heap composition over time, of scopes, and of what was
 * resident. */
void pl_page_sites_add(struct pl_page_work *work);
void pl_page_sites_add_shares(struct pl_page_work *work);
void pl_page_scopes_add(struct pl_page_work *work);
void pl_page_residents_add(struct pl_page_work *work);

#endif
