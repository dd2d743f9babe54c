/* SPDX-License-Identifier: MIT */
/*
 * tags_label.h - what pictures of the tree of tags say: names and figures. Clean texts, as in label.h; tooltips have
 * several lines. They belong to the caller, who frees them.
 */
#ifndef PL_TAGS_LABEL_H
#define PL_TAGS_LABEL_H

#include "export.h"
#include "shown.h"

/* "parse", "work ×16,383" where it is inside of itself. */
char *pl_tags_label_name(const struct pl_shown_node *node);

/* "worker-.* (8 threads)". */
char *pl_tags_label_threads(const struct pl_tag_tree *tree);

/* "12.4 MiB (48.0%)": the metric, and its share of the whole. */
char *pl_tags_label_weight(const struct pl_export_options *options, const struct pl_tag_figures *figures);

/* "5,678 calls"; where the metric is calls, what they asked for: "12.4 MiB". */
char *pl_tags_label_beside(const struct pl_export_options *options, const struct pl_tag_figures *figures);

/* Everything known of a node: its whole name, and all figures, on several lines. */
char *pl_tags_label_tooltip(const struct pl_profile *profile, const struct pl_tag_tree *tree,
                            const struct pl_shown_node *node);

#endif
