/* SPDX-License-Identifier: MIT */
/*
 * label.c - what pictures of the tree of tags say.
 */
#include "label.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tagfigures.h"
#include "utf8.h"

#define PATH_BYTES_MAX 8192 /* of a path in a tooltip: deep ones of long names would make the picture huge */

#define CUT_IN_THE_MIDDLE 16 /* columns: less are better spent on one end */

#define PICTURES 0x2400u /* of the control characters, in their order */
#define PICTURE_OF_DELETE 0x2421u
#define REPLACEMENT 0xfffdu

static void *need(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static __attribute__((format(printf, 1, 2))) char *print(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return need(length < 0 ? NULL : text);
}

/* --- names --- */

/* What is shown for a character: itself, unless it commands, does not exist, or is not allowed in XML. */
static uint32_t harmless(uint32_t character)
{
    if (character < 0x20)
        return PICTURES + character;
    if (character == 0x7f)
        return PICTURE_OF_DELETE;
    bool wrong = character == PL_UTF8_BAD || (character > 0x7f && character < 0xa0) || (character & 0xfffe) == 0xfffe;
    return wrong ? REPLACEMENT : character;
}

/* Of the three bytes that pictures and the replacement take. */
static char *put_three(char *to, uint32_t character)
{
    *to++ = (char) (0xe0 | character >> 12);
    *to++ = (char) (0x80 | (character >> 6 & 0x3f));
    *to++ = (char) (0x80 | (character & 0x3f));
    return to;
}

char *pl_label_clean(const char *text)
{
    if (!*text)
        return print("\"\"");
    char *clean = need(malloc(3 * strlen(text) + 1)), *to = clean;
    uint32_t character;
    for (size_t step; *text; text += step) {
        step = pl_utf8_decode(text, &character);
        if (harmless(character) == character)
            to = mempcpy(to, text, step);
        else
            to = put_three(to, harmless(character));
    }
    *to = 0;
    return clean;
}

/* The bytes at the start of a text that fit into so many columns. */
static size_t bytes_of(const char *text, size_t columns)
{
    size_t bytes = 0;
    uint32_t character;
    while (text[bytes]) {
        size_t step = pl_utf8_decode(text + bytes, &character);
        unsigned width = pl_utf8_columns(character);
        if (width > columns)
            break;
        columns -= width;
        bytes += step;
    }
    return bytes;
}

char *pl_label_cut(const char *clean, size_t columns)
{
    size_t width = pl_utf8_width(clean);
    if (width <= columns)
        return print("%s", clean);
    if (columns < 2)
        return print("%s", columns ? "…" : "");
    size_t behind = columns < CUT_IN_THE_MIDDLE ? 0 : (columns - 1) / 3, before = columns - 1 - behind;
    const char *tail = clean + bytes_of(clean, width - behind);
    return print("%.*s…%s", (int) bytes_of(clean, before), clean, tail);
}

char *pl_label_name(const struct pl_shown_node *node)
{
    char *clean = pl_label_clean(node->name);
    char *text = node->nested ? print("%s ×%" PRIu32, clean, node->nested) : print("%s", clean);
    free(clean);
    return text;
}

/* --- figures --- */

static char *print_estimate(const struct pl_export_options *options, enum pl_metric metric,
                            const struct pl_estimate *estimate)
{
    char text[PL_EXPORT_FIGURE_BYTES];
    options->figure(text, metric, estimate);
    return print("%s", text);
}

static char *figure_of(const struct pl_export_options *options, enum pl_metric metric,
                       const struct pl_tag_figures *figures)
{
    return print_estimate(options, metric, &figures->metric[metric]);
}

static void print_count(const struct pl_export_options *options, FILE *out, uint64_t count)
{
    double value = (double) count;
    struct pl_estimate exact = {.value = value, .low = value, .high = value};
    char text[PL_EXPORT_FIGURE_BYTES];
    options->figure(text, PL_METRIC_ALLOC_OBJECTS, &exact);
    fputs(text, out);
}

char *pl_label_weight(const struct pl_export_options *options, const struct pl_tag_figures *figures)
{
    double whole = pl_shown_whole(options), value = figures->metric[options->metric].value;
    char *figure = figure_of(options, options->metric, figures);
    char *text = print("%s (%.1f%%)", figure, whole > 0 ? value / whole * 100 : 0);
    free(figure);
    return text;
}

char *pl_label_beside(const struct pl_export_options *options, const struct pl_tag_figures *figures)
{
    bool calls = options->metric == PL_METRIC_ALLOC_OBJECTS;
    char *figure = figure_of(options, calls ? PL_METRIC_ALLOC_SPACE : PL_METRIC_ALLOC_OBJECTS, figures);
    char *text = print("%s%s", figure, calls ? "" : figures->all_calls == 1 ? " call" : " calls");
    free(figure);
    return text;
}

/* --- headings --- */

char *pl_label_title(const struct pl_profile *profile, const struct pl_export_options *options)
{
    const struct pl_metric_info *metric = &pl_metric_info[options->metric];
    char *name = pl_label_clean(profile->comm);
    char *title = print("%s: %s, %s", name, metric->word, metric->help);
    free(name);
    return title;
}

char *pl_label_subtitle(const struct pl_profile *profile, const struct pl_export_options *options)
{
    const char *selection = options->selection;
    char method[256], ending[256];
    pl_profile_method(profile, method, sizeof method);
    pl_profile_ending(profile, ending, sizeof ending);
    char *text = print("%s%spid %" PRIu32 " · %s · %s", selection ? selection : "", selection ? " · " : "",
                       profile->header.pid, ending, method);
    char *clean = pl_label_clean(text);
    free(text);
    return clean;
}

char *pl_label_threads(const struct pl_tag_tree *tree)
{
    char *name = pl_label_clean(*tree->name ? tree->name : "?");
    char *text = print("%s (%" PRIu32 " thread%s)", name, tree->threads, tree->threads == 1 ? "" : "s");
    free(name);
    return text;
}

/* --- tooltips --- */

static void print_name(FILE *out, const struct pl_profile *profile, const struct pl_shown_node *node)
{
    const char *path = node->tag == PL_SHOWN_NONE ? "" : profile->tag[node->tag].path;
    bool whole = *path && strlen(path) <= PATH_BYTES_MAX;
    char *name = pl_label_clean(whole ? path : node->name);
    fprintf(out, "%s%s\n", name, node->tag == PL_SHOWN_NONE ? ", each too small to show" : "");
    free(name);
}

static void print_functions(const struct pl_export_options *options, FILE *out, const char *whose,
                            const struct pl_tag_figures *figures)
{
    const char *before = "";
    if (!figures->all_calls)
        return;
    fprintf(out, "\n%s: ", whose);
    for (int i = 0; i < PL_FN_COUNT; i++) {
        if (!figures->calls[i])
            continue;
        fprintf(out, "%s%s ", before, pl_function_name[i]);
        print_count(options, out, figures->calls[i]);
        before = ", ";
    }
}

/* `metric` says how to write it. */
static void print_both(const struct pl_export_options *options, FILE *out, const char *word, enum pl_metric metric,
                       const struct pl_estimate *total, const struct pl_estimate *self)
{
    char *of_all = print_estimate(options, metric, total), *own = print_estimate(options, metric, self);
    fprintf(out, "\n%s: total %s, self %s", word, of_all, own);
    free(own);
    free(of_all);
}

static void print_freed(const struct pl_export_options *options, FILE *out, const struct pl_shown_node *node)
{
    struct pl_tag_freed total = pl_tagfigures_freed(node->total), self = pl_tagfigures_freed(node->self);
    print_both(options, out, "frees", PL_METRIC_ALLOC_OBJECTS, &total.objects, &self.objects);
    print_both(options, out, "freed", PL_METRIC_ALLOC_SPACE, &total.space, &self.space);
}

char *pl_label_tooltip(const struct pl_profile *profile, const struct pl_export_options *options,
                       const struct pl_tag_tree *tree, const struct pl_shown_node *node)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = need(open_memstream(&text, &bytes));
    char *threads = pl_label_threads(tree);
    if (node->parent == PL_SHOWN_NONE)
        fputs("everything; self: what has no tag\n", out);
    else
        print_name(out, profile, node);
    if (node->nested)
        fprintf(out, "inside of itself, %" PRIu32 " deep: recursion, or a plimsoll_pop() is missing\n", node->nested);
    fprintf(out, "%s\nentered: ", threads);
    print_count(options, out, node->self->entered);
    for (int i = 0; i < PL_METRIC_COUNT; i++)
        print_both(options, out, pl_metric_info[i].word, (enum pl_metric) i, &node->total->metric[i],
                   &node->self->metric[i]);
    print_freed(options, out, node);
    print_functions(options, out, "calls, total", node->total);
    print_functions(options, out, "calls, self", node->self);
    fclose(out);
    free(threads);
    return need(text);
}
