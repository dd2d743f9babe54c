/* SPDX-License-Identifier: MIT */
/*
 * collapsed.c - a line for each stack, "main;parse;strdup 4096": what flamegraph.pl and many others read.
 *
 * The last blank of a line separates the figure, and flamegraph.pl takes a number before it for a second figure. So
 * names are changed to fit: see tame(). A difference has two figures, before and now.
 *
 * Invariant: the lines' figures add up to flat's total of the metric, or to those of before and now.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/wording.h"
#include "reader/base/grow.h"

struct writer {
    FILE *out;
    const struct pl_flat *flat;
    enum pl_metric metric;
    uint32_t *stack; /* room for one */
    struct pl_wording_names names;
};

/* --- names --- */

/* All blanks but the plain one: regular expressions match them as \s. */
static void replace_spaces(char *name)
{
    static const char *const spaces[] = {
        "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
        "\u2007", "\u2008", "\u2009", "\u200a", "\u202f", "\u205f", "\u3000", "\ufeff",
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        for (char *at = name; (at = strstr(at, spaces[i]));) {
            const char *rest = at + strlen(spaces[i]);
            *at++ = '_';
            memmove(at, rest, strlen(rest) + 1);
        }
}

/* "release 12" would be a stack "release" and a figure. */
static void join_number(char *name)
{
    char *blank = strrchr(name, ' ');
    if (blank && strspn(blank + 1, "0123456789.") == strlen(blank + 1))
        *blank = '_';
}

/* Some readers trim blanks at the ends; a blank before a number at the end would separate a figure. */
static void tame(char *name)
{
    for (char *at = name; (at = strchr(at, ';'));)
        *at = ':';
    replace_spaces(name);
    if (*name == ' ')
        *name = '_';
    join_number(name);
}

/* --- lines --- */

static void put_stack(struct writer *writer, uint32_t number)
{
    uint32_t depth = pl_flat_stack(writer->flat, number, writer->stack);
    for (uint32_t i = 0; i < depth; i++) {
        if (i)
            fputc_unlocked(';', writer->out);
        fputs_unlocked(pl_wording_name(&writer->names, writer->stack[i]), writer->out);
    }
}

static void put_row(struct writer *writer, const struct pl_flat_row *row)
{
    int64_t before = row->base[writer->metric], now = row->value[writer->metric] + before;
    if (!before && !now)
        return;
    put_stack(writer, row->stack);
    if (writer->flat->profile->difference)
        fprintf(writer->out, " %" PRId64 " %" PRId64 "\n", before, now);
    else
        fprintf(writer->out, " %" PRId64 "\n", now);
}

void pl_export_collapsed(const struct pl_profile *profile, const struct pl_export_options *options, FILE *out)
{
    const struct pl_flat *flat = options->flat;
    struct writer writer = {
        .out = out,
        .flat = flat,
        .metric = options->metric,
        .stack = pl_grow_zeroed(flat->depth_max + 1ull, sizeof *writer.stack),
        .names = pl_wording_names_new(flat, tame),
    };
    (void) profile;
    for (uint32_t i = 0; i < flat->rows; i++)
        put_row(&writer, &flat->row[i]);
    pl_wording_names_free(&writer.names);
    free(writer.stack);
}
