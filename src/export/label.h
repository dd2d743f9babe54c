/* SPDX-License-Identifier: MIT */
/*
 * label.h - texts of formats that people read: clean names, cut to fit, and headings.
 *
 * Everything here is plain UTF-8 without control characters. Each format still quotes it in its own way. The caller
 * frees the texts.
 */
#ifndef PL_LABEL_H
#define PL_LABEL_H

#include "export/export.h"

__attribute__((format(printf, 1, 2))) char *pl_label_print(const char *format, ...);

/*
 * Control characters become their pictures (␊ for the end of a line). Bytes that are not UTF-8, and characters that XML
 * does not allow, become U+FFFD. An empty name becomes "", with its quotes.
 */
char *pl_label_clean(const char *text);

/* At most so many columns, with … in place of the middle: names often differ in their last characters. */
char *pl_label_cut(const char *clean, size_t columns);

/* "indexer: live, bytes not freed (yet)" and "pid 4711 · exited 0 · exact: all 412,918 allocations"; of several that
 * were merged "3 profiles: ..." and "3 profiles merged · ...". */
char *pl_label_title(const struct pl_profile *profile, const struct pl_export_options *options);
char *pl_label_subtitle(const struct pl_profile *profile, const struct pl_export_options *options);

/* Writes a text as content of XML, such as SVG, or as the value of an attribute. XML has no control characters, and
 * parsers refuse bytes that are not UTF-8: the text must be clean, except that it may have several lines. */
void pl_label_xml(FILE *out, const char *clean);

#endif
