/* SPDX-License-Identifier: MIT */
/*
 * print.c - prints what all views contain: sites, callers, source lines, paragraphs.
 *
 * With --source, lines of source code follow a site, truncated to the width of the terminal:
 *
 *    211 │ while (row < last)
 *    212 │     table->row[row] = strdup(line);     <- bold: this one
 *    213 │ table->rows = last;
 */
#include "cli/report/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/snippet.h"
#include "analysis/traits.h"
#include "cli/report/histogram.h"
#include "reader/base/utf8.h"

enum pl_style pl_print_style(const struct pl_location *location)
{
    return location->role == PL_ROLE_OWN ? PL_STYLE_BOLD : PL_STYLE_DIM;
}

void pl_print_file_line(const struct pl_location *location, char *out, size_t bytes)
{
    *out = 0;
    if (*location->file && location->line)
        snprintf(out, bytes, "%s:%u", location->file, location->line);
    else if (*location->file)
        snprintf(out, bytes, "%s", location->file);
}

static void put_cut(struct pl_term *term, enum pl_style style, const char *text)
{
    pl_term_cut(term, style, text, term->width > term->column ? term->width - term->column : 1);
}

void pl_print_location(struct pl_term *term, const char *before, const struct pl_location *location, size_t indent,
                       bool module)
{
    char file_line[PL_PRINT_FILE_LINE_BYTES], library[256] = "";
    pl_print_file_line(location, file_line, sizeof file_line);
    if (module && *location->module)
        snprintf(library, sizeof library, "[%s]", location->module);
    size_t file_line_width = pl_utf8_width(file_line), library_width = pl_utf8_width(library);
    size_t width = pl_utf8_width(before) + pl_utf8_width(location->name);
    width += (*file_line ? 2 + file_line_width : 0) + (*library ? 2 + library_width : 0);
    pl_term_room(term, *before ? 1 : 0, width, indent);
    pl_term_put(term, PL_STYLE_DIM, before);
    put_cut(term, pl_print_style(location), location->name);
    if (*file_line) {
        pl_term_room(term, 2, file_line_width, indent);
        put_cut(term, PL_STYLE_PLAIN, file_line);
    }
    if (*library) {
        pl_term_room(term, 2, library_width, indent);
        put_cut(term, PL_STYLE_DIM, library);
    }
}

#define FUNCTION_INDENT 4
#define FUNCTION_WIDTH 60 /* at most, for each part */

void pl_print_function(const struct pl_view *view, const struct pl_location *location, const struct pl_location *via)
{
    struct pl_term *term = view->term;
    char file_line[PL_PRINT_FILE_LINE_BYTES];
    size_t room = term->width - FUNCTION_INDENT, most = room < FUNCTION_WIDTH ? room : FUNCTION_WIDTH;
    pl_print_file_line(location, file_line, sizeof file_line);
    if (!*file_line)
        snprintf(file_line, sizeof file_line, "%s", location->module);
    pl_term_cut(term, PL_STYLE_BOLD, location->name, most);
    if (*file_line) {
        size_t width = pl_utf8_width(file_line) + 2; /* the parentheses */
        width = width < most ? width : most;
        pl_term_room(term, 1, width, FUNCTION_INDENT);
        pl_term_put(term, PL_STYLE_PLAIN, "(");
        pl_term_cut(term, PL_STYLE_PLAIN, file_line, width - 2);
        pl_term_put(term, PL_STYLE_PLAIN, ")");
    }
    if (!via)
        return;
    size_t width = pl_utf8_width(via->name) + 2;
    width = width < most ? width : most;
    pl_term_room(term, 1, width, FUNCTION_INDENT);
    pl_term_put(term, PL_STYLE_DIM, "→ ");
    pl_term_cut(term, PL_STYLE_DIM, via->name, width - 2);
}

/* The module is left out if it is the program itself and the line has no room for it. */
static bool goes_without_saying(const struct pl_view *view, const struct pl_location *location)
{
    const char *program = strrchr(view->whole->executable, '/');
    char file_line[PL_PRINT_FILE_LINE_BYTES];
    pl_print_file_line(location, file_line, sizeof file_line);
    size_t width = pl_utf8_width(location->name) + 2 + pl_utf8_width(file_line) + 4 + pl_utf8_width(location->module);
    return program && !strcmp(program + 1, location->module) && view->term->column + width > view->term->width;
}

void pl_print_site(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    const struct pl_location *locations = view->locations->location, *location = &locations[path->location[0]];
    pl_print_location(view->term, "", location, indent, !goes_without_saying(view, location));
    if (path->via == PL_PATH_NO_LOCATION)
        return;
    struct pl_location called = {.name = locations[path->via].name, .file = "", .module = "", .role = PL_ROLE_LIBRARY};
    pl_print_location(view->term, "→ ", &called, indent, false);
}

char *pl_print_leaks_command(const struct pl_view *view)
{
    const char *heap = view->profile->shown;
    return pl_say_print("%s report --leaks%s%s %s", pl_say_self(), heap ? " --heap " : "", heap ? heap : "",
                        view->subject);
}

char *pl_print_mappings_command(const struct pl_view *view)
{
    return pl_say_print("%s report --heap mappings %s", pl_say_self(), view->subject);
}

