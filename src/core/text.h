/* SPDX-License-Identifier: MIT */
/*
 * text.h - the string functions that the core needs. It may not call libc's.
 */
#ifndef PL_TEXT_H
#define PL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compiler.h"

INLINE size_t pl_text_bytes(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

INLINE bool pl_text_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

/* Reads the number that begins at *at, and moves *at behind it. */
INLINE uint64_t pl_text_take_number(const char **at)
{
    uint64_t number = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        number = number * 10 + (uint64_t) (**at - '0');
    return number;
}

/* A bounded string under construction. `full` says that something did not fit; the text stays terminated. */
struct pl_text_line {
    char *at;
    size_t room; /* bytes left, the terminator included */
    bool full;
};

INLINE struct pl_text_line pl_text_line_in(char *buffer, size_t bytes)
{
    buffer[0] = 0;
    return (struct pl_text_line){buffer, bytes, false};
}

INLINE void pl_text_line_char(struct pl_text_line *line, char c)
{
    if (line->room < 2) {
        line->full = true;
        return;
    }
    *line->at++ = c;
    *line->at = 0;
    line->room--;
}

INLINE void pl_text_line_text(struct pl_text_line *line, const char *text)
{
    while (*text)
        pl_text_line_char(line, *text++);
}

INLINE void pl_text_line_number(struct pl_text_line *line, uint64_t number)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char) ('0' + number % 10);
    while (number /= 10);
    while (n)
        pl_text_line_char(line, digits[--n]);
}

#endif
