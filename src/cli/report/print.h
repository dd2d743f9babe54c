/* SPDX-License-Identifier: MIT */
/*
 * print.h - prints what all views contain: sites, callers, source lines, paragraphs.
 */
#ifndef PL_PRINT_H
#define PL_PRINT_H

#include "cli/report/views.h"

enum pl_style pl_print_style(const struct pl_location *location);

/* "src/index.c:212", or "" when the file is unknown. */
#define PL_PRINT_FILE_LINE_BYTES 4200 /* a path and a number */
void pl_print_file_line(const struct pl_location *location, char *out, size_t bytes);

/* Prints `before` (an arrow, or nothing), name, file_line and module: after a blank on this line if they fit, else on
 * lines indented by `indent`. */
void pl_print_location(struct pl_term *term, const char *before, const struct pl_location *location, size_t indent,
                       bool module);

/* In a sentence: "parse_line (src/parse.c:88) → std::string::append". Without a source file, the module is in
 * parentheses. `via` may be NULL. */
void pl_print_function(const struct pl_view *view, const struct pl_location *location, const struct pl_location *via);

/* site: the first location of a path and the library function that it called. callers: the other locations, and a mark
 * if the path was truncated at the requested depth. */
void pl_print_site(const struct pl_view *view, const struct pl_path *path, size_t indent);
void pl_print_callers(const struct pl_view *view, const struct pl_path *path, size_t indent);

/* The lines below a site that options ask for: its sizes and its source. */
void pl_print_below(const struct pl_view *view, const struct pl_paths *paths, uint32_t path, size_t indent);

/* A paragraph, and the title of a part of the report. Both begin with an empty line. */
void pl_print_paragraph(const struct pl_view *view, const char *format, ...) PL_PRINTF(2, 3);
void pl_print_heading(const struct pl_view *view, const char *title);

/* Prints `what` in place of a view that has nothing to show, and suggests --exact if figures are estimates. */
void pl_print_nothing(const struct pl_view *view, const char *what);

/* The command that lists the leaks of this profile: "plimsoll report --leaks app.plim". The caller frees it. */
char *pl_print_leaks_command(const struct pl_view *view);

/* The same for what the program maps itself: "plimsoll report --heap mappings app.plim". */
char *pl_print_mappings_command(const struct pl_view *view);

/* pl_paths_new() with a progress message on the terminal: many stacks take long. */
struct pl_paths pl_print_paths(const struct pl_view *view, enum pl_shape shape);

#endif
