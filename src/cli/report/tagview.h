/* SPDX-License-Identifier: MIT */
/*
 * tagview.h - prints tags: the tree of tags, the heaviest tags, and the tag of a site.
 */
#ifndef PL_TAGVIEW_H
#define PL_TAGVIEW_H

#include "analysis/groups.h"
#include "cli/report/views.h"

struct pl_tagview_options {
    enum pl_metric metric;          /* heaviest first by this one */
    const struct pl_groups *groups; /* one tree for each group */
    uint32_t at_least;              /* how many tags to show if all are below the threshold; 0: none */
    bool functions;                 /* show the calls of each allocation function in place of other figures */
    bool freed;                     /* show freed blocks and bytes, too */
};

/* `report --by tag`. */
void pl_tagview_print(const struct pl_view *view, const struct pl_tagview_options *options);

/* The table in the overview: the heaviest tags by their own allocated and live bytes, without tags below them. */
void pl_tagview_print_top(const struct pl_view *view);

/* How a tag is printed: as its path, or as its own name only. */
const char *pl_tagview_path(const struct pl_profile *profile, uint32_t tag);
const char *pl_tagview_name(const struct pl_profile *profile, uint32_t tag);

/* "tag request/parse", "tags request/parse and 3 more": the tags under which a path allocates. It names the tag with
 * most of this metric. NULL: there is none. The caller frees it. */
char *pl_tagview_of_path(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path,
                         enum pl_metric metric);

/* Prints the text after a site, on a new line if it does not fit. Frees the text, which may be NULL. */
void pl_tagview_put(struct pl_term *term, char *text, size_t indent);

#endif
