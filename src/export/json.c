/* SPDX-License-Identifier: MIT */
/*
 * json.c - writes JSON.
 *
 * Large profiles are a hundred million characters of it, nearly all of them plain text and whole numbers: these are
 * written in pieces as long as possible, and without printf. Nobody else writes to the file meanwhile.
 */
#include "export/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "reader/base/utf8.h"

#define PATH_BYTES_MAX 4096
#define WHOLE_MAX 1e15 /* beyond which %.15g has an exponent */

/* --- the grammar --- */

static void write_escape(FILE *out, uint32_t character)
{
    static const char plain[] = "\"\\/\b\f\n\r\t", letters[] = "\"\\/bfnrt";
    const char *at = character < 0x80 ? memchr(plain, (int) character, sizeof plain - 1) : NULL;
    if (at && *at != '/')
        fprintf(out, "\\%c", letters[at - plain]);
    else
        fprintf(out, "\\u%04" PRIx32, character);
}

/* U+2028 and U+2029 are fine in JSON but end a line in older JavaScript; "<" would end a <script>. */
static bool must_escape(uint32_t character)
{
    return character < 0x20 || character == '"' || character == '\\' || character == 0x7f || character == '<' ||
           character == 0x2028 || character == 0x2029;
}

/* Bytes of ASCII that needs no escape. */
static size_t plain_bytes(const char *text)
{
    size_t bytes = 0;
    while (!(text[bytes] & 0x80) && !must_escape((unsigned char) text[bytes]))
        bytes++;
    return bytes;
}

static size_t write_character(FILE *out, const char *text)
{
    uint32_t character;
    size_t bytes = pl_utf8_decode(text, &character);
    if (character == PL_UTF8_BAD)
        fputs_unlocked("\\ufffd", out);
    else if (must_escape(character))
        write_escape(out, character);
    else
        fwrite_unlocked(text, 1, bytes, out);
    return bytes;
}

void pl_json_text(struct pl_json *json, const char *text)
{
    putc_unlocked('"', json->out);
    for (;;) {
        size_t plain = plain_bytes(text);
        fwrite_unlocked(text, 1, plain, json->out);
        text += plain;
        if (!*text)
            break;
        text += write_character(json->out, text);
    }
    putc_unlocked('"', json->out);
}

void pl_json_whole(struct pl_json *json, uint64_t number)
{
    char digits[20], *first = digits + sizeof digits;
    do
        *--first = (char) ('0' + number % 10);
    while (number /= 10);
    fwrite_unlocked(first, 1, (size_t) (digits + sizeof digits - first), json->out);
}

void pl_json_separate(struct pl_json *json)
{
    if (json->comma)
        fputs_unlocked(", ", json->out);
    json->comma = true;
}

void pl_json_begin(struct pl_json *json, char bracket)
{
    putc_unlocked(bracket, json->out);
    json->comma = false;
}

void pl_json_end(struct pl_json *json, char bracket)
{
    putc_unlocked(bracket, json->out);
    json->comma = true;
}

void pl_json_key(struct pl_json *json, const char *name)
{
    pl_json_separate(json);
    pl_json_text(json, name);
    fputs_unlocked(": ", json->out);
}

void pl_json_line(struct pl_json *json)
{
    fputs_unlocked(json->comma ? ",\n" : "\n", json->out);
    json->comma = false;
}

void pl_json_add_text(struct pl_json *json, const char *name, const char *text)
{
    pl_json_key(json, name);
    if (text)
        pl_json_text(json, text);
    else
        fputs_unlocked("null", json->out);
}

void pl_json_add_whole(struct pl_json *json, const char *name, uint64_t number)
{
    pl_json_key(json, name);
    pl_json_whole(json, number);
}

void pl_json_add_index(struct pl_json *json, const char *name, uint32_t index)
{
    pl_json_key(json, name);
    if (index == UINT32_MAX)
        fputs_unlocked("null", json->out);
    else
        pl_json_whole(json, index);
}

void pl_json_add_bool(struct pl_json *json, const char *name, bool truth)
{
    pl_json_key(json, name);
    fputs_unlocked(truth ? "true" : "false", json->out);
}

/* Damaged profiles may have numbers that JSON does not have. Whole numbers are written as printf would. */
void pl_json_real(struct pl_json *json, double number)
{
    double size = fabs(number);
    if (!isfinite(number)) {
        fputs_unlocked("null", json->out);
    } else if (size < WHOLE_MAX && size == trunc(size)) {
        if (signbit(number))
            putc_unlocked('-', json->out);
        pl_json_whole(json, (uint64_t) size);
    } else {
        fprintf(json->out, "%.15g", number);
    }
}

void pl_json_add_real(struct pl_json *json, const char *name, double number)
{
    pl_json_key(json, name);
    pl_json_real(json, number);
}

void pl_json_add_known(struct pl_json *json, const char *name, double number)
{
    pl_json_add_real(json, name, number > 0 ? number : NAN);
}

/* Zeros at the end are left out, as most histograms are nearly empty. */
void pl_json_add_histogram(struct pl_json *json, const char *name, const double *count, unsigned counts)
{
    pl_json_key(json, name);
    pl_json_begin(json, '[');
    while (counts > 0 && count[counts - 1] == 0)
        counts--;
    for (unsigned i = 0; i < counts; i++) {
        pl_json_separate(json);
        pl_json_real(json, count[i]);
    }
    pl_json_end(json, ']');
}

void pl_json_add_hex(struct pl_json *json, const char *name, uint64_t number)
{
    pl_json_key(json, name);
    fprintf(json->out, "\"0x%" PRIx64 "\"", number);
}

/* --- figures --- */

void pl_json_add_estimate(struct pl_json *json, const char *name, const struct pl_estimate *estimate)
{
    pl_json_key(json, name);
    pl_json_begin(json, '{');
    pl_json_add_real(json, "value", estimate->value);
    pl_json_add_real(json, "error", estimate->error);
    pl_json_add_real(json, "low", estimate->low);
    pl_json_add_real(json, "high", estimate->high);
    pl_json_end(json, '}');
}

void pl_json_add_metrics(struct pl_json *json, const struct pl_profile *profile,
                         const struct pl_estimate metric[PL_METRIC_COUNT])
{
    for (int i = 0; i < pl_profile_metrics(profile); i++)
        pl_json_add_estimate(json, pl_metric_info[i].key, &metric[i]);
}

void pl_json_add_functions(struct pl_json *json, const char *name, const uint64_t calls[PL_FN_MAX])
{
    pl_json_key(json, name);
    pl_json_begin(json, '{');
    for (int i = 0; i < PL_FN_COUNT; i++)
        pl_json_add_whole(json, pl_function_name[i], calls[i]);
    pl_json_end(json, '}');
}

/* The path of a tag that is in no other is its name: it is written however long it is. */
void pl_json_add_path(struct pl_json *json, const char *name, const struct pl_profile *profile, uint32_t tag)
{
    const struct pl_tag_view *view = &profile->tag[tag];
    bool brief = view->depth <= 1 || strnlen(view->path, PATH_BYTES_MAX + 1) <= PATH_BYTES_MAX;
    pl_json_add_text(json, name, brief ? view->path : NULL);
}

const char *pl_json_tag_kind(const struct pl_profile *profile, uint32_t tag)
{
    static const char *const names[] = {[PL_TAG_NAMED] = "named", [PL_TAG_OFF] = "off", [PL_TAG_PAUSED] = "paused"};
    unsigned kind = profile->tag[tag].kind;
    return !tag ? "root" : kind < sizeof names / sizeof *names ? names[kind] : "named";
}
