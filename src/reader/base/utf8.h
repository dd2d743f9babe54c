/* SPDX-License-Identifier: MIT */
/*
 * utf8.h - reads text that may not be valid UTF-8. Names in a profile come from programs, and may be any bytes.
 */
#ifndef PL_UTF8_H
#define PL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Not a character: the byte at hand does not begin a well-formed sequence. */
#define PL_UTF8_BAD UINT32_MAX

/*
 * Decodes the character at `text` and returns how many bytes it takes (at least 1, and never beyond the terminator).
 * Overlong forms, surrogates, cut sequences and anything above U+10FFFF are PL_UTF8_BAD and take one byte.
 */
size_t pl_utf8_decode(const char *text, uint32_t *character);

/* Columns a terminal gives to the character: 0, 1 or 2. */
unsigned pl_utf8_columns(uint32_t character);

/* Columns of a whole text; a byte that is not UTF-8 counts as one. */
size_t pl_utf8_width(const char *text);

#endif
