/* SPDX-License-Identifier: MIT */
/*
 * export.h - a symbolized profile in the formats of other tools. A format is one file and one row of the table.
 */
#ifndef PL_EXPORT_H
#define PL_EXPORT_H

#include <stdio.h>

#include "profile.h"
#include "tagtree.h"

/*
 * X(name, word, threshold, help): pl_export_NAME() is the function, --format WORD the option. Formats of the tree of
 * tags leave out tags with less than `threshold` percent of the whole, unless told otherwise; -1: not a format of tags.
 */
#define PL_EXPORT_FORMATS(X)                                                                                           \
    X(json, "json", -1, "everything, by the schema of docs/json.md")                                                   \
    X(tags_json, "tags-json", 0, "the tree of tags with its figures, also in docs/json.md")                            \
    X(tags_dot, "tags-dot", 1, "the tree of tags for Graphviz")                                                        \
    X(tags_svg, "tags-svg", 0.1, "a picture of the tree of tags")

#define PL_EXPORT_FIGURE_BYTES 96

/* What formats need to know beside the profile; all but the first is for those of tags. */
struct pl_export_options {
    const char *selection;              /* which part of a profile this is, in words; NULL: all of it */
    const struct pl_tag_forest *forest; /* grown for `metric` */
    enum pl_metric metric;
    double threshold; /* a fraction of what all trees have together: tags with less are taken together */

    /* A figure as people read it, "2.1 MiB ± 0.3 MiB": how reports write them is the caller's to know. */
    void (*figure)(char out[PL_EXPORT_FIGURE_BYTES], enum pl_metric metric, const struct pl_estimate *estimate);
};

/* Writes as it goes: nothing the size of the profile is built in memory. Errors stay in the stream (ferror). */
typedef void pl_export_function(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out);

#define PL_DECLARE(name, word, threshold, help) pl_export_function pl_export_##name;
PL_EXPORT_FORMATS(PL_DECLARE)
#undef PL_DECLARE

#endif
