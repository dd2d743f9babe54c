/* SPDX-License-Identifier: MIT */
/*
 * source.c - lines of source code, for `report --source`:
 *
 *    211 │ while (row < last)
 *    212 │     table->row[row] = strdup(line);     <- bold: this one
 *    213 │ table->rows = last;
 *
 * Of a file that is not there nothing is said. Lines are cut to the width, and cleaned where they are printed.
 */
#include "source.h"

#include <stdlib.h>
#include <string.h>

#include "snippet.h"

#define CONTEXT 1 /* lines before and behind */

struct pl_source {
    const struct pl_profile *profile;
};

struct pl_source *pl_source_new(const struct pl_profile *profile)
{
    struct pl_source *source = pl_say_memory(calloc(1, sizeof *source));
    source->profile = profile;
    return source;
}

void pl_source_free(struct pl_source *source)
{
    free(source);
}

/* The indentation that all of them have. */
static size_t common_blanks(const struct pl_snippet *snippet)
{
    size_t least = SIZE_MAX;
    for (uint32_t i = 0; i < snippet->count; i++) {
        size_t blanks = *snippet->line[i] ? strspn(snippet->line[i], " ") : SIZE_MAX;
        least = blanks < least ? blanks : least;
    }
    return least == SIZE_MAX ? 0 : least;
}

static void put_lines(struct pl_term *term, const struct pl_snippet *snippet, uint32_t wanted, size_t indent)
{
    size_t blanks = common_blanks(snippet);
    for (uint32_t i = 0; i < snippet->count; i++) {
        const char *text = snippet->line[i];
        bool this = snippet->first + i == wanted;
        if (!*text && !this)
            continue;
        pl_term_pad(term, indent);
        pl_term_print(term, PL_STYLE_DIM, "%6u │ ", snippet->first + i);
        size_t room = term->width > term->column ? term->width - term->column : 1;
        const char *shown = strlen(text) > blanks ? text + blanks : "";
        pl_term_cut(term, this ? PL_STYLE_BOLD : PL_STYLE_DIM, shown, room);
        pl_term_end(term);
    }
}

static void put_younger(struct pl_term *term, const struct pl_spot *spot, size_t indent)
{
    char *words = pl_say_print("%s is younger than %s: lines may have moved", spot->file, spot->module);
    pl_term_pad(term, indent);
    pl_term_words(term, PL_STYLE_WARN, words, indent);
    pl_term_end(term);
    free(words);
}

void pl_source_put(struct pl_source *source, struct pl_term *term, const struct pl_spot *spot, size_t indent)
{
    struct pl_snippet snippet;
    uint32_t first = spot->line > CONTEXT ? spot->line - CONTEXT : 1;
    if (!spot->line || !pl_snippet_read(source->profile, spot, first, spot->line + CONTEXT, &snippet))
        return;
    if (spot->line < snippet.first + snippet.count) {
        put_lines(term, &snippet, spot->line, indent);
        if (snippet.younger)
            put_younger(term, spot, indent);
    }
    pl_snippet_free(&snippet);
}
