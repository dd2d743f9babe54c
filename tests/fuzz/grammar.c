/* SPDX-License-Identifier: MIT */
/*
 * grammar.c - checks whether a text follows its format.
 *
 * Each function parses an element at *at, advances *at, and returns whether the element was there. Nothing is built,
 * because only the validity of the whole text matters.
 */
#include "grammar.h"

#include <stdint.h>
#include <string.h>

#include "reader/base/utf8.h"

#define NESTED_MAX 1000
#define DIGITS "0123456789"
#define BLANKS " \t\r\n"

/* Any number of characters of `set`. */
static size_t take_all(const char **at, const char *set)
{
    size_t bytes = strspn(*at, set);
    *at += bytes;
    return bytes;
}

static bool take(const char **at, const char *word)
{
    size_t bytes = strlen(word);
    bool there = !strncmp(*at, word, bytes);
    *at += there ? bytes : 0;
    return there;
}

/* ---- JSON ---- */

static bool take_value(const char **at, unsigned depth);

static bool take_escape(const char **at)
{
    if (!take(at, "u"))
        return **at && strchr("\"\\/bfnrt", *(*at)++);
    if (strspn(*at, DIGITS "abcdefABCDEF") < 4)
        return false;
    *at += 4;
    return true;
}

static bool take_text(const char **at)
{
    if (!take(at, "\""))
        return false;
    while (!take(at, "\"")) {
        uint32_t character;
        if ((unsigned char) **at < ' ')
            return false;
        if (take(at, "\\")) {
            if (!take_escape(at))
                return false;
            continue;
        }
        *at += pl_utf8_decode(*at, &character);
        if (character == PL_UTF8_BAD)
            return false;
    }
    return true;
}

static bool take_number(const char **at)
{
    take(at, "-");
    if (!take(at, "0") && !take_all(at, DIGITS))
        return false;
    if (take(at, ".") && !take_all(at, DIGITS))
        return false;
    if (!take(at, "e") && !take(at, "E"))
        return true;
    if (!take(at, "-"))
        take(at, "+");
    return take_all(at, DIGITS) > 0;
}

static bool take_member(const char **at, unsigned depth)
{
    take_all(at, BLANKS);
    if (!take_text(at))
        return false;
    take_all(at, BLANKS);
    return take(at, ":") && take_value(at, depth);
}

static bool take_list(const char **at, const char *end, bool (*take_one)(const char **, unsigned), unsigned depth)
{
    take_all(at, BLANKS);
    if (take(at, end))
        return true;
    do {
        if (!take_one(at, depth))
            return false;
        take_all(at, BLANKS);
    } while (take(at, ","));
    return take(at, end);
}

static bool take_value(const char **at, unsigned depth)
{
    take_all(at, BLANKS);
    if (depth > NESTED_MAX)
        return false;
    if (take(at, "{"))
        return take_list(at, "}", take_member, depth + 1);
    if (take(at, "["))
        return take_list(at, "]", take_value, depth + 1);
    if (**at == '"')
        return take_text(at);
    return take(at, "null") || take(at, "true") || take(at, "false") || take_number(at);
}

bool fuzz_is_json(const char *text)
{
    if (!take_value(&text, 0))
        return false;
    take_all(&text, BLANKS);
    return !*text;
}

/* ---- XML ---- */

static bool is_allowed(uint32_t character)
{
    if (character < ' ')
        return strchr(BLANKS, (int) character) && character;
    return character != PL_UTF8_BAD && character != 0xfffe && character != 0xffff;
}

static bool take_reference(const char **at)
{
    static const char *const entity[] = {"amp;", "lt;", "gt;", "quot;", "apos;"};
    for (size_t i = 0; i < sizeof entity / sizeof *entity; i++)
        if (take(at, entity[i]))
            return true;
    if (!take(at, "#"))
        return false;
    return (take(at, "x") ? take_all(at, DIGITS "abcdefABCDEF") : take_all(at, DIGITS)) > 0 && take(at, ";");
}

/* Up to one of `ends`, which is not included. */
static bool take_characters(const char **at, const char *ends)
{
    while (**at && !strchr(ends, **at)) {
        uint32_t character;
        if (**at == '<')
            return false;
        if (take(at, "&")) {
            if (!take_reference(at))
                return false;
            continue;
        }
        *at += pl_utf8_decode(*at, &character);
        if (!is_allowed(character))
            return false;
    }
    return true;
}

static size_t take_name(const char **at)
{
    return take_all(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:-." DIGITS);
}

static bool take_attributes(const char **at)
{
    while (take_all(at, BLANKS) && take_name(at)) {
        char quote[2] = {0};
        if (!take(at, "="))
            return false;
        quote[0] = **at;
        if (!take(at, "\"") && !take(at, "'"))
            return false;
        if (!take_characters(at, quote) || !take(at, quote))
            return false;
    }
    return true;
}

/* From after its opening to after its end. */
static bool skip_to(const char **at, const char *end)
{
    const char *found = strstr(*at, end);
    *at = found ? found + strlen(end) : *at;
    return found;
}

static bool take_element(const char **at, unsigned depth);

/* Text, comments, character data and elements, up to an end tag. */
static bool take_content(const char **at, unsigned depth)
{
    for (;;) {
        if (!take_characters(at, "<"))
            return false;
        if (!**at || !strncmp(*at, "</", 2))
            return true;
        bool taken = take(at, "<!--")        ? skip_to(at, "-->")
                     : take(at, "<![CDATA[") ? skip_to(at, "]]>")
                                             : take_element(at, depth);
        if (!taken)
            return false;
    }
}

static bool take_element(const char **at, unsigned depth)
{
    if (depth > NESTED_MAX || !take(at, "<"))
        return false;
    const char *name = *at;
    size_t bytes = take_name(at);
    if (!bytes || !take_attributes(at))
        return false;
    if (take(at, "/>"))
        return true;
    if (!take(at, ">") || !take_content(at, depth + 1) || !take(at, "</") || strncmp(*at, name, bytes))
        return false;
    *at += bytes;
    take_all(at, BLANKS);
    return take(at, ">");
}

bool fuzz_is_xml(const char *text)
{
    if (take(&text, "<?xml") && !skip_to(&text, "?>"))
        return false;
    take_all(&text, BLANKS);
    if (take(&text, "<!DOCTYPE") && !skip_to(&text, ">"))
        return false;
    take_all(&text, BLANKS);
    if (!take_element(&text, 0))
        return false;
    take_all(&text, BLANKS);
    return !*text;
}
