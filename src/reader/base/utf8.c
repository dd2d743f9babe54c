/* SPDX-License-Identifier: MIT */
/*
 * utf8.c - reads text that may not be valid UTF-8.
 *
 * The decoder is strict, so that what it accepts may be copied verbatim into JSON. Widths come from two short tables
 * and not from wcwidth(): that needs a locale, and profiles are often read in containers that have none.
 */
#include "reader/base/utf8.h"

#include <stdbool.h>

struct range {
    uint32_t first, last;
};

/* Characters that take no column of their own: combining marks, joiners, directional marks, variation selectors. */
static const struct range narrow[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},   {0x0900, 0x0902},
    {0x0e34, 0x0e3a}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},   {0x2060, 0x2064},
    {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

/* East Asian wide and fullwidth characters, and pictographs. */
static const struct range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

/* How a first byte announces its sequence. `least` rules out overlong forms. */
static const struct form {
    uint8_t mask, mark, bytes;
    uint32_t least;
} forms[] = {
    {0x80, 0x00, 1, 0},
    {0xe0, 0xc0, 2, 0x80},
    {0xf0, 0xe0, 3, 0x800},
    {0xf8, 0xf0, 4, 0x10000},
};

static const struct form *form_of(uint8_t first)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if ((first & forms[i].mask) == forms[i].mark)
            return &forms[i];
    return NULL;
}

static bool sound(uint32_t character, const struct form *form)
{
    return character >= form->least && character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
}

size_t pl_utf8_decode(const char *text, uint32_t *character)
{
    const uint8_t *bytes = (const uint8_t *) text;
    const struct form *form = form_of(bytes[0]);
    *character = PL_UTF8_BAD;
    if (!form)
        return 1;
    uint32_t value = bytes[0] & (uint8_t) ~form->mask;
    for (unsigned i = 1; i < form->bytes; i++) {
        if ((bytes[i] & 0xc0) != 0x80) /* the terminator included */
            return 1;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (!sound(value, form))
        return 1;
    *character = value;
    return form->bytes;
}

static bool within(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}

unsigned pl_utf8_columns(uint32_t character)
{
    if (character < 0x300 || character == PL_UTF8_BAD)
        return 1;
    if (within(narrow, sizeof narrow / sizeof *narrow, character))
        return 0;
    return within(wide, sizeof wide / sizeof *wide, character) ? 2 : 1;
}

size_t pl_utf8_width(const char *text)
{
    size_t columns = 0;
    uint32_t character;
    for (size_t step; *text; text += step) {
        step = pl_utf8_decode(text, &character);
        columns += pl_utf8_columns(character);
    }
    return columns;
}
