/* SPDX-License-Identifier: MIT */
/*
 * graphviz.c - what all our graphs for Graphviz have in common.
 */
#include "export/pictures/graphviz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export/label.h"

#define PIECE_BYTES 4000

/* Special characters in a string, and their escapes. Entities are read in every string. */
static const char special[] = "\n\"&\\";
static const char *const in_label[] = {"\\n", "\\\"", "&amp;", "\\\\"};
static const char *const in_tooltip[] = {"\\n", "\\\"", "&amp;", "\\\\\\\\"};

static void put_text(FILE *out, const char *text, const char *const *stands_for)
{
    size_t bytes = 0;
    for (; *text; text++) {
        bool between_characters = ((unsigned char) *text & 0xc0) != 0x80;
        if (++bytes > PIECE_BYTES && between_characters) {
            fputs("\" + \"", out);
            bytes = 0;
        }
        const char *at = strchr(special, *text);
        if (at)
            fputs(stands_for[at - special], out);
        else
            fputc(*text, out);
    }
}

void pl_graphviz_label(FILE *out, const char *clean)
{
    put_text(out, clean, in_label);
}

void pl_graphviz_tooltip(FILE *out, const char *clean)
{
    fputs("tooltip=\"", out);
    put_text(out, clean, in_tooltip);
    fputc('"', out);
}

void pl_graphviz_open(FILE *out, const char *name, const char *attributes, const struct pl_profile *profile,
                      const struct pl_export_options *options, const char *note)
{
    char *title = pl_label_title(profile, options), *subtitle = pl_label_subtitle(profile, options);
    fprintf(out,
            "digraph %s {\n"
            "    charset=\"UTF-8\"; %s; labelloc=t; fontname=\"Helvetica,sans-serif\"; fontsize=14;\n"
            "    node [shape=box, style=\"filled\", color=\"#5b6b7d\", fillcolor=\"#f1f4f8\", margin=\"0.12,0.07\",\n"
            "          fontname=\"Helvetica,sans-serif\", fontsize=11];\n"
            "    edge [color=\"#5b6b7d\", fontname=\"Helvetica,sans-serif\", fontsize=10, arrowsize=0.6];\n"
            "    label=\"",
            name, attributes);
    pl_graphviz_label(out, title);
    fputs("\\n", out);
    pl_graphviz_label(out, subtitle);
    if (note) {
        fputs("\\n", out);
        pl_graphviz_label(out, note);
    }
    fputs("\";\n", out);
    free(subtitle);
    free(title);
}