struct pl_paths pl_print_paths(const struct pl_view *view, enum pl_shape shape)
{
    pl_term_busy("plimsoll: sorting stacks");
    struct pl_paths paths = pl_paths_new(view->profile, view->locations, shape, view->depth);
    pl_term_busy(NULL);
    return paths;
}

/* --- callers --- */

#define CUT "← …"
#define CUT_WIDTH 4 /* with the blank in front */

static bool is_elsewhere(const struct pl_view *view, const struct pl_path *path, uint32_t i)
{
    const struct pl_location *locations = view->locations->location;
    return strcmp(locations[path->location[i]].module, locations[path->location[i - 1]].module) != 0;
}

/* Whether all callers fit on this line with file and line. */
static bool fits_with_places(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    size_t width = indent + (path->more ? CUT_WIDTH : 0);
    for (uint32_t i = 1; i < path->count; i++) {
        const struct pl_location *location = &view->locations->location[path->location[i]];
        char file_line[PL_PRINT_FILE_LINE_BYTES];
        pl_print_file_line(location, file_line, sizeof file_line);
        width += (i > 1) + 2 + pl_utf8_width(location->name) + (*file_line ? 2 + pl_utf8_width(file_line) : 0);
        width += is_elsewhere(view, path, i) && *location->module ? 4 + pl_utf8_width(location->module) : 0;
    }
    return width <= view->term->width;
}

/* Names only, as many as fit. False: there are more. */
static bool put_names(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    struct pl_term *term = view->term;
    for (uint32_t i = 1; i < path->count; i++) {
        const struct pl_location *location = &view->locations->location[path->location[i]];
        size_t room = term->width > term->column + CUT_WIDTH ? term->width - term->column - CUT_WIDTH : 1;
        size_t gap = term->column > indent, width = gap + 2 + pl_utf8_width(location->name);
        if (width > room && gap)
            return false;
        pl_term_print(term, PL_STYLE_DIM, "%s← ", gap ? " " : "");
        pl_term_cut(term, pl_print_style(location), location->name, room > 2 ? room - 2 : 1);
    }
    return true;
}

void pl_print_callers(const struct pl_view *view, const struct pl_path *path, size_t indent)
{
    struct pl_term *term = view->term;
    bool names = view->brief && !fits_with_places(view, path, indent), all = true;
    if (names)
        all = put_names(view, path, indent);
    for (uint32_t i = 1; i < path->count && !names; i++)
        pl_print_location(term, "← ", &view->locations->location[path->location[i]], indent,
                          is_elsewhere(view, path, i));
    if (all && !path->more)
        return;
    pl_term_room(term, 1, CUT_WIDTH - 1, indent);
    pl_term_put(term, PL_STYLE_DIM, CUT);
}

/* --- below a site --- */

#define CONTEXT 1 /* lines of source before and after */

static void put_sizes(const struct pl_view *view, const struct pl_paths *paths, uint32_t path, size_t indent)
{
    struct pl_spread spread = pl_paths_spread(view->profile, paths, path);
    char *text = pl_histogram_describe(&spread);
    pl_term_pad(view->term, indent);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, indent);
    pl_term_end(view->term);
    free(text);
}

/* The indentation that all lines have in common. */
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

static void put_younger(struct pl_term *term, const struct pl_location *location, size_t indent)
{
    char *words = pl_say_print("%s is newer than %s: lines may have moved", location->file, location->module);
    pl_term_pad(term, indent);
    pl_term_words(term, PL_STYLE_WARN, words, indent);
    pl_term_end(term);
    free(words);
}

/* A file that does not exist is silently skipped. */
static void put_source(const struct pl_view *view, const struct pl_location *location, size_t indent)
{
    struct pl_snippet snippet;
    uint32_t first = location->line > CONTEXT ? location->line - CONTEXT : 1;
    if (!location->line || !pl_snippet_read(view->whole, location, first, location->line + CONTEXT, &snippet))
        return;
    if (location->line < snippet.first + snippet.count) {
        put_lines(view->term, &snippet, location->line, indent);
        if (snippet.younger)
            put_younger(view->term, location, indent);
    }
    pl_snippet_free(&snippet);
}

void pl_print_below(const struct pl_view *view, const struct pl_paths *paths, uint32_t path, size_t indent)
{
    if (view->histogram)
        put_sizes(view, paths, path, indent);
    if (view->source)
        put_source(view, &view->locations->location[paths->path[path].location[0]], indent);
}

/* --- text --- */

void pl_print_paragraph(const struct pl_view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = pl_say_vprint(format, arguments);
    va_end(arguments);
    pl_term_end(view->term);
    pl_term_words(view->term, PL_STYLE_PLAIN, text, 0);
    pl_term_end(view->term);
    free(text);
}

void pl_print_heading(const struct pl_view *view, const char *title)
{
    pl_term_end(view->term);
    pl_term_put(view->term, PL_STYLE_HEAD, title);
}

void pl_print_nothing(const struct pl_view *view, const char *what)
{
    const struct pl_profile *profile = view->profile;
    bool better = pl_traits_estimated(profile) && profile->total[PL_METRIC_ALLOC_OBJECTS].value > 0;
    if (better)
        pl_print_paragraph(view, "%s To see every allocation: %s run --exact -- PROGRAM", what, pl_say_self());
    else
        pl_print_paragraph(view, "%s", what);
}
