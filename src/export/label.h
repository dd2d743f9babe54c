/* SPDX-License-Identifier: MIT */
/*
 * label.h - what all pictures say: names that do no harm, cut to fit, and headings.
 *
 * Everything here is plain UTF-8 without control characters. Each format still quotes it in its own way. Texts belong
 * to the caller, who frees them.
 */
#ifndef PL_LABEL_H
#define PL_LABEL_H

#include "export.h"

__attribute__((format(printf, 1, 2))) char *pl_label_print(const char *format, ...);

/*
 * Control characters become their pictures (␊ for the end of a line). What is not UTF-8, and what XML does not allow,
 * becomes U+FFFD. A name without characters becomes "", quotes and all.
 */
char *pl_label_clean(const char *text);

/* At most so many columns, with … for what was taken out: of the middle, as names often differ in their last
 * characters. */
char *pl_label_cut(const char *clean, size_t columns);

/* "indexer: live, bytes not freed (yet)" and "pid 4711 · exited 0 · exact: all 412,918 allocations"; of several that
 * were merged "3 profiles: ..." and "3 profiles as one · ...". */
char *pl_label_title(const struct pl_profile *profile, const struct pl_export_options *options);
char *pl_label_subtitle(const struct pl_profile *profile, const struct pl_export_options *options);

#endif
