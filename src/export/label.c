/* SPDX-License-Identifier: MIT */
/*
 * label.c - the texts of all pictures: names and headings.
 */
#include "export/label.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "reader/base/grow.h"
#include "reader/base/utf8.h"
#include "reader/describe.h"

#define CUT_IN_THE_MIDDLE 16 /* columns: with fewer, only the end is cut */

#define PICTURES 0x2400u /* of the control characters, in their order */
#define PICTURE_OF_DELETE 0x2421u
#define REPLACEMENT 0xfffdu

char *pl_label_print(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return pl_grow_check(length < 0 ? NULL : text, 1, strlen(format));
}

/* --- names --- */

/* Characters that end a line, or change the direction of the text after them. */
static bool rules_text(uint32_t character)
{
    return (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

/* What is shown for a character: itself, unless it is a control character, invalid, or not allowed in XML. */
static uint32_t harmless(uint32_t character)
{
    if (character < 0x20)
        return PICTURES + character;
    if (character == 0x7f)
        return PICTURE_OF_DELETE;
    bool wrong = character == PL_UTF8_BAD || (character > 0x7f && character < 0xa0) || (character & 0xfffe) == 0xfffe;
    return wrong || rules_text(character) ? REPLACEMENT : character;
}

/* Pictures and the replacement take three bytes each. */
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
        return pl_label_print("\"\"");
    char *clean = pl_grow_check(malloc(3 * strlen(text) + 1), 3, strlen(text)), *to = clean;
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
        return pl_label_print("%s", clean);
    if (columns < 2)
        return pl_label_print("%s", columns ? "…" : "");
    size_t behind = columns < CUT_IN_THE_MIDDLE ? 0 : (columns - 1) / 3, before = columns - 1 - behind;
    const char *tail = clean + bytes_of(clean, width - behind);
    return pl_label_print("%.*s…%s", (int) bytes_of(clean, before), clean, tail);
}

/* --- headings --- */

/* Several programs that were merged have no name in common. */
static char *whose(const struct pl_profile *profile)
{
    if (profile->merged && !*profile->comm)
        return pl_label_print("%" PRIu32 " profiles", profile->merged);
    return pl_label_clean(profile->comm);
}

/* "pid 4711 · exited 0", or how many profiles were merged. */
static char *which(const struct pl_profile *profile)
{
    char ending[256];
    if (profile->merged)
        return pl_label_print("%" PRIu32 " profiles merged", profile->merged);
    pl_describe_ending(profile, ending, sizeof ending);
    return pl_label_print("pid %" PRIu32 " · %s", profile->header.pid, ending);
}

char *pl_label_title(const struct pl_profile *profile, const struct pl_export_options *options)
{
    const struct pl_metric_info *metric = pl_describe_metric(profile, options->metric);
    char *name = whose(profile);
    const char *what = profile->difference ? "change of " : "";
    char *title = pl_label_print("%s: %s%s, %s", name, what, metric->word, metric->help);
    free(name);
    return title;
}

char *pl_label_subtitle(const struct pl_profile *profile, const struct pl_export_options *options)
{
    const char *selection = options->selection;
    char method[256], *process = which(profile);
    pl_describe_method(profile, method, sizeof method);
    char *text = pl_label_print("%s%s%s · %s", selection ? selection : "", selection ? " · " : "", process, method);
    char *clean = pl_label_clean(text);
    free(process);
    free(text);
    return clean;
}

/* --- XML --- */

void pl_label_xml(FILE *out, const char *clean)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (; *clean; clean++) {
        const char *at = strchr(special, *clean);
        if (at)
            fputs(entity[at - special], out);
        else
            fputc(*clean, out);
    }
}
