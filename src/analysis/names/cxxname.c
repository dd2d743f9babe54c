/* SPDX-License-Identifier: MIT */
/*
 * cxxname.c - takes demangled names apart: operators, brackets, arguments, and the name itself.
 *
 * Each function makes one pass from left to right. The inside of a bracket is read once per level of nesting, and
 * levels are few.
 */
#include "analysis/names/cxxname.h"

#include <ctype.h>
#include <string.h>

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* Bytes of the symbol after `operator`: the longest that matches. Demanglers put a blank between `operator<` and its
 * template arguments. */
static size_t symbol_bytes(const char *text)
{
    static const char *const symbols[] = {
        "<=>", "<<=", ">>=", "->*", "()", "[]", "<<", ">>", "<=", ">=", "->", "==",   "!=", "&&",
        "||",  "++",  "--",  "+=",  "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<",    ">",  "+",
        "-",   "*",   "/",   "%",   "^",  "&",  "|",  "~",  "!",  "=",  ",",  "\"\"",
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (starts(text, symbols[i]))
            return strlen(symbols[i]);
    return 0;
}

size_t pl_cxxname_operator(const char *text)
{
    size_t bytes = strlen("operator");
    if (*text != 'o' || text[1] != 'p' || !starts(text, "operator") || isalnum((unsigned char) text[bytes]) ||
        text[bytes] == '_')
        return 0;
    return bytes + symbol_bytes(text + bytes);
}

/* Bytes up to the next character that may matter: a bracket, comma, blank, the o of an operator, or the end. */
static size_t plain_bytes(const char *text)
{
    static const bool special[256] = {
        [0] = true,   ['<'] = true, ['>'] = true, ['('] = true, [')'] = true, ['{'] = true,
        ['}'] = true, ['['] = true, [']'] = true, [','] = true, [' '] = true, ['o'] = true,
    };
    size_t bytes = 0;
    while (!special[(unsigned char) text[bytes]])
        bytes++;
    return bytes;
}

/* The closing bracket of an opening one; 0 if it is not an opening bracket. */
static char closing(char character)
{
    static const char other[256] = {['<'] = '>', ['('] = ')', ['{'] = '}', ['['] = ']'};
    return other[(unsigned char) character];
}

/* `at` is inside an open bracket, so at[-1] exists. The > of an arrow (->) closes nothing. */
static bool closes(const char *at, char expected)
{
    return *at == expected && !(*at == '>' && at[-1] == '-');
}

size_t pl_cxxname_bracket(const char *text)
{
    char expected[PL_CXXNAME_NESTING];
    size_t depth = 0, at = 0;
    do {
        size_t step = pl_cxxname_operator(text + at);
        char end = closing(text[at]);
        if (!text[at] || (depth == PL_CXXNAME_NESTING && end))
            return 0;
        if (end)
            expected[depth++] = end;
        else if (!step && closes(text + at, expected[depth - 1]))
            depth--;
        at += step ? step : 1;
        at += depth ? plain_bytes(text + at) : 0;
    } while (depth);
    return at;
}

/* If brackets nest too deeply, the outermost are dropped. */
void pl_cxxname_brackets(const char *name, uint16_t *bytes)
{
    size_t open[PL_CXXNAME_NESTING], depth = 0;
    for (size_t at = plain_bytes(name), step; name[at]; at += step, at += plain_bytes(name + at)) {
        step = pl_cxxname_operator(name + at);
        if (closing(name[at])) {
            if (depth == PL_CXXNAME_NESTING)
                memmove(open, open + 1, --depth * sizeof *open);
            open[depth++] = at;
            bytes[at] = 0;
        } else if (!step && depth && closes(name + at, closing(name[open[depth - 1]]))) {
            depth--;
            bytes[open[depth]] = (uint16_t) (at + 1 - open[depth]);
        }
        step = step ? step : 1;
    }
}

static size_t argument(const char *text, size_t bytes, const uint16_t *brackets)
{
    size_t at = 0;
    while (at < bytes && text[at] != ',') {
        size_t step = pl_cxxname_operator(text + at);
        if (!step && pl_cxxname_opens(text[at]))
            step = brackets ? brackets[at] : pl_cxxname_bracket(text + at);
        at += step ? step : 1;
        at += plain_bytes(text + at);
    }
    return at < bytes ? at : bytes;
}

size_t pl_cxxname_argument(const char *text, size_t bytes)
{
    return argument(text, bytes, NULL);
}

size_t pl_cxxname_argument_of(const char *text, size_t bytes, const uint16_t *brackets)
{
    return argument(text, bytes, brackets);
}

size_t pl_cxxname_qualifiers(const char *text)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "&&", "&", " noexcept"};
    size_t at = 0;
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++)
            if (starts(text + at, qualifiers[i])) {
                at += strlen(qualifiers[i]);
                again = true;
            }
    }
    return at;
}

bool pl_cxxname_note(const char *text)
{
    return starts(text, "[abi:") || starts(text, "[clone ");
}

bool pl_cxxname_ends(const char *text, size_t bytes)
{
    const char *behind = text + bytes + pl_cxxname_qualifiers(text + bytes);
    return *behind == 0 || (*behind == ' ' && pl_cxxname_note(behind + 1)) || starts(behind, " (");
}

struct pl_cxxname_part pl_cxxname_bare(const char *name)
{
    const char *start = name, *at = name;
    bool in_operator = false;
    while (*at) {
        size_t step = pl_cxxname_operator(at);
        in_operator |= step > 0;
        if (!step && pl_cxxname_opens(*at)) {
            step = pl_cxxname_bracket(at);
            if (*at == '(' && at > start && step && pl_cxxname_ends(at, step))
                break;
        }
        if (*at == ' ' && at[1] == '[' && at > start)
            break;
        if (*at == ' ' && !in_operator && at[1])
            start = at + 1;
        at += step ? step : 1;
        at += plain_bytes(at);
    }
    return (struct pl_cxxname_part){start, (size_t) (at - start)};
}
