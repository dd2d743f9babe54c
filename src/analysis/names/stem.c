/* SPDX-License-Identifier: MIT */
/*
 * stem.c - what every match of a regular expression begins with.
 *
 * The code only knows where the elements of an expression end. Invariant: when in doubt, a match can begin anywhere.
 */
#include "analysis/names/stem.h"

#include <string.h>

#include "reader/base/arena.h"

/* --- expressions --- */

/* Skips the set at `at`. A ] that comes first does not end it, and [:classes:] have brackets of their own. */
static const char *skip_set(const char *at)
{
    at += 1 + (at[1] == '^');
    at += *at == ']';
    while (*at && *at != ']') {
        const char end[] = {at[1], ']', 0};
        const char *behind = *at == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, end) : NULL;
        at = behind ? behind + 2 : at + 1;
    }
    return *at ? at + 1 : at;
}

static const char *skip_element(const char *at)
{
    if (*at == '[')
        return skip_set(at);
    return at + (*at == '\\' && at[1] ? 2 : 1);
}

/* The | or ) that ends a branch; or the end of the text. A ) without its ( is a plain character. */
static const char *end_branch(const char *at, bool in_group)
{
    for (int depth = 0; *at; at = skip_element(at)) {
        if (depth == 0 && (*at == '|' || (*at == ')' && in_group)))
            return at;
        depth += (*at == '(') - (*at == ')' && depth > 0);
    }
    return at;
}

static bool is_optional(const char *behind)
{
    return *behind && strchr("*?{", *behind);
}

/* Bytes of the literal characters at the start, without the last one if it is optional. It may have several bytes. */
static size_t literal_bytes(const char *pattern)
{
    size_t bytes = strcspn(pattern, "\\.[]()*+?{}|^$");
    if (bytes > 0 && is_optional(pattern + bytes))
        do
            bytes--;
        while (bytes > 0 && (pattern[bytes] & 0xc0) == 0x80);
    return bytes;
}

/* `group` begins after its bracket. Branches are of use only if each of them begins with a literal. */
static void read_group(struct pl_stem *stem, struct pl_arena *arena, const char *group)
{
    uint32_t branches = 0;
    const char *end = group;
    do {
        size_t bytes = literal_bytes(group);
        if (bytes == 0 || branches == PL_STEM_BRANCHES)
            return;
        stem->branch[branches++] = pl_arena_text(arena, group, bytes);
        end = end_branch(group, true);
        group = end + 1;
    } while (*end == '|');
    if (*end && !is_optional(end + 1))
        stem->branches = branches;
}

struct pl_stem pl_stem_read(struct pl_arena *arena, const char *pattern)
{
    struct pl_stem stem = {.text = ""};
    if (*end_branch(pattern, false))
        return stem;
    stem.anchored = *pattern == '^';
    pattern += stem.anchored;
    size_t bytes = literal_bytes(pattern);
    stem.text = pl_arena_text(arena, pattern, bytes);
    if (pattern[bytes] == '(')
        read_group(&stem, arena, pattern + bytes + 1);
    return stem;
}

bool pl_stem_refers_back(const char *pattern)
{
    for (; *pattern; pattern = skip_element(pattern))
        if (*pattern == '\\' && pattern[1] >= '1' && pattern[1] <= '9')
            return true;
    return false;
}

/* --- texts --- */

static bool starts(const char *text, size_t bytes, const char *with)
{
    size_t needed = strlen(with);
    return needed <= bytes && memcmp(text, with, needed) == 0;
}

static bool goes_on(const struct pl_stem *stem, const char *text, size_t bytes)
{
    for (uint32_t i = 0; i < stem->branches; i++)
        if (*text == *stem->branch[i] && starts(text, bytes, stem->branch[i]))
            return true;
    return stem->branches == 0;
}

bool pl_stem_starts(const struct pl_stem *stem, const char *text, size_t bytes)
{
    size_t needed = strlen(stem->text);
    return starts(text, bytes, stem->text) && goes_on(stem, text + needed, bytes - needed);
}

const char *pl_stem_find(const struct pl_stem *stem, const char *text, size_t bytes)
{
    size_t needed = strlen(stem->text);
    const char *end = text + bytes;
    while ((text = memmem(text, (size_t) (end - text), stem->text, needed))) {
        if (goes_on(stem, text + needed, (size_t) (end - text) - needed))
            return text;
        if (text++ == end)
            break;
    }
    return NULL;
}
