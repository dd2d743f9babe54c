/* SPDX-License-Identifier: MIT */
/*
 * graphviz.h - what all our graphs for Graphviz have in common: quoting, fonts, headings.
 *
 * Two things about quoting. A quoted string may not be longer than 16 KiB, but strings may be concatenated. And
 * backslashes are read once in labels and twice in tooltips, so that a name with `\N` in it needs four of them there.
 */
#ifndef PL_GRAPHVIZ_H
#define PL_GRAPHVIZ_H

#include "export/export.h"

/* A part of label="...": without the quotes. */
void pl_graphviz_label(FILE *out, const char *clean);

/* tooltip="...". */
void pl_graphviz_tooltip(FILE *out, const char *clean);

/* `digraph NAME {`, how nodes and edges look, and the heading. `note`, if any, is its last line; `attributes` are the
 * graph's own. The caller closes the brace. */
void pl_graphviz_open(FILE *out, const char *name, const char *attributes, const struct pl_profile *profile,
                      const struct pl_export_options *options, const char *note);

#endif
