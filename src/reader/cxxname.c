/* SPDX-License-Identifier: MIT */
/*
 * cxxname.c - takes demangled names apart: operators, brackets, arguments, and the name itself.
 *
 * Everything is one pass from left to right. A bracket is looked into once per level of nesting, and there are few.
 */
#include "cxxname.h"

#include <ctype.h>
#include <string.h>

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* Bytes of the symbol behind `operator`, the longest that fits. Demanglers put a blank between it and a `<` of its
 * own. */
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
    if (*text != 'o' || !starts(text, "operator") || isalnum((unsigned char) text[bytes]) || text[bytes] == '_')
        return 0;
    return bytes + symbol_bytes(text + bytes);
}

size_t pl_cxxname_bracket(const char *text)
{
    static const char opening[] = "<({[", closing[] = ">)}]";
    char expected[PL_CXXNAME_NESTING];
    size_t depth = 0, at = 0;
    do {
        size_t step = pl_cxxname_operator(text + at);
        const char *open = strchr(opening, text[at]);
        if (!text[at] || (depth == PL_CXXNAME_NESTING && open))
            return 0;
        if (step) {
            at += step;
            continue;
        }
        if (open)
            expected[depth++] = closing[open - opening];
        else if (text[at] == expected[depth - 1] && !(text[at] == '>' && at && text[at - 1] == '-'))
            depth--;
        at++;
    } while (depth);
    return at;
}

size_t pl_cxxname_argument(const char *text, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && text[at] != ',') {
        size_t step = pl_cxxname_operator(text + at);
        if (!step && pl_cxxname_opens(text[at]))
            step = pl_cxxname_bracket(text + at);
        at += step ? step : 1;
    }
    return at < bytes ? at : bytes;
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

bool pl_cxxname_ends(const char *text, size_t bytes)
{
    const char *behind = text + bytes + pl_cxxname_qualifiers(text + bytes);
    return *behind == 0 || starts(behind, " [") || starts(behind, " (");
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
    }
    return (struct pl_cxxname_part){start, (size_t) (at - start)};
}
