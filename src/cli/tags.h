/* SPDX-License-Identifier: MIT */
/*
 * tags.h - what the memory was for: the tree of tags, the heaviest of them, and the tag of a site.
 */
#ifndef PL_CLI_TAGS_H
#define PL_CLI_TAGS_H

#include "groups.h"
#include "view.h"

struct pl_tags_options {
    enum pl_metric metric;          /* heaviest first by this one */
    const struct pl_groups *groups; /* a tree for each */
    uint32_t at_least;              /* how many to show where all are below the threshold; 0: then none */
    bool functions;                 /* calls of each allocation function instead of figures */
    bool freed;                     /* what was freed among the figures */
};

/* `report --by tag`. */
void pl_tags_print(const struct pl_view *view, const struct pl_tags_options *options);

/* The block of the first screen: tags by what was allocated and what is left under them alone. */
void pl_tags_print_top(const struct pl_view *view);

/* How a tag is written: its path, or its own name alone. */
const char *pl_tags_path(const struct pl_profile *profile, uint32_t tag);
const char *pl_tags_name(const struct pl_profile *profile, uint32_t tag);

/* "tag request/parse", "tags request/parse and 3 more": under which a path allocates, most of this metric first. NULL:
 * under none. The caller frees it. */
char *pl_tags_of_path(const struct pl_profile *profile, const struct pl_paths *paths, uint32_t path,
                      enum pl_metric metric);

/* Behind a site, where it fits. Frees the text, which may be NULL. */
void pl_tags_put(struct pl_term *term, char *text, size_t indent);

#endif
