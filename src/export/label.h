/* SPDX-License-Identifier: MIT */
/*
 * label.h - what pictures of the tree of tags say: names that do no harm, cut to fit, and figures.
 *
 * Everything here is plain UTF-8 without control characters, except for the ends of lines where it says so. Each format
 * still quotes it in its own way. Texts belong to the caller, who frees them.
 */
#ifndef PL_LABEL_H
#define PL_LABEL_H

#include "export.h"
#include "shown.h"

/*
 * Control characters become their pictures (␊ for the end of a line). What is not UTF-8, and what XML does not allow,
 * becomes U+FFFD. A name without characters becomes "", quotes and all.
 */
char *pl_label_clean(const char *text);

/* At most so many columns, with … for what was taken out: of the middle, as names often differ in their last
 * characters. */
char *pl_label_cut(const char *clean, size_t columns);

/* "indexer: live, bytes not freed (yet)" and "pid 4711 · exited 0 · exact: all 412,918 allocations". */
char *pl_label_title(const struct pl_profile *profile, const struct pl_export_options *options);
char *pl_label_subtitle(const struct pl_profile *profile, const struct pl_export_options *options);

/* "parse", "work ×16,383" where it is inside of itself; nothing in it but what may be shown. */
char *pl_label_name(const struct pl_shown_node *node);

/* "worker-.* (8 threads)". */
char *pl_label_threads(const struct pl_tag_tree *tree);

/* "12.4 MiB (48.0%)": the metric, and its share of the whole. */
char *pl_label_weight(const struct pl_export_options *options, const struct pl_tag_figures *figures);

/* "5,678 calls"; where the metric is calls, what they asked for: "12.4 MiB". */
char *pl_label_beside(const struct pl_export_options *options, const struct pl_tag_figures *figures);

/* Everything known of a node: its whole name, and all figures, on several lines. */
char *pl_label_tooltip(const struct pl_profile *profile, const struct pl_export_options *options,
                       const struct pl_tag_tree *tree, const struct pl_shown_node *node);

#endif
